// Harness of the browser tests: pages made by evenkeel, a browser that fails a test on any reported error and on any
// request that leaves the page, comparison of pictures with a tolerance, and TAP.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

export const evenkeel = process.env.EK_EVENKEEL;
export const folder = process.env.EK_FOLDER;
export const root = process.env.EK_SOURCE_ROOT ?? process.cwd();
const golden_folder = process.env.EK_GOLDEN;
const update = Boolean(process.env.EK_UPDATE_GOLDEN);

// Machines draw text slightly differently: a pixel differs from PIXEL_THRESHOLD on (as a share of the largest possible
// difference), a picture when more than PICTURE_SHARE of its pixels do.
const PIXEL_THRESHOLD = 0.2;
const PICTURE_SHARE = 0.015;

const tests = [];

/** A test: `run` gets the argument of open(). Names are sentences. */
export function test(name, run) {
    tests.push({ name, run });
}

export function check(condition, message) {
    if (!condition) throw new Error(message);
}

export function equal(actual, expected, message) {
    const [a, e] = [JSON.stringify(actual), JSON.stringify(expected)];
    if (a !== e) throw new Error(`${message}: got ${a}, expected ${e}`);
}

/** Wait until `probe` gives something true; its last value. */
export async function until(probe, message, milliseconds = 10000) {
    const end = Date.now() + milliseconds;
    for (;;) {
        const value = await probe();
        if (value) return value;
        if (Date.now() > end) throw new Error(`not within ${milliseconds} ms: ${message}`);
        await new Promise((resolve) => setTimeout(resolve, 25));
    }
}

/** Run evenkeel; its standard output. */
export function run(args, options = {}) {
    return execFileSync(evenkeel, args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28, ...options });
}

/** The path of the page that these arguments write, made once. `PAGE` among them is replaced by its path. */
export function page_of(name, args) {
    const path = join(folder, "pages", `${name}.html`);
    mkdirSync(join(folder, "pages"), { recursive: true });
    if (!made.has(name)) {
        rmSync(path, { force: true });
        run(args.map((arg) => (arg === "PAGE" ? path : arg)));
        made.add(name);
    }
    return path;
}
const made = new Set();

let browser = null;

/** The browser, started when it is first needed. */
export async function launch() {
    browser ??= await chromium.launch({
        executablePath: process.env.EK_CHROMIUM,
        args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--font-render-hinting=none"],
    });
    return browser;
}

/** Open a page: a path, or an address. A forbidden action of the page is an error of the test: see `errors`. */
export async function open(target, { dark = false, width = 1280, height = 720, hash = "" } = {}) {
    const context = await (await launch()).newContext({
        viewport: { width, height }, deviceScaleFactor: 1, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce",
        permissions: ["clipboard-read", "clipboard-write"],
    });
    const page = await context.newPage();
    const address = /^http:/.test(target) ? target : `file://${target}`;
    const origin = new URL(address);
    page.errors = [];
    page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) page.errors.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => page.errors.push(`exception: ${error.stack ?? error.message}`));
    page.on("request", (request) => {
        const url = new URL(request.url());
        const inside = url.protocol === "data:" || url.protocol === "blob:" ||
            (origin.protocol === "file:" ? url.pathname === origin.pathname && url.protocol === "file:"
                : url.origin === origin.origin);
        if (!inside) page.errors.push(`a request left the page: ${url}`);
    });
    opened.push(context);
    await page.goto(address + hash);
    await page.waitForSelector("[role=tablist]");
    return page;
}
const opened = [];

/** Close all pages of the test: before their server ends, since they may still send requests. */
export async function close_pages() {
    for (const context of opened.splice(0)) await context.close().catch(() => {});
}

/** Where the picture of a name is: those called view-* are in the documents. */
function picture_path(name) {
    return name.startsWith("view-") ? join(root, "docs", "pictures", `${name}.png`) : join(golden_folder, `${name}.png`);
}

/** Hold the page (or a part of it) against the picture of that name. */
export async function same_picture(page, name, locator = null) {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const bytes = await (locator ?? page).screenshot({ animations: "disabled", caret: "hide" });
    const path = picture_path(name);
    const failed = join(folder, "failed");
    if (update) {
        writeFileSync(path, bytes);
        return;
    }
    mkdirSync(failed, { recursive: true });
    if (!existsSync(path)) {
        writeFileSync(join(failed, `${name}.png`), bytes);
        throw new Error(`there is no ${path}; EK_UPDATE_GOLDEN=1 writes it`);
    }
    const [seen, expected] = [PNG.sync.read(bytes), PNG.sync.read(readFileSync(path))];
    const size = [seen.width, seen.height];
    equal(size, [expected.width, expected.height], `size of ${name}.png`);
    const difference = new PNG({ width: size[0], height: size[1] });
    const n = pixelmatch(seen.data, expected.data, difference.data, size[0], size[1], { threshold: PIXEL_THRESHOLD });
    const share = n / (size[0] * size[1]);
    if (share > PICTURE_SHARE) {
        writeFileSync(join(failed, `${name}.png`), bytes);
        writeFileSync(join(failed, `${name}-difference.png`), PNG.sync.write(difference));
        throw new Error(`${(100 * share).toFixed(2)} % of the pixels of ${name}.png differ (allowed ` +
            `${100 * PICTURE_SHARE} %); see ${failed}`);
    }
}

/** Run the tests with one of `words` in their names, in order; exit 1 when one failed. */
export async function main(words) {
    const chosen = tests.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
    console.log(`1..${chosen.length}`);
    let failed = 0;
    for (const [i, { name, run: body }] of chosen.entries()) {
        let problem = null;
        const pages = [];
        try {
            await body(async (...args) => {
                const page = await open(...args);
                pages.push(page);
                return page;
            });
            const errors = pages.flatMap((page) => page.errors);
            if (errors.length > 0) problem = errors.join("\n");
        } catch (error) {
            problem = [error.stack ?? String(error), ...pages.flatMap((page) => page.errors)].join("\n");
        }
        await close_pages();
        failed += problem ? 1 : 0;
        console.log(`${problem ? "not ok" : "ok"} ${i + 1} - ${name}`);
        if (problem) console.log(problem.replace(/^/gm, "# "));
    }
    await close();
    process.exit(failed > 0 ? 1 : 0);
}

export async function close() {
    await browser?.close();
}
