// The description of the target under the pointer, in a small plate beside it, and one line for screen readers. Names
// are only ever text.

import { element, fill } from "../dom.js";
import { cut } from "./labels.js";

const LONGEST = 300; // letters of a name

/** @param {HTMLElement} root */
export function newTip(root) {
    const tip = element("div", { class: "tip", hidden: true });
    const said = element("div", { class: "said", role: "status", "aria-live": "polite" });
    root.append(tip, said);
    let shown = "";
    return {
        hide() {
            tip.hidden = true;
            shown = "";
        },
        /** @param {number} x @param {number} y @param {string} name @param {string[]} lines */
        show(x, y, name, lines) {
            const title = cut(name, LONGEST);
            const next = [title, ...lines].join("\n");
            if (next !== shown) {
                fill(
                    tip,
                    element("b", {}, title),
                    lines.map((line) => element("div", {}, line)),
                );
                shown = next;
            }
            tip.hidden = false;
            const left = x + 14 + tip.offsetWidth > root.clientWidth ? x - 10 - tip.offsetWidth : x + 14;
            const top = y + 18 + tip.offsetHeight > root.clientHeight ? y - 10 - tip.offsetHeight : y + 18;
            tip.style.transform = `translate(${Math.round(Math.max(0, left))}px, ${Math.round(Math.max(0, top))}px)`;
        },
        /** @param {string} text */
        say(text) {
            said.textContent = cut(text, 2 * LONGEST);
        },
    };
}
