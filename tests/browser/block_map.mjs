// Tests the map of allocations: the allocations at the mark by role and as a table, the pointer's text, zooming,
// devices; for a table without addresses the heap of allocations.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, equal, folder, page_of, same_picture, test, until } from "./harness.mjs";
import { go_to } from "./pages.mjs";

const heading = (page) => page.locator(".block-list h2").textContent();

test("a snapshot is a map of addresses: a mark, the pointer's text, zooming and the other device", async (open) => {
    const page = await open(page_of("snapshot", ["view", "tests/data/snapshot/rank3_protocol5.pickle", "--out", "PAGE"]));
    await go_to(page, "Memory");
    const canvas = page.locator(".block-canvas");
    await canvas.waitFor();
    equal(await heading(page), "There at 11 µs: 18 MB", "what is there at the peak");
    const legend = await page.locator(".block-map .legend").textContent();
    for (const words of ["forward 9 MB in 2", "recompute 5 MB in 1", "parameters 4 MB in 1", "reserved"]) check(legend.includes(words), `${legend}: no ${words}`);
    check((await page.locator(".block-list").textContent()).includes("model/attention.py:88 forward"), "the table has no places");
    await same_picture(page, "block-map", canvas);
    const box = await canvas.boundingBox();
    await canvas.hover({ position: { x: box.width / 2, y: box.height - 40 } });
    await until(async () => (await page.locator(".page-tip").textContent()).includes("block.py:12 __init__ (parameters)"), "the pointer tells nothing");
    await canvas.click({ position: { x: box.width - 20, y: box.height - 40 } });
    await until(async () => (await heading(page)).includes("12 MB"), "a click does not move the mark");
    // A rectangle of the left half.
    await page.mouse.move(box.x + 100, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 200, { steps: 3 });
    await page.mouse.up();
    await canvas.press("Home");
    await until(async () => (await heading(page)).startsWith("There at 0 ns"), "the keys do not move the mark");
    await page.getByRole("button", { name: "Show all" }).click();
    await page.locator(".part:has(.block-canvas) select").first().selectOption("1");
    await until(async () => (await heading(page)) === "There at 2 µs: 3 MB", "the other device does not show");
});

test("operator_memory.csv is a map of what is there, one on the other, its table copies as CSV", async (open) => {
    const profile = join(folder, "operators", "ASCEND_PROFILER_OUTPUT");
    mkdirSync(profile, { recursive: true });
    writeFileSync(
        join(profile, "operator_memory.csv"),
        "Name,Size(KB),Allocation Time(us),Release Time(us),Device Type\n" +
            Array.from({ length: 20000 }, (_, i) => `aten::op${i % 7},${1024 + (i % 50)},${i},${i + 40 + (i % 30)},NPU:0\n`).join(""),
    );
    const page = await open(page_of("operators-memory", ["view", join(folder, "operators"), "--out", "PAGE"]));
    await go_to(page, "Memory");
    await page.locator(".block-canvas").waitFor();
    const there = await heading(page);
    const [, mb] = there.match(/: ([\d.]+) MB/) ?? [];
    check(Number(mb) > 50 && Number(mb) < 80, `${there}: some 55 of a MB each are there`);
    await page.getByRole("button", { name: "Zoom in" }).click();
    equal(await heading(page), there, "zooming moves the mark");
    check((await page.locator(".block-list").getByRole("button", { name: "Copy CSV" }).count()) === 1, "the table cannot be copied");
});
