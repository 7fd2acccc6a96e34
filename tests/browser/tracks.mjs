// Tests the tracks of the timeline: pinned, hidden, moved and folded, by the menu and by keys.
import { join } from "node:path";
import { check, equal, folder, page_of, same_picture, test, until } from "./harness.mjs";
import { pages, timeline_of } from "./pages.mjs";
import { address_of } from "./places.mjs";
import { write_run } from "./traces.mjs";

/** The name of the line at a height, from its plate. */
async function name_at(page, box, y) {
    await page.mouse.move(box.x + 60, box.y + y);
    await page.mouse.move(box.x + 61, box.y + y);
    return page.locator(".tip b").textContent();
}

test("the menu of a track pins it above all others, where it stays while rows scroll", async (open) => {
    const { page, box } = await timeline_of(open, pages.operators.make());
    const name = await name_at(page, box, 142);
    await page.mouse.click(box.x + 60, box.y + 142, { button: "right" });
    await page.waitForSelector("[role=menu]");
    equal(await page.evaluate(() => document.activeElement.textContent), "Pin to the topP", "the entry that has the focus");
    await page.keyboard.press("Enter");
    const pinned = (await address_of(page)).get("pinned");
    check(/^0\/\d$/.test(pinned), `pinned in the address: ${pinned}`);
    const pinned_name = `rank 0: ${name.split(" / ").at(-1)}`;
    equal(await name_at(page, box, 78), pinned_name, "the name at the top");
    await page.mouse.move(box.x + 500, box.y + 300);
    await page.mouse.wheel(0, 400);
    check(Number((await address_of(page)).get("top")) > 100, "the rows do not scroll");
    equal(await name_at(page, box, 78), pinned_name, "the name at the top after scrolling");
    await same_picture(page, "operators-pinned");
    await page.keyboard.press("p");
    equal((await address_of(page)).get("pinned"), null, "pinned after P");
});

test("H hides the track at the pointer, and the menu, a button and a way to it bring it back", async (open) => {
    const { page, box } = await timeline_of(open, pages.operators.make());
    const name = await name_at(page, box, 142);
    await page.keyboard.press("h");
    const hidden = (await address_of(page)).get("hidden");
    check(/^0\/\d$/.test(hidden), `hidden in the address: ${hidden}`);
    check((await name_at(page, box, 142)) !== name, `${name} is still there`);
    equal(await page.textContent("button.hidden-rows"), "Show 1 hidden", "the button");
    await page.click("button.hidden-rows");
    equal(await name_at(page, box, 142), name, "the track after the button");
    await page.keyboard.press("h");
    await page.mouse.click(box.x + 60, box.y + 72, { button: "right" });
    await page.click("[role=menuitem]:has-text('Show what is hidden')");
    equal((await address_of(page)).get("hidden"), null, "hidden after the menu");
    const again = await timeline_of(open, pages.operators.make(), "#tab=timeline&hidden=0,1,2,3&find=FlashAttention");
    await again.page.waitForSelector("ol.matches button");
    await again.page.locator("ol.matches button").first().click();
    await again.page.waitForSelector("aside.side p.name");
    check(!(await address_of(again.page)).get("hidden").split(",").includes("0"), "the rank of a match stays hidden");
});

test("Shift with the arrows moves a track in its group and a group among groups, and Escape leaves the menu", async (open) => {
    const { page, box } = await timeline_of(open, pages.operators.make());
    const [first, second] = [await name_at(page, box, 98), await name_at(page, box, 120)];
    await name_at(page, box, 98);
    await page.keyboard.press("Shift+ArrowDown");
    await until(async () => (await address_of(page)).get("order") !== null, "nothing is moved");
    equal([await name_at(page, box, 98), await name_at(page, box, 120)], [second, first], "the two tracks");
    equal(await name_at(page, box, 72), "rank 0", "the first group");
    await page.keyboard.press("Shift+ArrowDown");
    await page.waitForTimeout(100);
    equal(await name_at(page, box, 72), "rank 1", "the first group after it was moved");
    await page.mouse.click(box.x + 60, box.y + 72, { button: "right" });
    await page.keyboard.press("Escape");
    check(!(await page.isVisible("[role=menu]")), "Escape leaves the menu open");
    equal(await page.evaluate(() => document.activeElement.tagName), "CANVAS", "the focus");
});

test("of more than 16 ranks each is a row that opens, and a click on it selects an event of that rank", async (open) => {
    const run = write_run(join(folder, "many-ranks"), 20, { steps: 1, per_step: 16 });
    const { page, box } = await timeline_of(open, page_of("many-ranks", ["trace", run, "--format", "json", "--html", "PAGE"]));
    equal([await name_at(page, box, 78), await name_at(page, box, 101)], ["rank 0", "rank 1"], "the first two lines");
    await same_picture(page, "many-ranks");
    await page.mouse.click(box.x + 400, box.y + 101);
    await page.waitForSelector("aside.side p.name");
    check((await page.textContent("aside.side")).includes("rank 1"), "the event is of another rank");
    await page.keyboard.press("g");
    await page.waitForTimeout(100);
    check((await name_at(page, box, 124)) !== "rank 2", "G does not open the rank of the event");
});
