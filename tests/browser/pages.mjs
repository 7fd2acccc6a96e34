// Tests that every kind of page opens from a file, shows its tabs, and reports no error, and that the first tab of each
// looks as before.
import { join } from "node:path";
import { check, equal, folder, page_of, same_picture, test, until } from "./harness.mjs";
import { write_run } from "./traces.mjs";

const model = ["--init", "examples/llama175b_init.yaml", "-m", "llama175b", "-mem", "56000", "--format", "json"];
const pipeline = ["-s", "16", "-i", "1", "-mb", "16"]; // one chunk a stage: proved at once, so the answer is always the same

/** Pages by kind: how evenkeel makes each, and the tabs that it must have. */
export const pages = {
    simulation: {
        make: () => page_of("simulation", ["simulate", "examples/llama175b_manual.yaml", ...model, "-mb", "16", "--html", "PAGE"]),
        tabs: ["Timeline", "Plan", "Breakdown", "Layers", "Memory"],
    },
    balance: {
        make: () => page_of("balance", ["balance", ...model, ...pipeline, "-naive", "1", "-t", "60", "--html", "PAGE"]),
        tabs: ["Timeline", "Plan", "Breakdown", "Layers", "Memory", "Compare"],
    },
    sweep: {
        make: () => page_of("sweep", ["balance", ...model, "-s", "16", "-i", "1", "-mb", "16", "--sweep", "mem=50000:70000:10000", "-t", "60",
            "--html", "PAGE"]),
        tabs: ["Sweep"],
    },
    uniform: {
        make: () => page_of("uniform", ["simulate", "--uniform", "forward=2,backward_input=2,backward_weight=2", "-s", "8", "-mb", "16",
            "--schedule", "zb-h1", "--format", "json", "--html", "PAGE"]),
        tabs: ["Timeline"],
    },
    memory: {
        make: () => page_of("memory", ["memory", "examples/llama175b_train.yaml", "--measures", "--format", "json", "--html", "PAGE"]),
        tabs: ["Memory"],
    },
    estimate: {
        make: () => page_of("estimate", ["estimate", "examples/run/train.yaml", "--device", "910B", "--against", "examples/run/profile",
            "--format", "json", "--html", "PAGE"]),
        tabs: ["Estimate", "Memory"],
    },
    calibration: {
        make: () => page_of("calibration", ["calibrate", "examples/calibrate/runs.csv", "--holdout", "0.25", "-o", join(folder, "cluster.yaml"),
            "--format", "json", "--html", "PAGE"]),
        tabs: ["Calibration"],
    },
    trace: {
        make: () => page_of("trace", ["trace", "examples/trace", "--format", "json", "--html", "PAGE"]),
        tabs: ["Timeline", "Breakdown", "Layers", "Operators", "Communication", "Memory"],
    },
    operators: {
        make: () => page_of("operators", ["trace", write_run(join(folder, "run"), 4), "--format", "json", "--html", "PAGE"]),
        tabs: ["Timeline", "Breakdown", "Operators", "Communication"],
    },
    diagnosis: {
        make: () => page_of("diagnosis", ["diagnose", "examples/run", "--device", "910B", "--limit", "58GB", "--html", "PAGE"]),
        tabs: ["Findings", "Timeline", "Breakdown"],
    },
    view: {
        make: () => page_of("view", ["view", "examples/run", "--out", "PAGE"]),
        tabs: ["Timeline", "Breakdown", "Findings"],
    },
    compare: {
        make: () => page_of("compare", ["view", "examples/trace/rank_0", "--against", "examples/trace/rank_1", "--out", "PAGE"]),
        tabs: ["Timeline", "Breakdown", "Compare"],
    },
};

const titles = (page) => page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.textContent));

/** Go to a tab and wait until it has something in it. */
export async function go_to(page, title) {
    await page.click(`[role=tab]:text-is("${title}")`);
    await page.waitForFunction(() => document.querySelector("[role=tabpanel]")?.childElementCount > 0);
    await page.waitForTimeout(100);
}

/** A page with its timeline to the fore, which has the keys, and where that is. */
export async function timeline_of(open, path, hash = "#tab=timeline") {
    const page = await open(path, { hash });
    await go_to(page, "Timeline");
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    return { page, box: await canvas.boundingBox() };
}

