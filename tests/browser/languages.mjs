// Tests the page in its languages: all visible text except data is translated, nothing is cut off in any language, and
// a change of language keeps the place.
import { readFileSync } from "node:fs";
import { check, equal, page_of, run, test, until } from "./harness.mjs";
import { go_to, pages } from "./pages.mjs";

const layouts = () => page_of("layouts", ["plan", "examples/llama2_13b_3_select.yaml", "--devices", "16", "--device", "910B", "--range", "vpp=1:1",
    "--html", "PAGE"]);
const kinds = { ...Object.fromEntries(["simulation", "sweep", "memory", "estimate", "calibration", "diagnosis", "compare"]
    .map((kind) => [kind, pages[kind].make])), layouts };

/** Text that stays English on purpose: data of files, and names that have no translation in the field. */
const data = [
    "Ascend 910B; 64 GiB from logs; peak implied by published tokens/s and MFU; memory rate, fp32 and links assumed", // of a device file
    "Not Overlapped", "Overlap Analysis", "Scope Layer", "Ascend Hardware", "Group Communication", "Stream", // of traces
    "BODY", "evenkeel calibrate", "select, comm, both, full", "select, comm, both", // of plans, commands and settings
];

/** Visible texts, and those that are read aloud or shown at the pointer, with several consecutive English words. */
function english(names) {
    const found = new Set();
    const look = (text, where) => {
        // Commands, names of files, settings and operators are data.
        let rest = text.replace(/`[^`]*`/g, " ").replace(/“[^”]*”/g, " ");
        for (const name of names) rest = rest.replaceAll(name, " ");
        rest = rest.replace(/\S*[\d_./=\\:%|-]\S*/g, " \u3000 ");
        if (/[A-Za-z]{2,}[,;]? [a-z]{2,}/.test(rest)) found.add(`${where}${text.slice(0, 120)}`);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const { parentElement: parent, data } = walker.currentNode;
        if (!parent.closest("script, style, noscript, pre, code, kbd")) look(data.trim(), "");
    }
    for (const name of ["title", "aria-label", "placeholder", "aria-roledescription"]) {
        for (const node of document.querySelectorAll(`[${name}]`)) look(node.getAttribute(name), `${name}: `);
    }
    return [...found];
}

/** Buttons, labels and heads of tables whose text has more width than they do. */
function cut_off() {
    return [...document.querySelectorAll("button, label, th, h1, h2, h3, summary, .facts dt, [role=tab]")]
        .filter((node) => node.clientWidth > 0 && node.scrollWidth > node.clientWidth + 1 && !node.closest(".unseen, .scroller.of-rows tbody, [hidden]") && !node.matches(".link, .unseen, h1"))
        .map((node) => `${node.tagName} ${node.className}: ${node.textContent.slice(0, 60)} (${node.scrollWidth} > ${node.clientWidth})`);
}

const titles = (page) => page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.textContent));

for (const lang of ["zh", "en"]) {
    test(`in ${lang} nothing is cut off${lang === "en" ? "" : ", and nothing but data is English"}`, async (open) => {
        const wrong = [];
        for (const [kind, make] of Object.entries(kinds).filter(([kind]) => lang !== "en" || ["simulation", "diagnosis", "layouts"].includes(kind))) {
            const page = await open(make(), { width: 1320, height: 900, hash: `#lang=${lang}` });
            equal(await page.evaluate(() => document.documentElement.lang), lang, `language of ${kind}`);
            for (const title of await titles(page)) {
                await go_to(page, title);
                if (lang !== "en") wrong.push(...(await page.evaluate(english, data)).map((text) => `${kind}, ${title}: ${text}`));
                for (const width of [1320, 1024]) {
                    await page.setViewportSize({ width, height: 900 });
                    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
                    wrong.push(...(await page.evaluate(cut_off)).map((text) => `${kind}, ${title}, ${width}: ${text}`));
                }
                await page.setViewportSize({ width: 1320, height: 900 });
            }
            await page.context().close();
        }
        equal(wrong, [], "what a reader sees");
    });
}

test("who changes the language keeps tab, zoom and selection, finds the choice again, and gets back what was there", async (open) => {
    const page = await open(pages.diagnosis.make(), { width: 1320, height: 900, hash: "#tab=timeline&t=200000000~900000000" });
    await page.waitForSelector("canvas[role=application]");
    await page.keyboard.press("/");
    await page.keyboard.type("hcom_receive");
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside.side p.name");
    await page.waitForTimeout(500);
    const address = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    const texts = () => page.evaluate(() => document.getElementById("page").textContent);
    const [before, english_texts] = [await address(), await texts()];
    check(before.event !== undefined && before.tab === "timeline", `nothing is selected: ${JSON.stringify(before)}`);
    const choose = async (label, lang) => {
        await page.focus(`header label:has-text("${label}") select`);
        await page.selectOption(`header label:has-text("${label}") select`, lang);
        await until(() => page.evaluate((wanted) => document.documentElement.lang === wanted, lang), `the page is not ${lang}`);
        await page.waitForSelector("aside.side p.name");
        await page.waitForTimeout(500);
    };
    await choose("Language", "zh");
    equal(await address(), { ...before, lang: "zh" }, "address");
    equal((await titles(page)).slice(0, 2), ["\u65f6\u95f4\u7ebf", "\u8bca\u65ad\u7ed3\u679c"], "tabs");
    equal(await page.evaluate(() => document.activeElement.value), "zh", "focus");
    const again = await page.context().newPage();
    await again.goto(page.url().replace(/#.*/, ""));
    await again.waitForSelector("[role=tab]");
    equal(await again.evaluate(() => document.documentElement.lang), "zh", "language of the page when it is opened again");
    await choose("\u8bed\u8a00", "en");
    equal(await texts(), english_texts, "texts in English again");
});

test("a page that was written in Chinese opens so, and its pictures and pages are so", async (open) => {
    const page = await open(page_of("chinese", ["view", "examples/llama175b_manual.yaml", "examples/llama175b_init.yaml", "--lang", "zh", "--out", "PAGE"]), { hash: "#tab=timeline" });
    equal(await page.evaluate(() => document.documentElement.lang), "zh", "language");
    await page.waitForSelector("aside.side");
    const saved = async (name) => {
        const [download] = await Promise.all([page.waitForEvent("download"), page.click(`aside.side button:text-is("${name}")`)]);
        return readFileSync(await download.path(), "utf8");
    };
    check((await saved("SVG")).includes("\u9636\u6bb5"), "the picture has no stage in Chinese");
    const copy = await saved("\u9875\u9762");
    check(copy.includes('<html lang="zh">') && copy.includes('id="texts-zh"') && copy.includes('"lang":"zh"'), "the page of what is shown is not in Chinese");
    check(run(["view", "--help"]).includes("--lang en|zh"), "the help does not say so");
});
