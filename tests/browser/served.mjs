// Tests the page from the server: it shows the same as the page from a file, no request fails, and Ctrl-C ends the
// server.
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { check, close_pages, equal, evenkeel, folder, page_of, root, test, until } from "./harness.mjs";
import { go_to } from "./pages.mjs";
import { write_run } from "./traces.mjs";

/** Serve a run; {address, end}. `end` sends the signal of Ctrl-C and returns the exit code; pages are closed first
 *  unless they are to stay open. */
export async function serve(run, temporary, options = []) {
    const index = join(folder, "served-index");
    rmSync(index, { recursive: true, force: true });
    mkdirSync(temporary, { recursive: true });
    const process_ = spawn(evenkeel, ["view", run, "--serve", "--index", index, ...options], { cwd: root, stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, TMPDIR: temporary } });
    let said = "";
    process_.stdout.on("data", (text) => { said += text; });
    process_.stderr.on("data", (text) => { said += text; });
    const ended = new Promise((resolve) => process_.on("exit", (code, signal) => resolve(code ?? signal)));
    const address = await until(() => /http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\//.exec(said)?.[0], `no address: ${said}`, 20000);
    const end = async ({ leave = false } = {}) => {
        if (!leave) await close_pages();
        process_.kill("SIGINT");
        return ended;
    };
    return { address, end };
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
            await page.waitForSelector("table.events-table tbody tr");
            seen.push(await page.$$eval("table.sums-table tbody tr", (rows) => rows.map((row) => row.textContent)));
        }
        check(seen[0].length > 3, `too few sums: ${seen[0]}`);
        equal(seen[1], seen[0], "sums and events");
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});

const inside = async (page, text) => (await page.locator("main").textContent()).includes(text);

test("the served page gets steps, memory curves and what is held with the figures", async (open) => {
    const file = page_of("trace", ["trace", "examples/trace", "--format", "json", "--html", "PAGE"]);
    const { address, end } = await serve("examples/trace", join(folder, "served-temporary"));
    try {
        // The view that was chosen before the figures came stays.
        const hash = "#begin=1000000&end=9000000&pointer=4000000";
        const pages = [await open(file, { hash }), await open(address, { hash })];
        await until(async () => (await pages[1].$$("[role=tab]")).length >= 4, "the figures of the run do not come", 20000);
        const views = await Promise.all(pages.map((page) => page.evaluate(() => location.hash)));
        equal(views[1], views[0], "the view after the figures came");
        const lists = [];
        for (const page of pages) {
            await go_to(page, "Memory");
            await page.waitForSelector("svg.strip path.curve");
            const strip = await page.$eval("svg.strip", (picture) => picture.textContent);
            lists.push({ strip, list: (await page.locator(".held-list").textContent()).replace(/\s+/g, " ") });
        }
        equal(lists[1], lists[0], "memory at the pointer");
        check(/\d/.test(lists[0].list), `no sizes in ${lists[0].list}`);
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});

test("two served runs are compared as in a page, and the panel tells what is selected in the second", async (open) => {
    const file = page_of("compare", ["view", "examples/trace/rank_0", "--against", "examples/trace/rank_1", "--out", "PAGE"]);
    const { address, end } = await serve("examples/trace/rank_0", join(folder, "served-temporary"), ["--against", "examples/trace/rank_1"]);
    try {
        const seen = [];
        for (const target of [file, address]) {
            const page = await open(target);
            await until(async () => (await page.$$("[role=tab]")).length >= 4, "the figures of the runs do not come", 20000);
            await go_to(page, "Compare");
            const canvas = page.locator(".timeline-pair canvas[role=application]");
            await canvas.waitFor();
            await canvas.scrollIntoViewIfNeeded();
            const box = await canvas.boundingBox();
            // Somewhere in the rows of the lower pane there is an event, and it is the second run's.
            const panel = page.locator(".timeline-pair aside section:visible");
            await until(async () => {
                for (let y = 0.3 * box.height; y < box.height - 8; y += 6) {
                    await page.mouse.click(box.x + 0.4 * box.width, box.y + y);
                    await page.waitForTimeout(30);
                    if ((await panel.getAttribute("aria-label")) !== null && (await panel.locator("p.name").count()) > 0 &&
                        (await panel.getAttribute("aria-label")) === "rank_1") return true;
                }
                return false;
            }, "nothing of the second run is told", 20000);
            seen.push((await panel.textContent()).replace(/\s+/g, " "));
        }
        equal(seen[1], seen[0], "what is told of the second run");
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});

test("a hit in a folded group unfolds it and scrolls to it", async (open) => {
    const run = write_run(join(folder, "served-run"), 4);
    const file = page_of("served", ["trace", run, "--format", "json", "--html", "PAGE"]);
    const { address, end } = await serve(run, join(folder, "served-temporary"));
    try {
        for (const target of [file, address]) {
            const page = await open(target, { hash: "#folded=1,3" });
            await shown(page);
            await page.keyboard.press("/");
            await page.keyboard.type("flashattention");
            await page.keyboard.press("Shift+Enter"); // the last one: of the last rank, below the visible part
            await page.waitForSelector("aside.side p.name");
            const view = await until(async () => {
                const now = new URLSearchParams(await page.evaluate(() => location.hash.slice(1)));
                return Number(now.get("top")) > 0 && now;
            }, "the timeline does not scroll");
            const folded = view.get("folded").split(",").filter((key) => /^\d$/.test(key));
            check(/rank 3/.test(await details(page)), `not the last rank's: ${await details(page)}`);
            equal(folded, ["1"], "groups that stay folded");
        }
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});

test("keys move the bar between rows and curves there and back", async (open) => {
    const page = await open(page_of("trace", ["trace", "examples/trace", "--format", "json", "--html", "PAGE"]));
    const canvas = await shown(page);
    const picture = async () => (await page.waitForTimeout(150), (await canvas.screenshot()).toString("base64"));
    await page.keyboard.press("Home"); // from the first key on the focus is shown
    const before = await picture();
    await page.keyboard.press("]");
    const moved = await picture();
    check(moved !== before, "] does not move the bar");
    await page.keyboard.press("[");
    await until(async () => (await picture()) === before, "[ does not move it back");
});

test("when the server is gone the page says so once, and keeps what it has", async (open) => {
    const run = write_run(join(folder, "served-run"), 4);
    const { address, end } = await serve(run, join(folder, "served-temporary"));
    const page = await open(address);
    await until(async () => (await page.$$("[role=tab]")).length >= 4, "the figures of the run do not come", 20000);
    const canvas = await shown(page);
    await page.waitForTimeout(300);
    equal(await end({ leave: true }), 0, "exit code after Ctrl-C");
    for (const key of "wwwwddddaaaass") await page.keyboard.press(key, { delay: 60 });
    await until(async () => (await page.locator("[role=alert]").count()) > 0, "nothing is said");
    await page.keyboard.press("Home");
    for (const key of "wwwdd") await page.keyboard.press(key, { delay: 60 });
    await page.waitForTimeout(2500);
    const said = await page.locator("[role=alert]").allTextContents();
    equal(said.filter((text) => text.includes("does not answer any more")).length, 1, `said: ${said}`);
    equal(said.length, 1, `said: ${said}`);
    check(await canvas.isVisible(), "the timeline is gone");
    await go_to(page, "Breakdown");
    check(await inside(page, "rank"), "the tables are gone");
    page.errors = page.errors.filter((error) => !/ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/.test(error));
});
