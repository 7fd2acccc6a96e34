// Tests touch on the timeline: one finger moves it, two zoom it, and dragged names change places.
import { check, equal, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { address_of } from "./places.mjs";

async function timeline_of(open, hash) {
    const page = await open(pages.operators.make(), { hash });
    await go_to(page, "Timeline");
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    const box = await canvas.boundingBox();
    const session = await page.context().newCDPSession(page);
    const touch = (type, ...points) => session.send("Input.dispatchTouchEvent",
        { type, touchPoints: points.map(([x, y], id) => ({ x: box.x + x, y: box.y + y, id })) });
    return { page, box, touch };
}

/** The stretch that is shown, by the address. */
async function stretch_of(page) {
    const [begin, end] = (await address_of(page)).get("t").split("~").map(Number);
    return { begin, end };
}

test("one finger moves the timeline and selects nothing, and a tap selects", async (open) => {
    const { page, touch } = await timeline_of(open, "#tab=timeline&t=2000000~3000000");
    await touch("touchStart", [700, 150]);
    await touch("touchMove", [650, 150]);
    await touch("touchMove", [500, 150]);
    await touch("touchEnd");
    const { begin, end } = await stretch_of(page);
    check(begin > 2200000 && Math.abs(end - begin - 1000000) < 1000, `the finger moved it to ${begin}~${end}`);
    equal((await address_of(page)).get("range"), null, "the range after a finger's drag");
    await touch("touchStart", [500, 142]);
    await touch("touchEnd");
    await page.waitForSelector("aside.side p.name");
});

test("two fingers zoom, and what is between them stays there", async (open) => {
    const { page, box, touch } = await timeline_of(open, "#tab=timeline&t=2000000~3000000");
    const width = box.width - 196;
    const timeAt = ({ begin, end }, x) => begin + ((x - 196) / width) * (end - begin);
    const before = timeAt({ begin: 2000000, end: 3000000 }, 550);
    await touch("touchStart", [500, 150]);
    await touch("touchStart", [500, 150], [600, 160]);
    await touch("touchMove", [450, 150], [650, 160]);
    await touch("touchEnd");
    const after = await stretch_of(page);
    check(Math.abs((after.end - after.begin) / 500000 - 1) < 0.01, `twice as far apart shows ${after.end - after.begin} ns`);
    check(Math.abs(timeAt(after, 550) - before) < 3000, `the middle is at ${timeAt(after, 550)}, it was at ${before}`);
    await page.waitForTimeout(100);
    await touch("touchStart", [700, 150]);
    await touch("touchMove", [600, 150]);
    await touch("touchEnd");
    check((await stretch_of(page)).begin > after.begin, "one finger does not move it afterwards");
});

test("a name that is dragged down changes places with the next track, and with no other group's", async (open) => {
    const { page, box } = await timeline_of(open, "#tab=timeline");
    const name_at = async (y) => {
        await page.mouse.move(box.x + 60, box.y + y);
        await page.mouse.move(box.x + 61, box.y + y);
        return page.locator(".tip b").textContent();
    };
    const [first, second, third] = [await name_at(98), await name_at(120), await name_at(142)];
    await page.mouse.move(box.x + 60, box.y + 98);
    await page.mouse.down();
    for (const y of [104, 112, 120, 130, 142]) {
        await page.mouse.move(box.x + 60, box.y + y);
        await page.waitForTimeout(60);
    }
    await page.mouse.up();
    await until(async () => (await address_of(page)).get("order") !== null, "nothing is moved");
    equal([await name_at(98), await name_at(120), await name_at(142)], [second, third, first], "the three tracks");
    const order = (await address_of(page)).get("order");
    await page.mouse.move(box.x + 60, box.y + 98);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 80);
    await page.mouse.move(box.x + 60, box.y + 72);
    await page.mouse.up();
    equal((await address_of(page)).get("order"), order, "the order after a drag to the header");
});
