// Tests a user's actions on the timeline: zoom, move, select, drag, search, filter, mark, follow flows, send the
// address.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, equal, folder, open, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";

/** The state in the address: {begin, end, pointer, selected, range}, once the page has written it. */
async function view_of(page) {
    await page.waitForTimeout(450); // writing is throttled
    const given = new URLSearchParams(new URL(page.url()).hash.slice(1));
    const pair = (text) => (text === null ? null : text.split("~").map(Number));
    const [begin, end] = pair(given.get("t")) ?? [null, null];
    const at = given.get("at");
    return { begin, end, pointer: at === null ? null : Number(at), selected: given.get("event"), range: pair(given.get("range")), given };
}

async function timeline_of(open, kind, options) {
    const page = await open(pages[kind].make(), options);
    await go_to(page, "Timeline");
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    const box = await canvas.boundingBox();
    return { page, canvas, box, at: (x, y) => page.mouse.move(box.x + x, box.y + y) };
}

/** Press a key so often. */
async function press(page, key, times) {
    for (let i = 0; i < times; i++) await page.keyboard.press(key, { delay: 30 });
}

test("W zooms in and S out at the pointer, which keeps its time", async (open) => {
    const { page, at } = await timeline_of(open, "simulation");
    await at(700, 200);
    await press(page, "w", 6);
    const near = await view_of(page);
    check(near.begin !== null, "the address has no stretch of time");
    const share = (near.pointer - near.begin) / (near.end - near.begin);
    await press(page, "w", 6);
    const nearer = await view_of(page);
    check(nearer.end - nearer.begin < 0.8 * (near.end - near.begin), "W does not zoom in");
    const again = (nearer.pointer - nearer.begin) / (nearer.end - nearer.begin);
    check(Math.abs(share - again) < 0.01, `the pointer moved from ${share} to ${again} of the view`);
    await press(page, "s", 6);
    const out = await view_of(page);
    check(out.end - out.begin > 1.2 * (nearer.end - nearer.begin), "S does not zoom out");
});

test("A and D move, and Home shows everything again", async (open) => {
    const { page, at } = await timeline_of(open, "simulation");
    await at(600, 200);
    await press(page, "w", 10);
    const before = await view_of(page);
    await press(page, "d", 3);
    const right = await view_of(page);
    check(right.begin > before.begin, "D does not move right");
    check(Math.abs((right.end - right.begin) / (before.end - before.begin) - 1) < 1e-3, "moving changes the zoom");
    await press(page, "a", 3);
    const left = await view_of(page);
    check(left.begin < right.begin, "A does not move left");
    await page.keyboard.press("Home");
    const all = await view_of(page);
    equal(all.begin, null, "the address of everything has a stretch of time");
});

test("a trace zooms down to a nanosecond, and the event there is still named", async (open) => {
    const { page, at } = await timeline_of(open, "operators");
    await at(600, 120);
    for (let i = 0; i < 60; i++) {
        await page.keyboard.press("w", { delay: 60 });
        const { begin, end } = await view_of_quick(page);
        if (begin !== null && end - begin <= 20) break;
    }
    const { begin, end } = await view_of(page);
    check(end - begin <= 1000 && end > begin, `the smallest stretch is ${end - begin} ns`);
});

async function view_of_quick(page) {
    const pair = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("t")?.split("~").map(Number);
    return { begin: pair?.[0] ?? null, end: pair?.[1] ?? null };
}

test("a click selects the block under it, with its details; the address brings it back", async (open) => {
    const { page, at, box } = await timeline_of(open, "simulation");
    await at(210, 62);
    await page.mouse.click(box.x + 205, box.y + 58);
    const { selected } = await view_of(page);
    check(selected !== null, "nothing is selected");
    const side = page.locator("aside.side section").first();
    const name = await side.locator("p.name").textContent();
    check(/^F/.test(name), `the first block of stage 0 is called '${name}'`);
    const text = await side.textContent();
    for (const word of ["chunk", "micro"]) check(text.includes(word), `the details do not say '${word}': ${text}`);
    const again = await open(pages.simulation.make(), { hash: new URL(page.url()).hash });
    await again.waitForSelector("aside.side p.name");
    equal(await again.locator("aside.side p.name").textContent(), name, "name after the address was opened anew");
});

