// Tests the pictures that the page saves: they show the current view, with names as text, and need no request.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PNG } from "pngjs";
import { check, equal, folder, page_of, test } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";
import { hostile, write_run } from "./traces.mjs";

/** The file that a button saves: {name, bytes}. */
async function saved(page, kind) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`button[aria-label="Save the picture as ${kind}"]`)]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** The content of an SVG file as a browser reads it. */
const read = (page, text) => page.evaluate((svg) => {
    const doc = new DOMParser().parseFromString(svg, "image/svg+xml");
    const all = [...doc.querySelectorAll("*")];
    return {
        error: doc.querySelector("parsererror")?.textContent ?? null,
        tags: [...new Set(all.map((one) => one.tagName))].sort(),
        listeners: all.flatMap((one) => [...one.attributes]).filter(({ name }) => /^on|href/.test(name)).length,
        n_rects: doc.querySelectorAll("rect").length,
        fills: [...new Set([...doc.querySelectorAll("rect")].map((one) => one.getAttribute("fill")))],
        texts: [...doc.querySelectorAll("text")].map((one) => one.textContent),
    };
}, text);

test("the picture of a plan is saved as SVG and PNG: its stages, blocks and curves in the page's colours", async (open) => {
    const page = await open(pages.simulation.make(), { hash: "#tab=timeline&t=0~400&mark=100~here" });
    await go_to(page, "Timeline");
    const { name, bytes } = await saved(page, "SVG");
    equal(name, "llama175b-a-plan-and-its-simulation-timeline.svg", "the file's name");
    const seen = await read(page, bytes.toString("utf8"));
    equal([seen.error, seen.listeners], [null, 0], "errors and links of the file");
    equal(seen.tags, ["path", "rect", "style", "svg", "text", "title"], "elements");
    for (const text of ["stage 0", "stage 15", "memory", "here"]) check(seen.texts.includes(text), `no '${text}' in it`);
    check(seen.n_rects > 300, `${seen.n_rects} shapes`);
    const forward = await page.evaluate(() => getComputedStyle(document.querySelectorAll("ul.colors .swatch.joined")[0]).backgroundColor);
    check(seen.fills.includes(forward.replaceAll(" ", "")), `${forward} is not among ${seen.fills.slice(0, 8)}`);
    const png = await saved(page, "PNG");
    const { width, height } = PNG.sync.read(png.bytes);
    const box = await page.locator("canvas[role=application]").first().boundingBox();
    equal([width, height], [Math.round(box.width), Math.round(box.height)], "size of the PNG");
});

test("hostile names are text in the picture that is saved", async (open) => {
    const run = write_run(join(folder, "hostile <b>run"), 2, { names: hostile, args: () => ({}) });
    const page = await open(page_of("hostile-picture", ["trace", run, "--format", "json", "--html", "PAGE"]), { hash: "#tab=timeline" });
    await go_to(page, "Timeline");
    await page.locator("canvas[role=application]").first().focus();
    await page.mouse.move(640, 400);
    for (let i = 0; i < 25; i++) await page.keyboard.press("w", { delay: 30 });
    await page.waitForTimeout(300);
    const { bytes } = await saved(page, "SVG");
    const seen = await read(page, bytes.toString("utf8"));
    equal([seen.error, seen.listeners], [null, 0], "errors and links of the file");
    check(seen.tags.every((tag) => ["path", "rect", "style", "svg", "text", "title"].includes(tag)), `elements: ${seen.tags}`);
    check(seen.texts.some((text) => /img|svg|script|hostile/.test(text)), `no hostile name is in sight: ${seen.texts.slice(0, 30)}`);
    equal(await page.evaluate(() => window.hostile ?? null), null, "a script of the trace ran");
});
