// The list of keys, as a dialog of the browser's own: it keeps the focus, and Escape closes it.

import { element } from "./dom.js";
import { timelineKeys } from "./timeline/tab.js";
import { key, say } from "./texts.js";

/** Of the page; the timeline lists its own. @type {string[][]} */
const page_keys = [
    [key("drag"), key("select a range of time and see its sums and events; with Shift, of some tracks alone")],
    [key("click"), key("select an event and see its details")],
    ["/", key("search")],
    ["Enter", key("in the search: next match; with Shift the one before")],
    ["Left, Right", key("in the row of tabs: the tab beside")],
    ["?", key("these keys")],
];

export function showHelp() {
    const old = document.querySelector("dialog.help");
    if (old !== null) return;
    const close = element("button", { onclick: () => dialog.close(), autofocus: true }, say("Close"));
    const dialog = element("dialog", { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
        element("h2", { id: "help-title" }, say("Keys")),
        element("dl", { class: "keys" }, [...timelineKeys, ...page_keys].map(([key, text]) => [
            element("dt", {}, key.split(/,? /).map((name, i) => [i > 0 ? " " : null, element("kbd", {}, say(name))])),
            element("dd", {}, say(text)),
        ])),
        close);
    document.body.append(dialog);
    dialog.showModal();
}
