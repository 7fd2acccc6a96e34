// Tests that a collective is linked to itself on the other ranks, in the timeline and in the side panel, from a file
// and from a server.
import { join } from "node:path";
import { check, equal, folder, page_of, same_picture, test, until } from "./harness.mjs";
import { go_to } from "./pages.mjs";
import { serve } from "./served.mjs";
import { MOST_WAIT, write_run } from "./traces.mjs";

// Rank 1 comes last, the others wait so long for it.
const waits = (rank) => [90000, 0, 30000, MOST_WAIT][rank];
const run = () => write_run(join(folder, "uneven"), 4, { steps: 1, waits });

/** Search for a collective, which selects it; returns the side panel's text on its ranks. */
async function ranks_of(page, text = "hcom_allReduce__586_0_15") {
    await go_to(page, "Timeline");
    await page.locator("canvas[role=application]").first().focus();
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.waitForSelector("table.calls");
    await page.locator("canvas[role=application]").first().focus();
    await page.keyboard.press("f");
    return page.$$eval("table.calls tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ")));
}

const expected = ["rank 1 came last", "rank 3 waited 160 \u00b5s", "rank 0 waited 90 \u00b5s", "rank 2 waited 30 \u00b5s"];
const about = (page) => page.locator("aside.side h3:has-text('The same on all ranks') + p").textContent();
const where = (page) => page.$$eval("aside.side dt", (all) => all.find((dt) => dt.textContent === "where").nextElementSibling.textContent);

test("a collective says on how many ranks it is, who came last and what each waited, and is linked to them", async (open) => {
    const page = await open(page_of("uneven", ["trace", run(), "--format", "json", "--html", "PAGE"]), { hash: "#tab=timeline&track=Group" });
    equal((await ranks_of(page)).map((text) => text.replace(/\u00a0/g, " ")), expected, "ranks of the collective");
    equal(await about(page), "on 4 ranks: rank 1 came last", "the sentence");
    await until(async () => (await where(page)).startsWith("rank 3"), "the first match is of rank 3, which waits longest");
    await page.mouse.move(5, 5);
    await same_picture(page, "collective-ranks");
    await page.locator("table.calls button:has-text('rank 2')").click();
    await until(async () => (await where(page)).startsWith("rank 2"), "the button does not lead to rank 2");
    check((await page.textContent("aside.side p.name")) === "hcom_allReduce__586_0_15", "another event is selected");
});

test("an event that is no collective of several ranks has no ranks beside it", async (open) => {
    const page = await open(page_of("uneven", ["trace", run(), "--format", "json", "--html", "PAGE"]));
    await ranks_of(page);
    await page.keyboard.press("/");
    await page.keyboard.press("Control+A");
    await page.keyboard.type("FlashAttention");
    await page.keyboard.press("Enter");
    await until(async () => /FlashAttention/.test(await page.textContent("aside.side p.name")), "nothing was found");
    equal(await page.locator("table.calls").count(), 0, "tables of ranks");
});

test("a served collective has the ranks that the page in a file has", async (open) => {
    const { address, end } = await serve(run(), join(folder, "served-temporary"));
    try {
        const page = await open(address);
        await until(async () => (await page.$$("[role=tab]")).length >= 4, "the figures of the run do not come", 20000);
        equal((await ranks_of(page)).map((text) => text.replace(/\u00a0/g, " ")), expected, "ranks of the collective");
        const button = page.locator("table.calls button").first(); // the rank that is selected has none
        const rank = await button.textContent();
        check(!(await where(page)).startsWith(rank), "a button leads to where one is");
        await button.click();
        await until(async () => (await where(page)).startsWith(rank), `the button does not lead to ${rank}`);
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});
