// The page from the server: it shows what the same page shows from a file, no request fails, and Ctrl-C ends it all.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { check, equal, evenkeel, folder, page_of, root, test, until } from "./harness.mjs";
import { go_to } from "./pages.mjs";
import { write_run } from "./traces.mjs";

/** Serve a run; {address, end}. `end` sends what Ctrl-C sends and gives the exit code. */
async function serve(run, temporary) {
    rmSync(join(run, "evenkeel-index"), { recursive: true, force: true });
    mkdirSync(temporary, { recursive: true });
    const process_ = spawn(evenkeel, ["view", run, "--serve"], { cwd: root, stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, TMPDIR: temporary } });
    let said = "";
    process_.stdout.on("data", (text) => { said += text; });
    process_.stderr.on("data", (text) => { said += text; });
    const ended = new Promise((resolve) => process_.on("exit", (code, signal) => resolve(code ?? signal)));
    const address = await until(() => /http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\//.exec(said)?.[0], `no address: ${said}`, 20000);
    return { address, end: () => (process_.kill("SIGINT"), ended) };
}

async function shown(page) {
    await go_to(page, "Timeline");
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    return canvas;
}

const details = (page) => page.locator("aside.side section").first().textContent();

test("a served trace shows what the page of the same trace shows, and Ctrl-C ends the server", async (open) => {
    const run = write_run(join(folder, "served-run"), 4);
    const temporary = join(folder, "served-temporary");
    const file = page_of("served", ["trace", run, "--format", "json", "--html", "PAGE"]);
    const { address, end } = await serve(run, temporary);
    try {
        const pages = [await open(file), await open(address)];
        const seen = [];
        for (const page of pages) {
            await shown(page);
            await page.keyboard.press("/");
            await page.keyboard.type("flashattention");
            await page.keyboard.press("Enter");
            await page.waitForSelector("aside.side p.name");
            await page.waitForSelector("aside.side ul.flows button");
            seen.push((await details(page)).replace(/\s+/g, " "));
        }
        equal(seen[1], seen[0], "details of what was found");
        const canvas = await shown(pages[1]);
        const box = await canvas.boundingBox();
        await pages[1].mouse.move(box.x + 600, box.y + 120);
        for (let i = 0; i < 12; i++) await pages[1].keyboard.press("w", { delay: 40 });
        for (let i = 0; i < 6; i++) await pages[1].keyboard.press("d", { delay: 40 });
        await pages[1].keyboard.press("Home");
        await until(async () => (await pages[1].$$("[role=tab]")).length >= 4, "the figures of the run do not come", 20000);
        const tabs = await Promise.all(pages.map((page) => page.$$eval("[role=tab]", (all) => all.map((tab) => tab.textContent))));
        equal(tabs[1], tabs[0], "tabs of the served page");
        for (const tab of tabs[1]) await go_to(pages[1], tab);
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
    equal(readdirSync(temporary), [], "temporary files that stayed");
});

test("sums of a range from the server are those of the page", async (open) => {
    const run = write_run(join(folder, "served-run"), 4);
    const file = page_of("served", ["trace", run, "--format", "json", "--html", "PAGE"]);
    const { address, end } = await serve(run, join(folder, "served-temporary"));
    try {
        const seen = [];
        for (const target of [file, address]) {
            const page = await open(target, { hash: "#tab=timeline&range=1000000~3000000" });
            await page.waitForSelector("table.sums-table td.number");
            seen.push(await page.$$eval("table.sums-table tbody tr", (rows) => rows.map((row) => row.textContent)));
        }
        check(seen[0].length > 3, `too few sums: ${seen[0]}`);
        equal(seen[1], seen[0], "sums");
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});

test("memory curves and steps of a served trace are those of the page", async (open) => {
    const run = join(folder, "served-memory");
    cpSync(join(root, "examples/trace"), run, { recursive: true });
    const file = page_of("served-memory", ["trace", run, "--format", "json", "--html", "PAGE"]);
    const { address, end } = await serve(run, join(folder, "served-temporary"));
    try {
        const seen = [];
        for (const target of [file, address]) {
            const page = await open(target, { hash: "#at=9500000" });
            await until(async () => (await page.$$("[role=tab]")).length >= 4, "the figures of the run do not come", 20000);
            await go_to(page, "Memory");
            await page.waitForSelector("[aria-label='Memory at the pointer'] .notes li:not(:text('no value'))");
            seen.push(await page.$$eval("[aria-label='Memory at the pointer'] .notes li", (all) => all.map((item) => item.textContent)));
        }
        check(seen[0].length >= 2 && seen[0].every((text) => / MB at /.test(text)), `curves at the pointer: ${seen[0]}`);
        equal(seen[1], seen[0], "memory at the pointer");
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});
