// Tests the links from findings and rows of tables to their places in the timeline.
import { join } from "node:path";
import { check, equal, folder, page_of, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { hostile, write_run } from "./traces.mjs";

const tab_of = (page) => page.textContent("[role=tab][aria-selected=true]");

/** The side panel's text on the selected event. */
async function selected(page) {
    await page.waitForSelector("aside.side p.name");
    return page.evaluate(() => {
        const side = document.querySelector("aside.side section");
        const figures = Object.fromEntries([...side.querySelectorAll("dl.figures dt")].map((dt) => [dt.textContent, dt.nextElementSibling.textContent]));
        return { name: side.querySelector("p.name").textContent, ...figures };
    });
}

/** The state in the address, once it is written. */
export async function address_of(page) {
    await page.waitForTimeout(450);
    return new URLSearchParams(new URL(page.url()).hash.slice(1));
}

/** The begin and end that are shown; null: all. */
const shown = async (page) => (await address_of(page)).get("t")?.split("~").map(Number) ?? null;

/** The button of a row of a table, by the table's title and a text of the row. */
const button_of = (page, table, row) => page.locator(`.part[aria-label^="${table}"] tbody tr`, { hasText: row }).locator("td.place button").first();

test("a row of operators leads to its longest execution on its rank", async (open) => {
    const page = await open(pages.diagnosis.make());
    await go_to(page, "Operators");
    const row = page.locator('.part[aria-label="Operators of rank 1, stage 1"] tbody tr', { hasText: "MatMul" }).first();
    const longest = await row.locator("td.number").nth(4).textContent();
    check(/rank 1, at /.test(await row.locator("td.place button").getAttribute("aria-label")), "the button does not say the rank");
    await row.locator("td.place button").focus();
    await page.keyboard.press("Enter");
    await until(async () => (await tab_of(page)) === "Timeline", "the timeline does not open");
    const event = await selected(page);
    equal(event.duration, longest, "the duration of the event");
    check(event.where.startsWith("rank 1"), `it is of ${event.where}`);
    const [begin, end] = await shown(page);
    check(end - begin > 2 * 14e6 && end - begin < 20 * 14e6, `${end - begin} ns are shown`);
});

test("a collective, a step and the rows of ranks lead to their time and rank", async (open) => {
    const page = await open(pages.diagnosis.make());
    await go_to(page, "Communication");
    const first = page.locator('.part[aria-label="Single collectives, most exposed first"] tbody tr[aria-rowindex="2"]');
    const name = await first.locator(".name").nth(1).textContent();
    await first.locator("td.place button").click();
    const event = await selected(page);
    check(event.name.startsWith(name.split("…")[0].slice(0, 8)), `${event.name} is selected for ${name}`);
    await go_to(page, "Breakdown");
    await page.locator('.part[aria-label="Steps"] tbody tr[aria-rowindex="3"] td.place button').click();
    const [begin, end] = await shown(page);
    check(begin < 961953500 && end > 1923762000 - 1e6 && end - begin < 1.4e9, `the second step is not what ${begin} to ${end} shows`);
    check((await page.textContent("aside.side")).includes("from "), "the step is no range");
    await go_to(page, "Ranks");
    await page.locator("td.place button").first().click();
    equal(await tab_of(page), "Timeline", "tab after a row of a rank");
    equal(await shown(page), null, "a rank without a time shows all of it");
});

test("findings and what they rest on lead to their rank", async (open) => {
    const page = await open(pages.diagnosis.make());
    const card = page.locator(".finding", { hasText: "The device waits for data" });
    const to_place = card.locator("button.to-place");
    check(/^Show in timeline: rank 0/.test(await to_place.textContent()), `the button says ${await to_place.textContent()}`);
    check(await card.locator(".evidence button").count() >= 1, "evidence has no way to the timeline");
    await card.locator(".evidence button").first().click();
    equal(await tab_of(page), "Timeline", "tab after a finding");
});

test("a stage's memory leads to the block at its peak, and a chunk to its first block", async (open) => {
    const page = await open(pages.simulation.make());
    await go_to(page, "Memory");
    await button_of(page, "Memory of each stage (", "stage 1").click();
    const event = await selected(page);
    check(event.where.startsWith("stage 1"), `it is of ${event.where}`);
    const text = await page.textContent("aside.side .tree");
    const holds = Math.max(...[...text.matchAll(/memory (?:during|after)[^\d]*([\d.]+)/g)].map((match) => Number(match[1])));
    await go_to(page, "Memory");
    const peak = await page.evaluate(() => {
        const part = document.querySelector('.part[aria-label^="Memory of each stage ("]');
        const at = [...part.querySelectorAll("th")].findIndex((head) => head.textContent === "peak");
        return [...part.querySelectorAll("tbody tr")].find((row) => row.children[1]?.textContent === "stage 1").children[at].textContent;
    });
    check(Math.abs(holds - Number(peak.replace(/[^\d.]/g, ""))) <= 1, `the block holds ${holds} MB, the peak is ${peak}`);
    await go_to(page, "Plan");
    await button_of(page, "Layers and recomputation", "stage 2").click();
    check(/^F/.test((await selected(page)).name), "the first block of a stage is no forward");
});

test("a filter that hides the rank gives way, and the group is opened", async (open) => {
    const page = await open(pages.diagnosis.make(), { hash: "#tab=operators&rank=0&folded=1" });
    await page.waitForSelector("td.place");
    await page.locator('.part[aria-label="Operators of rank 1, stage 1"] td.place button').first().click();
    await selected(page);
    const given = await address_of(page);
    equal([given.get("rank"), given.get("folded")], [null, null], "rank and folds");
});

test("ways from hostile names lead to their events and stay inert", async (open) => {
    const run = write_run(join(folder, "hostile <b>run"), 2, { names: hostile, args: () => ({}) });
    const page = await open(page_of("hostile-places", ["trace", run, "--format", "json", "--html", "PAGE"]));
    for (const [tab, table] of [["Operators", "Operators of"], ["Communication", "Single collectives"]]) {
        await go_to(page, tab);
        const button = page.locator(`.part[aria-label^="${table}"] td.place button`).first();
        await button.hover();
        await button.click();
        await selected(page);
    }
    equal(await page.evaluate(() => [window.hostile ?? null, document.querySelectorAll("img").length]), [null, 0], "scripts and elements of names");
});