test("dragging selects a range whose sums add up to what the blocks last", async (open) => {
    const { page, box } = await timeline_of(open, "uniform");
    await page.mouse.move(box.x + 300, box.y + 70);
    await page.mouse.down();
    await page.mouse.move(box.x + 420, box.y + 100, { steps: 5 });
    await page.mouse.move(box.x + 600, box.y + 120, { steps: 5 });
    await page.mouse.up();
    const { range } = await view_of(page);
    check(range !== null && range[1] > range[0], "no range was selected");
    await page.waitForSelector("table.sums-table td.number");
    const rows = await page.$$eval("table.sums-table tbody tr", (all) => all.map((row) => row.textContent));
    check(rows.some((row) => /forward/i.test(row) || /^F/.test(row)), `no forward block in the sums: ${rows.join(" / ")}`);
    await page.keyboard.press("Escape");
    const { range: after } = await view_of(page);
    equal(after, null, "range after Escape");
});

test("searching goes to the next and the previous event of a name", async (open) => {
    const { page } = await timeline_of(open, "operators");
    await page.keyboard.press("/");
    await page.keyboard.type("flashattention");
    await page.keyboard.press("Enter");
    const first = (await until(async () => (await view_of(page)).selected, "nothing was found"));
    const name = await page.locator("aside.side p.name").textContent();
    check(/FlashAttention/.test(name), `found '${name}'`);
    await page.keyboard.press("Enter");
    const second = await until(async () => {
        const { selected } = await view_of(page);
        return selected !== first ? selected : null;
    }, "Enter does not go to the next");
    await page.keyboard.press("Shift+Enter");
    await until(async () => (await view_of(page)).selected === first, `Shift+Enter does not go back from ${second} to ${first}`);
});

test("Escape in the search and in a filter clears them and gives the keys back to the timeline", async (open) => {
    const { page } = await timeline_of(open, "operators");
    await page.keyboard.press("/");
    await page.keyboard.type("flashattention");
    await page.keyboard.press("Enter");
    await until(async () => (await view_of(page)).selected, "nothing was found");
    for (const enter of [null, () => page.locator("input#filter-name").fill("Mat")]) {
        await enter?.();
        const { begin, end } = await view_of(page);
        await page.keyboard.press("Escape");
        await press(page, "w", 4);
        const after = await view_of(page);
        equal([after.given.get("find"), after.given.get("name")], [null, null], "what is searched and filtered");
        check(after.end - after.begin < (begin === null ? Infinity : end - begin), "W does not zoom after Escape");
    }
});

test("Back goes to the tab before, and from the first one leaves the page", async (open) => {
    const { page } = await timeline_of(open, "trace");
    const shown = () => page.locator("[role=tab][aria-selected=true]").textContent();
    const depth = () => page.evaluate(() => history.length);
    const first = await depth();
    await press(page, "w", 4);
    const { begin, end } = await view_of(page);
    equal(await depth(), first, "entries of the history after a zoom");
    for (const title of ["Operators", "Memory"]) {
        await go_to(page, title);
        await view_of(page);
    }
    equal(await depth(), first + 2, "entries of the history after two tabs");
    await page.goBack();
    await until(async () => (await shown()) === "Operators", "Back does not go to the tab before");
    await page.goBack();
    await until(async () => (await shown()) === "Timeline", "Back does not go to the first tab");
    const back = await view_of(page);
    equal([back.begin, back.end], [begin, end], "what the timeline shows");
    equal(await depth(), first + 2, "entries of the history after going back");
});

test("the plate at the pointer tells of what moving brought below it", async (open) => {
    const { page, at } = await timeline_of(open, "simulation");
    await at(600, 80);
    const seen = new Set();
    for (let i = 0; i < 6; i++) {
        await page.waitForTimeout(200);
        seen.add(JSON.stringify(await page.locator(".tip:visible").allTextContents()));
        await press(page, "d", 3);
    }
    check(seen.size > 1, `the plate stays as it was: ${[...seen].join(" / ")}`);
});

