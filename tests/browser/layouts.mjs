// Tests the page of `plan`: both charts describe layouts, brushes work on both, a plan leads to its timeline, and all
// of it by the keyboard too. Without the command the tests are skipped.
import { check, equal, page_of, run, same_picture, test, until } from "./harness.mjs";
import { go_to } from "./pages.mjs";

const has_plan = /^ {2}plan\s/m.test(run(["--help"]));
const of_plan = (name, run_test) => has_plan && test(name, run_test);
const make = () => page_of("layouts", ["plan", "examples/llama2_13b_3_select.yaml", "--devices", "16", "--device", "910B", "--range", "vpp=1:1",
    "--html", "PAGE"]);

async function charts_of(open, options) {
    const page = await open(make(), options);
    await page.waitForSelector("canvas.layouts-chart");
    await until(async () => (await page.$$("[aria-busy=true]")).length === 0, "the page is still busy");
    await page.waitForTimeout(200);
    const [scatter, across] = await page.$$("canvas.layouts-chart");
    return { page, scatter, across, kept: () => page.textContent(".part .count") };
}

const selected = (page) => page.textContent(".layouts-selected");
const tab = (page) => page.textContent("[role=tab][aria-selected=true]");

of_plan("layouts open with the best one selected, and all tabs show something", async (open) => {
    const { page } = await charts_of(open);
    equal(await tab(page), "Layouts", "first tab");
    equal(await page.$$eval("[role=tab]", (tabs) => tabs.map((one) => one.textContent)), ["Layouts", "Plans"], "tabs");
    check((await selected(page)).includes("Plan 1:"), "the best plan is not selected");
    equal(await page.$$eval(".layouts-selected ol li", (all) => all.length), 10, "plans that are listed");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `the page is ${wide} pixels wider than the window`);
    await go_to(page, "Plans");
    equal(await page.$$eval(".of-table h2", (all) => all.map((one) => one.textContent.split(":")[0])), ["The best plans", "The front", "Why not the others"],
        "tables");
});

of_plan("what the keyboard goes to in the scatter is told and selected, and a plan's timeline opens", async (open) => {
    const { page, scatter } = await charts_of(open);
    await scatter.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    const first = await selected(page);
    await page.keyboard.press("ArrowRight");
    check((await page.textContent(".page-tip")).includes("step"), "no words beside the layout");
    await page.keyboard.press("Enter");
    check((await selected(page)) !== first, "the next layout is not selected");
    await page.click(".layouts-selected ol button >> nth=1");
    check((await selected(page)).includes("Plan 2:"), "plan 2 is not selected from the list");
    await page.click("text=Its timeline");
    await page.waitForSelector("canvas[role=application]");
    equal(await tab(page), "Timeline", "tab of a plan");
    equal(await page.$eval("header select", (select) => select.selectedOptions[0].textContent), "plan 2", "run");
    await page.waitForTimeout(400);
    const box = await page.locator("canvas[role=application]").first().boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + 75);
    await page.waitForSelector("aside.side p.name");
    check(/^[FB]\d+$/.test(await page.textContent("aside.side p.name")), "no block of the plan is selected");
    await page.goBack();
    await page.waitForSelector("canvas.layouts-chart");
});

of_plan("a click near a mark selects it, one where nothing is lets go", async (open) => {
    const { page, scatter } = await charts_of(open);
    await page.selectOption("label.choice:has-text('Show') select", "near");
    const box = await scatter.boundingBox();
    // Where it is, by events that the page makes itself: the pointer's own take some milliseconds each.
    const place = await scatter.evaluate((canvas) => {
        const { left, top, width, height } = canvas.getBoundingClientRect();
        for (let x = left + 80; x < left + width - 20; x += 6)
            for (let y = top + 30; y < top + height - 60; y += 12) {
                canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
                const tip = document.querySelector(".page-tip");
                if (tip && !tip.hidden && tip.textContent.includes("Plan 7:")) return { x, y };
            }
        return null;
    });
    check(place !== null, "plan 7 is nowhere under the pointer");
    await page.mouse.move(place.x, place.y);
    await page.mouse.click(place.x, place.y);
    check((await selected(page)).includes("Plan 7:"), "a click on plan 7 does not select it");
    await page.mouse.click(box.x + 300, box.y + box.height - 5);
    check((await selected(page)).includes("Click a layout"), "a click on nothing does not let go");
});

