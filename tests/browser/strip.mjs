// Tests the strip of a plan: a cell for every stage and chunk, which leads to its first block.
import { check, equal, same_picture, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { address_of } from "./places.mjs";

test("the plan has a strip of stages by chunks with their layers, and a cell leads to the timeline", async (open) => {
    const page = await open(pages.simulation.make());
    await go_to(page, "Plan");
    const cells = page.locator("button.strip-cell");
    equal(await cells.count(), 48, "cells");
    const layers = await cells.evaluateAll((all) => all.reduce((sum, cell) => sum + Number(cell.querySelector("b").textContent), 0));
    equal(layers, 96, "layers of all cells");
    const rows = await page.$$eval(".strip-row", (all) => all.map((one) => one.textContent));
    equal(rows, ["stage", "chunk 0", "chunk 1", "chunk 2"], "rows");
    await same_picture(page, "plan-strip", page.locator(".part:has(.strip)"));
    await page.locator("button.strip-cell[title^='stage 5, chunk 1']").click();
    await until(async () => (await page.locator("[role=tab][aria-selected=true]").textContent()) === "Timeline", "the timeline does not open");
    await page.waitForSelector("aside.side p.name");
    check((await page.textContent("aside.side")).includes("stage 5"), "another stage's block is selected");
    check((await address_of(page)).get("event") !== null, "nothing is selected");
});
