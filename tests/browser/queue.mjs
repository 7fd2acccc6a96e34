// Tests the curves among the tracks of a rank, which show how much launched work waits and how long, and the matrices
// by the quantity that they sum up.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, equal, folder, page_of, same_picture, test, until } from "./harness.mjs";
import { go_to, pages, timeline_of } from "./pages.mjs";
import { address_of } from "./places.mjs";
import { write_run } from "./traces.mjs";

/** Lines by their names in the plate at the pointer, from the top on. */
async function names_of(page, box, x = 60) {
    const names = [];
    for (let y = 60; y < 420; y += 7) {
        await page.mouse.move(box.x + x, box.y + y);
        const name = (await page.locator(".tip:visible b").allTextContents())[0];
        if (name !== undefined && names.at(-1)?.name !== name) names.push({ name, y });
    }
    return names;
}

test("the queue of launched work and its delay stand below the tracks of the device and say their values", async (open) => {
    const { page, box } = await timeline_of(open, pages.operators.make());
    const names = await names_of(page, box);
    const at = names.findIndex(({ name }) => name === "queue length");
    check(at > 0, `no queue among ${names.map(({ name }) => name)}`);
    check(/Communication$/.test(names[at - 1].name), `it stands below ${names[at - 1].name}`);
    equal(names[at + 1].name, "launch delay", "the line below it");
    check(/Python/.test(names[at + 2].name), `below both stands ${names[at + 2].name}`);
    await page.mouse.move(box.x + 500, box.y + names[at + 1].y + 10);
    const said = await page.locator(".tip").textContent();
    check(/11 \S?s here/.test(said.replace(/\u00a0/g, " ")), `at the pointer it says '${said}'`);
    check((await page.textContent("ul.colors")).includes("queue length: launched, not begun"), "the legend has no queue");
    await page.mouse.move(5, 5);
    await same_picture(page, "launch-queue");
    await page.mouse.move(box.x + 60, box.y + names[at].y + 10);
    await page.keyboard.press("h");
    const hidden = (await address_of(page)).get("hidden");
    check(/^0\/c\d+$/.test(hidden), `hidden in the address: ${hidden}`);
    check((await names_of(page, box))[at].name === "launch delay", "the queue is still there");
});

test("a plan, whose blocks nothing launches, has no queue", async (open) => {
    const { page } = await timeline_of(open, pages.simulation.make());
    check(!(await page.textContent("ul.colors")).includes("queue length"), "the legend has a queue");
});

/** A run with links of two steps, two kinds of operations and two transports. */
function linked() {
    const run = write_run(join(folder, "linked"), 2, { steps: 1 });
    for (const rank of [0, 1]) {
        const link = (transport, size, time) => ({ "Transport Type": transport, "Transit Size(MB)": size, "Transit Time(ms)": time,
            "Bandwidth(GB/s)": size / time, "Op Name": "x" });
        const of_step = (scale) => ({
            p2p: { "send-total@123456": { [`${rank}-${1 - rank}`]: link("RDMA", 5 * scale, 1) } },
            collective: { "allreduce-total@123456": { [`${rank}-${rank}`]: link("LOCAL", 1, 1), [`${rank}-${1 - rank}`]: link("HCCS", 20 * scale, 2) } },
        });
        const output = join(run, `rank_${rank}_ascend_pt`, "ASCEND_PROFILER_OUTPUT");
        mkdirSync(output, { recursive: true });
        writeFileSync(join(output, "communication_matrix.json"), JSON.stringify({ step10: of_step(1), step11: of_step(3) }));
    }
    return run;
}

test("the matrix of links is chosen by step, operation and transport, and its table follows", async (open) => {
    const page = await open(page_of("linked", ["trace", linked(), "--format", "json", "--html", "PAGE"]), { hash: "#tab=communication" });
    await go_to(page, "Communication");
    const part = page.locator(".part:has(canvas[aria-label^='Sent, from row to column'])").first();
    const canvas = part.locator("canvas").first();
    const said = () => part.locator("[role=status]").textContent();
    await canvas.focus();
    await canvas.press("Home");
    await canvas.press("ArrowRight");
    check((await said()).includes("From rank 0 to rank 1: 100 MB"), `of all it says '${await said()}'`);
    const choose = (label, value) => part.locator(`label:has-text('${label}') select`).selectOption(value);
    await choose("Step", "step11");
    check((await said()).includes("75 MB"), `of step 11 it says '${await said()}'`);
    await choose("Operation", "send");
    check((await said()).includes("15 MB"), `of sends of step 11 it says '${await said()}'`);
    await part.locator("summary").click();
    await until(async () => (await part.locator("table.rows tbody").textContent()).includes("15 MB"), "the table shows all");
    await choose("Transport", "HCCS");
    check((await said()).includes("Nothing went this way"), `of sends over HCCS it says '${await said()}'`);
    await choose("Operation", "");
    check((await said()).includes("60 MB"), `of HCCS in step 11 it says '${await said()}'`);
});
