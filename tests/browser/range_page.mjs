// Tests a page saved from the timeline's current view: it has the same events as the original page, and hostile names
// stay text.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { check, equal, folder, page_of, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { serve } from "./served.mjs";
import { hostile, write_run } from "./traces.mjs";

/** Save the page of the current view; returns its path. */
async function saved(page, name) {
    await go_to(page, "Timeline");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("button[aria-label^='Save a page']")]);
    const path = join(folder, "pages", `${name}.html`);
    await download.saveAs(path);
    return path;
}

const documentOf = (path) => JSON.parse(/id="document">([^]*?)<\/script>/.exec(readFileSync(path, "utf8"))[1]);

/** Search for a name; returns the side panel's text on the first match. */
async function details_of(page, text) {
    await page.locator("canvas[role=application]").first().focus();
    await page.keyboard.press("/");
    await page.keyboard.type(text);
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside.side p.name");
    await page.waitForSelector("aside.side ul.flows button");
    return (await page.locator("aside.side section").first().textContent()).replace(/\s+/g, " ");
}

test("a page of the range has its events, arguments, arrows and curves, and says what it is", async (open) => {
    const page = await open(pages.operators.make(), { hash: "#tab=timeline&t=2200000~3200000" });
    const path = await saved(page, "range");
    const { timeline, notes } = documentOf(path).runs[0];
    equal([timeline.begin, timeline.end], [2200000, 3200000], "the stretch");
    const whole = documentOf(pages.operators.make()).runs[0].timeline;
    check(timeline.n_events > 300 && timeline.n_events < whole.n_events / 2, `${timeline.n_events} of ${whole.n_events} events`);
    check(timeline.n_arrows > 50 && timeline.n_arrows < whole.n_arrows / 2, `${timeline.n_arrows} of ${whole.n_arrows} arrows`);
    check(timeline.curves.some(({ name, n }) => name === "queue length" && n > 10), "the queue is not there");
    check(notes[0].startsWith("This page holds a stretch"), `it says '${notes[0]}'`);
    const copy = await open(path);
    await go_to(copy, "Timeline");
    equal(await details_of(copy, "flashattention"), await details_of(page, "flashattention"), "details of what is found");
});

test("a page of a served range has the events that the page in a file has", async (open) => {
    const run = write_run(join(folder, "range-run"), 2);
    const file = page_of("range-run", ["trace", run, "--format", "json", "--html", "PAGE"]);
    const { address, end } = await serve(run, join(folder, "served-temporary"));
    try {
        const documents = [];
        for (const [name, target] of [["range-file", file], ["range-served", address]]) {
            const page = await open(target, { hash: "#tab=timeline&t=2200000~2500000" });
            await until(async () => (await page.$$("[role=tab]")).length >= 4, "the figures of the run do not come", 20000);
            documents.push(documentOf(await saved(page, name)).runs[0].timeline);
        }
        const [a, b] = documents.map(({ n_events, n_arrows, row_events, steps, groups }) => ({ n_events, n_arrows, row_events, steps, groups }));
        equal(b, a, "what both pages hold");
    } finally {
        equal(await end(), 0, "exit code after Ctrl-C");
    }
});

test("hostile names in a page of the range are text there too", async (open) => {
    const run = write_run(join(folder, "range-hostile"), 1, { steps: 1, names: hostile });
    const page = await open(page_of("range-hostile", ["trace", run, "--format", "json", "--html", "PAGE"]));
    const copy = await open(await saved(page, "range-hostile-saved"));
    await go_to(copy, "Timeline");
    await details_of(copy, "onerror");
    check((await copy.textContent("aside.side p.name")).includes("<img src=x"), "the name is not as it was");
    equal(await copy.evaluate(() => window.hostile ?? null), null, "what hostile names did");
    equal(await copy.locator("aside.side img, aside.side svg").count(), 0, "elements that names made");
});
