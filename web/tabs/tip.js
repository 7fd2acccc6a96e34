// The tooltip of the element at the pointer or with the focus: one element for the whole page, shown for a place on the
// screen and kept inside the window. Escape hides it.

import { element } from "../dom.js";

/** @type {HTMLElement | null} */
let box = null;

function theBox() {
    if (!box) {
        box = element("div", { class: "page-tip", role: "tooltip", hidden: true });
        document.body.append(box);
        document.addEventListener("keydown", (event) => {
            if (event.key === "Escape") hideTip();
        });
        document.addEventListener("scroll", hideTip, { capture: true, passive: true });
    }
    return box;
}

/**
 * Show a text (line breaks stay) to the lower right of a place in the window, or above it where there is no room; ""
 * shows nothing.
 */
export function showTip(text, x, y) {
    if (text === "") return;
    const tip = theBox();
    tip.textContent = text;
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(x + 12, window.innerWidth - width - 8);
    const below = y + 14 + height < window.innerHeight - 8;
    tip.style.left = `${Math.max(8, left)}px`;
    tip.style.top = `${Math.max(8, below ? y + 14 : y - height - 10)}px`;
}

export function hideTip() {
    if (box) box.hidden = true;
}

/** The tooltip of the element under the pointer while it is there, and of the element with the focus by the
 * keyboard. */
export function giveTip(target, text) {
    const current = () => (typeof text === "function" ? text() : text);
    target.addEventListener("pointermove", (event) => showTip(current(), event.clientX, event.clientY));
    target.addEventListener("pointerleave", hideTip);
    target.addEventListener("focus", () => {
        if (!target.matches(":focus-visible")) return;
        const place = target.getBoundingClientRect();
        showTip(current(), place.left, place.bottom - 8);
    });
    target.addEventListener("blur", hideTip);
}
