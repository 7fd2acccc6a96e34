// Helpers of all charts and tables around their picture: a figure with its title and tools, buttons that copy, and
// calls when their width changes.

import { element } from "../dom.js";
import { say } from "../texts.js";

/**
 * A titled part of a tab. @param {string} title @param {(HTMLElement | null)[]} tools
 * @returns {{ part: HTMLElement, body: HTMLElement }}
 */
export function makePart(title, ...tools) {
    const body = element("div", { class: "part-body" });
    const head = element(
        "div",
        { class: "part-head" },
        element("h2", {}, title),
        element("div", { class: "part-tools" }, tools),
    );
    return { part: element("div", { class: "part", role: "group", "aria-label": title }, head, body), body };
}

/** Puts a text into the clipboard, also where a page from a file may not do so directly. */
async function copy(text) {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        const area = element("textarea", { class: "unseen", readonly: true });
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        return done;
    }
}

/** A button that copies the result of `text` and confirms it for a moment. */
export function copyButton(label, text) {
    const button = element("button", { type: "button", "aria-live": "polite" }, label);
    let timer = 0;
    button.addEventListener("click", async () => {
        const done = await copy(text());
        button.textContent = done ? say("Copied") : say("Not allowed");
        clearTimeout(timer);
        timer = window.setTimeout(() => {
            button.textContent = label;
        }, 1500);
    });
    return button;
}

/**
 * A selection of one of several. @param {[string, string][]} options values and texts @param {(value: string) => void}
 * changed
 */
export function choice(label, options, value, changed) {
    const select = element(
        "select",
        { onchange: () => changed(select.value) },
        options.map(([name, text]) => element("option", { value: name, selected: name === value }, text)),
    );
    return element("label", { class: "choice" }, element("span", {}, label), select);
}

/** Calls draw with the width a node has for its content, now and whenever it changes. Returns the function that ends
 * it. */
export function onWidth(node, draw) {
    let width = -1;
    const observer = new ResizeObserver(([entry]) => {
        const now = Math.floor(entry.contentRect.width);
        if (now > 0 && now !== width) draw((width = now));
    });
    observer.observe(node);
    return () => observer.disconnect();
}

/**
 * A difference with its sign: "+3 ms", "−3 ms"; between two percentages in points, so that it is not mistaken for a
 * share of one.
 */
export function signed(format, value, unit) {
    return (value > 0 ? "+" : "") + format.value(value, unit).replace(/%$/, say("points"));
}