test("a flow of an event leads to the event that launched it and back", async (open) => {
    const { page } = await timeline_of(open, "operators");
    await page.keyboard.press("/");
    await page.keyboard.type("MatMulV2");
    await page.keyboard.press("Enter");
    await until(async () => (await view_of(page)).selected, "nothing was found");
    await page.waitForSelector("aside.side ul.flows button");
    const before = await page.locator("aside.side p.name").textContent();
    await page.locator("aside.side ul.flows button").first().click();
    await until(async () => (await page.locator("aside.side p.name").textContent()) !== before ||
        (await page.locator("aside.side ul.flows li").count()) > 0, "the flow leads nowhere");
    const { selected } = await view_of(page);
    check(selected !== null, "nothing is selected at the other end");
});

test("the side panel is closed by its button, and stays so when the timeline comes back", async (open) => {
    const { page } = await timeline_of(open, "operators");
    const width = async () => (await page.locator("canvas[role=application]").first().boundingBox()).width;
    const before = await width();
    await page.focus("button[aria-controls=side]");
    await page.keyboard.press("Enter");
    equal(await page.getAttribute("button[aria-controls=side]", "aria-expanded"), "false", "the button's state");
    await until(async () => await width() > before + 200, "the timeline does not take the room");
    await go_to(page, "Breakdown");
    await go_to(page, "Timeline");
    check(!(await page.isVisible("aside.side")), "the panel is open again");
    await page.click("button[aria-controls=side]");
    check(await page.isVisible("aside.side"), "the panel does not open");
});

test("filters leave the rows of one rank, and the address keeps them", async (open) => {
    const { page } = await timeline_of(open, "operators");
    const rank = page.locator("aside ~ *, .tools").locator("input.rank, label:has-text('Rank') input").first();
    await rank.fill("2");
    await rank.press("Enter");
    const { given } = await view_of(page);
    equal(given.get("rank"), "2", "rank in the address");
});

test("M marks the pointer, marks are renamed and deleted", async (open) => {
    const { page, at } = await timeline_of(open, "simulation");
    await at(500, 200);
    await page.keyboard.press("m");
    await page.waitForSelector("ul.marks input");
    await page.fill("ul.marks input", "the warm-up ends");
    await page.press("ul.marks input", "Enter");
    const { given } = await view_of(page);
    check((given.get("mark") ?? "").endsWith("the warm-up ends"), `the mark in the address: ${given.get("mark")}`);
    await page.click("ul.marks button[title=Delete]");
    equal((await view_of(page)).given.get("mark"), null, "mark after deleting");
});

test("tabs are walked with the arrow keys, and everything can be reached by Tab", async (open) => {
    const page = await open(pages.simulation.make());
    await page.focus("[role=tab][aria-selected=true]");
    const titles = await page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.textContent));
    for (const title of titles.slice(1)) {
        await page.keyboard.press("ArrowRight");
        equal(await page.locator("[role=tab][aria-selected=true]").textContent(), title, "selected tab");
        equal(await page.evaluate(() => document.activeElement.textContent), title, "focused tab");
    }
    const seen = new Set();
    for (let i = 0; i < 60; i++) {
        await page.keyboard.press("Tab");
        seen.add(await page.evaluate(() => `${document.activeElement.tagName} ${document.activeElement.textContent.slice(0, 20)}`));
    }
    check(seen.size > 5, `Tab reaches only ${[...seen].join(", ")}`);
});

test("the memory tab lists what is held at the pointer, and its sum is the curve's value", async (open) => {
    const page = await open(pages.simulation.make());
    await go_to(page, "Memory");
    const slider = page.locator("input[type=range]").first();
    const number = (text) => Number(text.replace(/[^\d.]/g, ""));
    for (const presses of [3, 40]) {
        await slider.focus();
        for (let i = 0; i < presses; i++) await page.keyboard.press("ArrowRight");
        await page.waitForTimeout(150);
        const total = number(await page.locator(".held-sum b").first().textContent());
        const parts = await page.$$eval(".held-list .legend .quiet", (all) => all.map((part) => part.textContent.split("MB")[0]));
        const sum = parts.map(number).reduce((a, b) => a + b, 0);
        check(total > 0 && Math.abs(sum - total) <= parts.length, `the parts sum up to ${sum} MB, the total is ${total} MB`);
    }
});