of_plan("a brush keeps what lies in it on both charts, and is taken away again", async (open) => {
    const { page, across, kept } = await charts_of(open);
    const frame = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const number = async () => {
        await frame();
        return Number(/^[\d\s]+/.exec(await kept())[0].replace(/\s/g, ""));
    };
    const all = await number();
    check(all > 500, `${all} layouts`);
    await across.scrollIntoViewIfNeeded();
    const box = await across.boundingBox();
    await page.mouse.move(box.x + 52, box.y + 34); // the top of dp
    await page.mouse.down();
    await page.mouse.move(box.x + 52, box.y + 60, { steps: 4 });
    await page.mouse.up();
    const some = await number();
    check(some > 0 && some < all, `${some} of ${all} are left by a brush`);
    await page.mouse.click(box.x + 52, box.y + 150);
    equal(await number(), all, "layouts after a click on the axis");
    await across.focus();
    await page.keyboard.press("ArrowRight"); // tp
    await page.keyboard.press("ArrowUp"); // its least value
    const one = await number();
    check(one > 0 && one < all, `${one} of ${all} are left by the keyboard`);
    await page.keyboard.press("ArrowUp");
    check((await number()) !== one, "the next value keeps as many");
    await page.keyboard.press("Escape");
    equal(await number(), all, "layouts after Escape");
});

of_plan("layouts are not compared with plans, and plans are with each other", async (open) => {
    const { page } = await charts_of(open);
    await page.selectOption("header select", "2");
    await page.waitForSelector("[role=tab]:text-is('Compare')");
    await go_to(page, "Compare");
    equal(await page.$$eval(".chooser select", (all) => all.map((one) => one.selectedOptions[0].textContent)), ["plan 2", "plan 1"], "runs compared");
    check(!(await page.$$eval(".chooser option", (all) => all.map((one) => one.textContent))).includes("layouts"), "layouts can be compared");
});

for (const dark of [false, true]) {
    for (const [title, name] of [["Layouts", "layouts"], ["Plans", "layouts-plans"]]) {
        if (dark && title === "Plans") continue;
        of_plan(`${title} of a search look as they did, ${dark ? "dark" : "light"}`, async (open) => {
            const { page } = await charts_of(open, { dark, height: 1060 });
            await go_to(page, title);
            await until(async () => (await page.$$("[aria-busy=true]")).length === 0, "the page is still busy");
            await page.waitForTimeout(300);
            await same_picture(page, `${name}${dark ? "-dark" : ""}`);
        });
    }
}

of_plan("charts have a ground and colours of their own where the system gives those of elements", async (open) => {
    for (const theme of ["light", "dark"]) {
        const { page } = await charts_of(open, { hash: `#theme=${theme}` });
        // The opposite of the system's setting.
        await page.emulateMedia({ forcedColors: "active", colorScheme: theme === "light" ? "dark" : "light" });
        await page.waitForTimeout(300);
        const [ground, marks] = await page.evaluate(() => {
            const canvas = document.querySelector("canvas.layouts-chart");
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const seen = new Map();
            for (let i = 0; i < data.length; i += 4) {
                const color = data.slice(i, i + 4).join(",");
                seen.set(color, (seen.get(color) ?? 0) + 1);
            }
            return [data.slice(0, 4).join(","), [...seen].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([color]) => color)];
        });
        equal(ground, theme === "light" ? "255,255,255,255" : "22,25,30,255", `the ground of the ${theme} chart`);
        equal(marks[0], ground, "what most of the chart is");
        check(!marks.includes(theme === "light" ? "0,0,0,255" : "255,255,255,255"), `grid lines as strong as marks: ${marks.join(" ")}`);
    }
});
