// The list of keys, as a dialog of the browser's own: it keeps the focus, and Escape closes it.

import { element } from "./dom.js";

/** @type {[string[], string][]} */
const keys = [
    [["W", "S"], "zoom in and out at the pointer; + and − as well"],
    [["A", "D"], "move left and right; ← and → as well"],
    [["wheel"], "zoom at the pointer; with Shift move, with Ctrl or over the names scroll"],
    [["drag"], "select a range of time and see its sums"],
    [["click"], "select an event and see its details"],
    [["↑", "↓"], "scroll the rows"],
    [["Z"], "show just the range, or the selected event"],
    [["0"], "show everything"],
    [["M"], "mark the time under the pointer"],
    [["/"], "search"],
    [["Enter"], "next match; with Shift the one before"],
    [["Esc"], "let go of what is selected"],
    [["?"], "these keys"],
];

export function showHelp() {
    const old = document.querySelector("dialog.help");
    if (old !== null) return;
    const close = element("button", { onclick: () => dialog.close(), autofocus: true }, "Close");
    const dialog = element("dialog", { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
        element("h2", { id: "help-title" }, "Keys"),
        element("dl", { class: "keys" }, keys.map(([names, text]) => [
            element("dt", {}, names.map((name, i) => [i > 0 ? " " : null, element("kbd", {}, name)])),
            element("dd", {}, text),
        ])),
        close);
    document.body.append(dialog);
    dialog.showModal();
}