test("operators are sorted by a click on a column, and looked for in the timeline", async (open) => {
    const page = await open(pages.operators.make());
    await go_to(page, "Operators");
    const table = page.locator("table.rows").first();
    const head = table.locator("thead button", { hasText: /count|times/i }).first();
    await head.click();
    const sort = await table.locator("th[aria-sort=ascending], th[aria-sort=descending]").count();
    equal(sort, 1, "sorted columns");
    await table.locator("button.find").first().click();
    await until(async () => (await page.locator("[role=tab][aria-selected=true]").textContent()) === "Timeline",
        "the timeline does not open");
    check((await view_of(page)).given.get("find"), "the name is not in the search");
});

test("a table of thousands of rows shows the right ones wherever it is scrolled, with few elements", async (open) => {
    const html = readFileSync(pages.operators.make(), "utf8");
    const [whole, json] = /<script type="application\/json" id="document">([^]*?)<\/script>/.exec(html);
    const doc = JSON.parse(json);
    const table = doc.runs[0].sections.find(({ name }) => name === "operators").tables[0];
    const first = table.rows[0];
    table.rows = Array.from({ length: 5000 }, (_, i) => [`operator_${i}`, ...first.slice(1)]);
    table.sort = null;
    const path = join(folder, "pages", "many-rows.html");
    writeFileSync(path, html.replace(whole, () => whole.replace(json, () => JSON.stringify(doc).replaceAll("<", "\\u003c"))));
    const page = await open(path);
    await go_to(page, "Operators");
    for (const top of [0, 26 * 40, 26 * 45, 26 * 4000, 26 * 3990, 26 * 5000, 0]) {
        await page.evaluate((y) => { document.querySelector(".of-rows.long").scrollTop = y; }, top);
        await page.waitForTimeout(60);
        const seen = await page.evaluate(() => {
            const scroller = document.querySelector(".of-rows.long");
            const { top: from, bottom: to } = scroller.getBoundingClientRect();
            const rows = [...scroller.querySelectorAll("tbody tr[aria-rowindex]")];
            const shown = rows.filter((row) => row.getBoundingClientRect().bottom > from && row.getBoundingClientRect().top < to);
            const right = rows.every((row) => row.querySelector(".name").textContent === `operator_${row.ariaRowIndex - 2}` &&
                row.querySelector(".find").ariaLabel === `Show operator_${row.ariaRowIndex - 2} in the timeline`);
            return { n: rows.length, least: Math.min(...shown.map((row) => row.ariaRowIndex - 2)), n_shown: shown.length, right };
        });
        check(seen.right, `a row has another one's texts at ${top}`);
        check(seen.n < 100, `${seen.n} rows are in the page`);
        const expected = Math.min(top / 26, 5000 - seen.n_shown);
        check(Math.abs(seen.least - expected) <= 2 && seen.n_shown > 10, `at ${top} rows from ${seen.least} on are shown`);
    }
});

test("what is compared is shown with its differences", async (open) => {
    const page = await open(pages.balance.make());
    await go_to(page, "Compare");
    const text = await page.locator("[role=tabpanel]").textContent();
    check(/step/i.test(text) && /[+−-]\d/.test(text), `no difference of the step: ${text.slice(0, 300)}`);
    check(await page.locator("[role=tabpanel] canvas").count() >= 1, "there are no timelines to compare");
    const [first, second] = await page.evaluate(() =>
        JSON.parse(document.getElementById("document").textContent).runs.map(({ timeline }) => timeline.end));
    check(first < second, `the first run is not the shorter one: ${first}, ${second}`);
    await until(async () => Number((await view_of(page)).given.get("t")?.split("~")[1]) > 0.999 * second, "the longer run is not whole");
});

test("the theme is switched and kept", async (open) => {
    const page = await open(pages.simulation.make());
    const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor + getComputedStyle(document.body).color);
    const light = await paper();
    await page.locator("header.top select").first().selectOption("dark");
    const dark = await paper();
    check(light !== dark, "the page keeps its colour");
    equal((await view_of(page)).given.get("theme"), "dark", "theme in the address");
});

test("a damaged address opens the page as if there were none", async (open) => {
    for (const hash of ["#t=5~1&event=99999.1&tab=nothing&run=none", "#t=NaN~Infinity&at=x&mark=~&folded=,,/", "#%E0%A4%A", "#rank=%00"]) {
        const page = await open(pages.simulation.make(), { hash });
        await go_to(page, "Timeline");
    }
});
