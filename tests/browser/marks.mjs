// Tests marks on the edges of blocks and the time between them, arrows of the selection, and the meaning of colours.
import { check, equal, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { address_of } from "./places.mjs";

async function timeline_of(open, kind, hash = "#tab=timeline") {
    const page = await open(pages[kind].make(), { hash });
    await go_to(page, "Timeline");
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    return { page, box: await canvas.boundingBox() };
}

test("Shift+M marks both ends of the event, and the list says the time between them", async (open) => {
    const { page, box } = await timeline_of(open, "simulation");
    await page.mouse.click(box.x + 205, box.y + 58);
    await page.waitForSelector("aside.side p.name");
    const lasts = await page.evaluate(() => [...document.querySelectorAll("aside.side dt")].find((dt) => dt.textContent === "duration").nextElementSibling.textContent);
    await page.keyboard.press("Shift+M");
    await page.waitForSelector("ul.marks .between");
    const between = await page.textContent("ul.marks .between");
    check(between.includes(`${lasts} from mark 1`), `the list says '${between}' of an event of ${lasts}`);
    equal((await address_of(page)).getAll("mark").length, 2, "marks in the address");
});

test("M puts a mark on the edge of a block that is near, and where the pointer is without one", async (open) => {
    const { page, box } = await timeline_of(open, "simulation", "#tab=timeline&t=0~20&mark=0~none");
    await page.mouse.click(box.x + 205, box.y + 58);
    await page.waitForSelector("aside.side p.name");
    await page.keyboard.press("Shift+M");
    const ends = (await address_of(page)).getAll("mark").map((mark) => Number(mark.split("~")[0]));
    const end = ends.at(-1);
    const width = box.width - 196;
    await page.mouse.move(box.x + 196 + (end / 20) * width - 4, box.y + 60);
    await page.keyboard.press("m");
    const marks = (await address_of(page)).getAll("mark").map((mark) => Number(mark.split("~")[0]));
    equal(marks.filter((mark) => mark === end).length, 2, `marks at ${end} among ${marks}`);
});

test("arrows are those of the selection until all are asked for", async (open) => {
    const { page, box } = await timeline_of(open, "simulation");
    check(!(await page.isChecked("label:has-text('All arrows') input")), "all arrows are there at first");
    const picture = async () => (await page.locator("canvas[role=application]").first().screenshot()).toString("base64");
    await page.mouse.move(box.x + 500, box.y + 5);
    const few = await picture();
    await page.check("label:has-text('All arrows') input");
    await until(async () => (await picture()) !== few, "no arrows are drawn");
    equal((await address_of(page)).get("arrows"), "1", "arrows in the address");
});

test("the legend names the colours of what the timeline has", async (open) => {
    const { page } = await timeline_of(open, "simulation");
    equal(await page.$$eval("ul.colors li", (all) => all.map((one) => one.textContent)), ["forward", "backward", " chunk 0 to 2",
        "critical path: the line below a header or stage"], "colours of a plan");
    const trace = await timeline_of(open, "operators");
    const names = await trace.page.$$eval("ul.colors li", (all) => all.map((one) => one.textContent));
    for (const name of ["computing", "communication", "framework", "idle"]) check(names.includes(name), `no ${name} among ${names}`);
});

/** Of the columns right of the names, the share that has a pixel of the critical path's colour. */
async function path_share(page) {
    return await page.locator("canvas[role=application]").first().evaluate((canvas) => {
        const probe = canvas.parentElement.appendChild(document.createElement("span"));
        probe.style.color = "var(--timeline-alarm)";
        const wanted = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number);
        probe.remove();
        const from = Math.round(200 * devicePixelRatio), wide = canvas.width - from;
        const { data } = canvas.getContext("2d").getImageData(from, 0, wide, canvas.height);
        const there = new Set();
        for (let at = 0; at < data.length; at += 4)
            if (wanted.every((value, i) => Math.abs(value - data[at + i]) < 3)) there.add((at / 4) % wide);
        return there.size / wide;
    });
}

test("the critical path of a plan is a line over the whole step, in light and dark", async (open) => {
    const { page } = await timeline_of(open, "simulation");
    for (const theme of ["light", "dark"]) {
        await page.selectOption("label:has-text('Theme') select", theme);
        await until(async () => (await path_share(page)) > 0.97, `the path covers ${await path_share(page)} of the step, ${theme}`);
    }
});

test("ranks by steps are a picture with the values of its cells", async (open) => {
    const page = await open(pages.operators.make(), { hash: "#tab=ranks" });
    await go_to(page, "Ranks");
    const map = page.locator("canvas[aria-label^='Computing, by rank and step']");
    check((await map.getAttribute("aria-label")).includes("4 by 3"), await map.getAttribute("aria-label"));
    await map.focus();
    await page.keyboard.press("End");
    const said = await page.locator(".part:has(canvas[aria-label^='Computing, by rank']) [role=status]").textContent();
    check(/^rank 0, step \S+: [\d.]+ ms/.test(said), `it says '${said}'`);
});