for (const [kind, { make, tabs }] of Object.entries(pages)) {
    test(`the page of kind ${kind} opens, and each of its tabs shows something`, async (open) => {
        const page = await open(make());
        const there = await titles(page);
        equal(tabs.filter((tab) => !there.includes(tab)), [], `tabs that are missing among ${there.join(", ")}`);
        for (const title of there) {
            await go_to(page, title);
            const box = await page.locator("[role=tabpanel]").boundingBox();
            check(box.width > 300 && box.height > 200, `${title} has ${box.width} x ${box.height} pixels`);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            check(wide <= 0, `${title} is ${wide} pixels wider than the window`);
            equal(await page.$$eval("[role=alert]", (all) => all.map((alert) => alert.textContent).filter(Boolean)), [],
                `errors in ${title}`);
        }
    });
}

test("the tab that says most of a page opens first, unless the address names another", async (open) => {
    const first = { simulation: "Timeline", sweep: "Sweep", estimate: "Estimate", calibration: "Calibration", memory: "Memory", trace: "Timeline", diagnosis: "Findings", compare: "Timeline" };
    for (const [kind, title] of Object.entries(first)) {
        const page = await open(pages[kind].make());
        equal(await page.textContent("[role=tab][aria-selected=true]"), title, `first tab of ${kind}`);
    }
    const page = await open(pages.diagnosis.make(), { hash: "#tab=timeline" });
    equal(await page.textContent("[role=tab][aria-selected=true]"), "Timeline", "tab of the address");
});

test("two timelines that are compared have room for rows and curves, and a part that is gone to leaves the page in place", async (open) => {
    const page = await open(pages.compare.make());
    await go_to(page, "Compare");
    await page.click(".contents >> text=Timelines");
    const box = await page.locator(".timeline-pair").boundingBox();
    check(box.height >= 520, `the timelines are ${box.height} pixels high`);
    check(box.y > 100 && box.y + box.height <= 720, `the timelines stand at ${box.y}`);
    equal(await page.evaluate(() => [document.documentElement.scrollTop, document.documentElement.scrollHeight]), [0, 720],
        "the window's own scroll and height");
});

test("the table of peaks has low rows and says where each is, on paper and in forced colours bars keep theirs", async (open) => {
    const page = await open(pages.memory.make());
    await go_to(page, "Memory");
    const seen = await page.evaluate(() => {
        const part = document.querySelector('.part[aria-label^="The peak of every stage"]');
        const { right } = part.querySelector(".scroller").getBoundingClientRect();
        const heads = [...part.querySelectorAll("th")];
        const at = heads.find((head) => head.textContent === "Peak is in");
        const cells = [...part.querySelectorAll("tbody tr[aria-rowindex]")].map((row) => [...row.children].map((cell) => cell.textContent));
        return { height: Math.max(...[...part.querySelectorAll("tbody tr")].map((row) => row.offsetHeight)),
            in_sight: at.getBoundingClientRect().right <= right,
            empty: heads.filter((_, i) => cells.every((row) => row[i] === "")).length };
    });
    check(seen.height <= 46, `a row is ${seen.height} pixels high`);
    check(seen.in_sight, "where the peak is is out of sight");
    equal(seen.empty, 0, "columns without anything");
    const look = () => page.evaluate(() => {
        const { backgroundColor, printColorAdjust, outlineStyle } = getComputedStyle(document.querySelector(".segment"));
        return { backgroundColor, printColorAdjust, outlineStyle };
    });
    const screen = await look();
    await page.emulateMedia({ media: "print" });
    const paper = await look();
    equal([paper.backgroundColor, paper.printColorAdjust], [screen.backgroundColor, "exact"], "a bar on paper");
    await page.setViewportSize({ width: 794, height: 1123 }); // A4
    await until(() => page.evaluate(() => document.querySelector("table.rows").getBoundingClientRect().right <= innerWidth &&
        [...document.querySelectorAll("table.rows .place, table.rows .sought > button")].every((node) => node.offsetWidth === 0)),
        "a table as wide as the paper, without what is clicked");
    await page.setViewportSize({ width: 1280, height: 720 });
    await page.emulateMedia({ media: "screen", forcedColors: "active" });
    const forced = await look();
    equal([forced.backgroundColor, forced.outlineStyle], [screen.backgroundColor, "solid"], "a bar in forced colours");
    await page.emulateMedia({ forcedColors: "none" });
    await go_to(page, "Timeline");
    check(/There is no timeline: .*Give/.test(await page.textContent("[role=tabpanel]")), "nothing says why there is no timeline");
});

