// Tests that names, arguments and folders that look like markup or script are shown as text.
import { join } from "node:path";
import { check, equal, folder, page_of, test } from "./harness.mjs";
import { go_to } from "./pages.mjs";
import { hostile, write_run } from "./traces.mjs";

test("hostile names and arguments of a trace stay text in every tab", async (open) => {
    const run = write_run(join(folder, "hostile <b>run"), 2, {
        names: hostile, args: (n) => ({ [hostile[n % hostile.length]]: hostile[(n + 1) % hostile.length] }),
    });
    const page = await open(page_of("hostile", ["trace", run, "--format", "json", "--html", "PAGE"]));
    const allowed = await page.evaluate(() => document.querySelectorAll("script, iframe, object, embed, base, link, meta").length);
    for (const tab of await page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.textContent))) {
        await go_to(page, tab);
        equal(await page.evaluate(() => window.hostile ?? null), null, `a script of the trace ran in ${tab}`);
        equal(await page.evaluate(() => document.querySelectorAll("img, svg [onload], [onerror], [onload]").length), 0,
            `elements made of names in ${tab}`);
        equal(await page.evaluate(() => document.querySelectorAll("script, iframe, object, embed, base, link, meta").length), allowed,
            `elements that load something in ${tab}`);
    }
    await go_to(page, "Timeline");
    await page.locator("canvas[role=application]").first().focus();
    await page.keyboard.press("/");
    await page.keyboard.type("onerror");
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside.side p.name");
    await page.waitForSelector("ol.matches li");
    await page.keyboard.press("Escape");
    await page.locator("canvas[role=application]").first().focus();
    await page.keyboard.press("Shift+R");
    await page.waitForSelector("table.events-table tbody tr");
    equal(await page.evaluate(() => document.querySelectorAll("img, svg [onload], [onerror], [onload]").length), 0, "elements made of names in lists");
    const name = await page.locator("aside.side p.name").textContent();
    check(name.includes("<img src=x onerror="), `the name is shown as '${name}'`);
    equal(await page.evaluate(() => window.hostile ?? null), null, "a script of the trace ran");
});
