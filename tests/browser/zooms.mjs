// Measures how fast a served trace is in a browser: from the start of the server to its address, from opening the
// address to the first picture with boxes, and every answer while a user zooms and moves. For indexed traces.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { close, evenkeel, launch } from "./harness.mjs";

const OPENINGS = 5;
const ZOOMS = 300;
const COLOURS = 12; // a picture of fewer has no boxes yet

/** Notes when the canvas first has boxes, and the time of each answer: until its last byte is in the browser
 *  (`arrived`), and until the page, which draws meanwhile, has it (`taken`). */
function watch() {
    window.seen = { boxes: 0, shown: 0, arrived: {}, taken: {} };
    const kind = (path) => String(path).split("?")[0].split("/").at(-1);
    new PerformanceObserver((list) => {
        for (const { name, startTime, responseEnd } of list.getEntries())
            if (responseEnd > 0) (window.seen.arrived[kind(name)] ??= []).push(responseEnd - startTime);
    }).observe({ type: "resource" });
    const put = CanvasRenderingContext2D.prototype.putImageData;
    CanvasRenderingContext2D.prototype.putImageData = function (image, ...rest) {
        put.call(this, image, ...rest);
        if (image.height < 100 || window.seen.boxes > 0) return;
        if (new Set(new Uint32Array(image.data.buffer)).size < COLOURS_IN_PAGE) return;
        window.seen.boxes = performance.now();
        requestAnimationFrame(() => requestAnimationFrame(() => (window.seen.shown = performance.now())));
    };
    const own = window.fetch;
    window.fetch = async (path, options) => {
        const begin = performance.now();
        const answer = await own(path, options);
        const bytes = await answer.clone().arrayBuffer().then(({ byteLength }) => byteLength, () => -1); // given up
        if (bytes >= 0) (window.seen.taken[kind(path)] ??= []).push(performance.now() - begin);
        return answer;
    };
}

const at = (list, share) => list[Math.min(list.length - 1, Math.floor(share * list.length))];

function say(what, milliseconds) {
    const list = [...milliseconds].sort((a, b) => a - b);
    console.log(`${what}: median ${at(list, 0.5).toFixed(0)} ms, 95th percentile ${at(list, 0.95).toFixed(0)} ms, ` +
        `worst ${list[list.length - 1].toFixed(0)} ms of ${list.length}`);
}

async function first_picture(browser, address) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
    const page = await context.newPage();
    await page.addInitScript(`(${watch.toString().replace("COLOURS_IN_PAGE", COLOURS)})()`);
    const begin = performance.now();
    await page.goto(address, { waitUntil: "commit" });
    await page.waitForFunction(() => window.seen?.shown > 0, null, { timeout: 60000 });
    return { page, took: performance.now() - begin };
}

/** Keys at places drawn from a fixed sequence: mostly in, then about, then out again. */
async function zoom(page) {
    let state = 7;
    const random = (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
    const canvas = page.locator("canvas[role=application]").first();
    await canvas.focus();
    const box = await canvas.boundingBox();
    for (let i = 0; i < ZOOMS; i++) {
        await page.mouse.move(box.x + 250 + random(box.width - 300), box.y + 100 + random(box.height - 200));
        const key = i % 40 < 22 ? "w" : i % 40 < 34 ? "wwssad"[random(6)] : "s";
        await page.keyboard.down(key);
        await page.waitForTimeout(60 + random(160));
        await page.keyboard.up(key);
        await page.waitForTimeout(60);
        if (i % 40 === 39) await page.keyboard.press("Home");
    }
    await page.waitForTimeout(500);
}

const trace = process.argv[2];
const begin = performance.now();
const server = spawn(evenkeel, ["view", "--serve", trace], { stdio: ["ignore", "pipe", "inherit"] });
const address = await new Promise((resolve, reject) => {
    server.stdout.on("data", (text) => resolve(String(text).trim()));
    server.on("exit", () => reject(new Error("the server does not start")));
});
console.log(`from the start to the address: ${(performance.now() - begin).toFixed(0)} ms`);
const browser = await launch();
const opened = [];
for (let i = 0; i < OPENINGS; i++) opened.push(await first_picture(browser, address));
say("from the address to the first picture", opened.map(({ took }) => took));
const { page } = opened[OPENINGS - 1];
const anew = () => page.evaluate(() => Object.assign(window.seen, { arrived: {}, taken: {} }));
await anew();
await zoom(page);
const answers = await page.evaluate(() => window.seen);
for (const [kind, list] of Object.entries(answers.arrived)) say(`answers to ${kind}`, list);
for (const [kind, list] of Object.entries(answers.taken)) say(`${kind} at hand in the page`, list);
await anew();
const sums = page.waitForSelector("table.sums-table td.number", { timeout: 60000 });
await page.evaluate(() => (location.hash = "#range=0~1e15"));
await sums;
say("slices of sums over everything", (await page.evaluate(() => window.seen)).arrived.sums);
console.log(`memory of the server at most: ${Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1024)} MB`);
await close();
server.kill("SIGINT");