test("on a small window the side panel's button stays on the first line of tools, whatever the search says", async (open) => {
    for (const kind of ["diagnosis", "operators", "simulation"]) {
        const page = await open(pages[kind].make(), { width: 1024, height: 768, hash: "#tab=timeline&find=a" });
        await page.waitForSelector(".tools .found:not(:empty)");
        await page.waitForTimeout(300);
        const [tools, button] = await page.evaluate(() => [".tools", ".to-side"].map((name) => document.querySelector(name).getBoundingClientRect().toJSON()));
        check(button.top - tools.top < 12 && button.right <= 1024, `the button of ${kind} stands at ${button.left}, ${button.top - tools.top} below the tools`);
    }
});

test("settings of measures are shown whole, however long", async (open) => {
    const page = await open(pages.memory.make(), { width: 1024, height: 768 });
    await go_to(page, "Memory");
    const seen = await page.evaluate(() => {
        const part = document.querySelector('.part[aria-label^="Saving of each setting"]');
        const at = [...part.querySelectorAll("th")].findIndex((head) => head.textContent.startsWith("Setting"));
        const names = [...part.querySelectorAll("tbody tr[aria-rowindex]")].map((row) => row.children[at].querySelector(".name"));
        return { n: names.length, cut: names.filter((name) => name.scrollHeight > name.clientHeight + 1 && getComputedStyle(name).overflow === "hidden").length,
            shortened: names.filter((name) => name.textContent.includes("\u2026")).length,
            tall: names.filter((name) => name.getBoundingClientRect().height > 44).length };
    });
    check(seen.n > 20 && seen.tall > 0, `of ${seen.n} settings ${seen.tall} take more than two lines`);
    equal([seen.cut, seen.shortened], [0, 0], "settings that are cut, and shortened");
});

for (const [kind, title] of [["simulation", "Timeline"], ["simulation", "Breakdown"], ["simulation", "Memory"], ["balance", "Compare"],
    ["sweep", "Sweep"], ["memory", "Memory"], ["trace", "Layers"], ["operators", "Timeline"], ["operators", "Operators"],
    ["operators", "Communication"], ["diagnosis", "Findings"], ["estimate", "Estimate"], ["calibration", "Calibration"]]) {
    for (const dark of [false, true]) {
        if (dark && !["Timeline", "Findings", "Memory", "Estimate"].includes(title)) continue;
        const name = `${kind}-${title.toLowerCase()}${dark ? "-dark" : ""}`;
        test(`${title} of ${kind} looks as it did, ${dark ? "dark" : "light"}`, async (open) => {
            const page = await open(pages[kind].make(), { dark });
            await go_to(page, title);
            await until(async () => (await page.$$("[aria-busy=true]")).length === 0, "the page is still busy");
            await page.waitForTimeout(300);
            await same_picture(page, name);
        });
    }
}

test("the documents' picture of a simulated plan is what the page shows", async (open) => {
    const page = await open(pages.simulation.make());
    await go_to(page, "Timeline");
    const box = await page.locator("canvas[role=application]").first().boundingBox();
    await page.mouse.click(box.x + 480, box.y + 150);
    await page.waitForSelector("aside.side p.name");
    await page.mouse.move(box.x + 480, box.y + 150);
    await page.waitForTimeout(600);
    await same_picture(page, "view-plan");
});

test("the documents' picture of a run's timeline is what the page shows", async (open) => {
    const page = await open(pages.diagnosis.make(), { hash: "#tab=timeline" });
    await go_to(page, "Timeline");
    await page.keyboard.press("/");
    await page.keyboard.type("hcom_receive");
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside.side p.name");
    await page.fill("input[aria-label='Search names of events']", "");
    await page.locator("canvas[role=application]").first().focus();
    await page.keyboard.press("Home");
    await page.waitForTimeout(600);
    await same_picture(page, "view-run");
});

test("the documents' picture of findings is what the page shows", async (open) => {
    const page = await open(pages.diagnosis.make());
    await go_to(page, "Findings");
    await page.waitForTimeout(300);
    await same_picture(page, "view-findings");
});
