// Tests the range and the area: their sums, the list of their events, and both as CSV.
import { readFileSync } from "node:fs";
import { check, equal, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { address_of } from "./places.mjs";

async function timeline_of(open, kind, hash = "#tab=timeline") {
    const page = await open(pages[kind].make(), { hash });
    await go_to(page, "Timeline");
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    return { page, canvas, box: await canvas.boundingBox() };
}

const lines_of = (page, table) => page.$$eval(`table.${table} tbody tr`, (rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));

async function drag(page, box, [x0, y0], [x1, y1], key = null) {
    await page.mouse.move(box.x + x0, box.y + y0);
    if (key) await page.keyboard.down(key);
    await page.mouse.down();
    await page.mouse.move(box.x + x1, box.y + y1, { steps: 5 });
    await page.mouse.up();
    if (key) await page.keyboard.up(key);
}

test("a drag with Shift selects the tracks it goes over: sums and events are of those alone", async (open) => {
    const { page, box } = await timeline_of(open, "simulation");
    await drag(page, box, [300, 80], [700, 130], "Shift");
    await page.waitForSelector("table.events-table tbody tr");
    const events = await lines_of(page, "events-table");
    const where = [...new Set(events.map((line) => line[3]))];
    check(where.length >= 2 && where.length < 6, `events are of ${where}`);
    equal((await address_of(page)).get("tracks"), "1-3", "tracks in the address");
    check((await page.textContent("aside.side")).includes("of 3 tracks"), "the range does not say its tracks");
    await page.click("button[data-by=stream]");
    equal((await lines_of(page, "sums-table:not(.events-table)")).length, where.length, "streams with sums");
    await drag(page, box, [300, 80], [700, 130]);
    equal((await address_of(page)).get("tracks"), null, "tracks after a drag without Shift");
});

test("the list of events sorts, leads to an event, and its CSV has what it shows", async (open) => {
    const { page, box } = await timeline_of(open, "uniform");
    await drag(page, box, [300, 80], [600, 110]);
    await page.waitForSelector("table.events-table tbody tr");
    await page.click("table.events-table th button:text-is('Name')");
    const names = (await lines_of(page, "events-table")).map((line) => line[0]);
    check(names.length > 5, "too few events");
    equal(names, [...names].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)), "names after a click on their title");
    const section = page.locator("section", { has: page.locator("table.events-table") });
    await section.locator("button", { hasText: "Copy CSV" }).click();
    const csv = (await page.evaluate(() => navigator.clipboard.readText())).trimEnd().split("\r\n");
    equal(csv[0], "name,begin (time),duration (time),where", "titles");
    check(csv.length > names.length || csv.length === names.length + 1, `${csv.length} lines for ${names.length} events`);
    equal(csv[1].split(",")[0], names[0], "the first name");
    const [download] = await Promise.all([page.waitForEvent("download"), section.locator("button", { hasText: "Save CSV" }).click()]);
    equal(download.suggestedFilename(), "events.csv", "the file's name");
    equal(readFileSync(await download.path(), "utf8").trimEnd().split("\r\n"), csv, "the file that is saved");
    await page.locator("table.events-table tbody button").nth(2).click();
    await page.waitForSelector("aside.side p.name");
    equal(await page.textContent("aside.side p.name"), names[2], "the event that is selected");
});

test("sums are copied and saved as they stand", async (open) => {
    const { page, box } = await timeline_of(open, "operators");
    await drag(page, box, [300, 80], [800, 110]);
    await page.waitForSelector("table.sums-table td.number");
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: "Save CSV" }).first().click()]);
    const csv = readFileSync(await download.path(), "utf8").trimEnd().split("\r\n");
    equal(csv[0], "name,count,total (ns),mean (ns)", "titles");
    const lines = await lines_of(page, "sums-table:not(.events-table)");
    equal(csv.length - 1, lines.length, "lines");
    equal(csv[1].split(",")[1], lines[0][1], "how often the first one is");
});

test("R takes what is shown of the selected event's track, Shift+R of all", async (open) => {
    const { page, box } = await timeline_of(open, "simulation");
    await page.mouse.click(box.x + 205, box.y + 58);
    await page.waitForSelector("aside.side p.name");
    await page.keyboard.press("r");
    await page.waitForSelector("table.events-table tbody tr");
    equal([...new Set((await lines_of(page, "events-table")).map((line) => line[3]))].length, 1, "tracks");
    await page.keyboard.press("Shift+R");
    await until(async () => (await address_of(page)).get("tracks") === null, "Shift+R keeps the track");
    await page.keyboard.press("Escape");
    await until(async () => !(await page.isVisible("table.events-table")), "Escape leaves the list");
});

test("a search counts its matches and lists them; a click and Enter go to them", async (open) => {
    const { page } = await timeline_of(open, "operators");
    await page.keyboard.press("/");
    await page.keyboard.type("FlashAttention");
    await page.waitForSelector("ol.matches li");
    await until(async () => /match/.test(await page.textContent(".tools .found")), "no count");
    // 3 steps of 48 operators, every sixth is one, on 4 ranks: on the device, and as it is launched on the host.
    equal(await page.textContent(".tools .found"), "192 matches, 2 names", "count");
    equal(await page.locator("ol.matches li").count(), 100, "matches that are listed");
    await page.click("section:has(ol.matches) > button");
    await until(async () => (await page.locator("ol.matches li").count()) === 192, "More lists no more");
    check(!(await page.isVisible("section:has(ol.matches) > button")), "there is more after all");
    await page.locator("ol.matches button").nth(5).click();
    await page.waitForSelector("ol.matches button[aria-current]");
    equal(await page.$$eval("ol.matches button", (all) => all.findIndex((one) => one.ariaCurrent === "true")), 5, "the current match");
    await page.focus("input[type=search]");
    await page.keyboard.press("Enter");
    const current = () => page.$$eval("ol.matches button", (all) => all.findIndex((one) => one.getAttribute("aria-current") === "true"));
    await until(async () => (await current()) === 6, "Enter does not go on");
    await page.keyboard.press("Shift+Enter");
    await until(async () => (await current()) === 5, "Shift+Enter does not go back");
    await page.fill("input.few", "2");
    await until(async () => (await page.textContent(".tools .found")).startsWith("48 matches"), "the filter does not count");
    await page.fill("input[type=search]", "");
    await until(async () => !(await page.isVisible("ol.matches")), "the list stays without a search");
});
