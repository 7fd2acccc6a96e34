// A small menu at a place of the timeline: the actions for a track or a group. Arrows walk it, Escape and a press
// elsewhere close it, and the focus returns to its old place.

import { element, fill } from "../dom.js";

/** @typedef {{text: string, key: string, act: () => void}} Entry  key: that does the same, "" for none */

/** @param {HTMLElement} root @param {HTMLElement} canvas  that has the focus afterwards */
export function newMenu(root, canvas) {
    const list = element("div", { class: "menu", role: "menu", hidden: true, onkeydown: walk });
    root.append(list);
    const stop = new AbortController();

    function close() {
        if (!list.hidden) {
            list.hidden = true;
            canvas.focus();
        }
    }

    /** @param {KeyboardEvent} event */
    function walk(event) {
        const all = /** @type {HTMLElement[]} */ ([...list.children]);
        const at = all.findIndex((one) => one === document.activeElement);
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (by !== undefined) {
            all[(at + by + all.length) % all.length].focus();
        } else if (event.key === "Escape" || event.key === "Tab") {
            close();
        } else if (event.key !== "Enter" && event.key !== " ") {
            return;
        } else {
            event.stopPropagation();
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    document.addEventListener(
        "pointerdown",
        (event) => {
            if (!list.contains(/** @type {Node} */ (event.target))) {
                list.hidden = true;
            }
        },
        { capture: true, signal: stop.signal },
    );

    return {
        /** @param {number} x @param {number} y @param {string} title @param {Entry[]} entries */
        open(x, y, title, entries) {
            list.setAttribute("aria-label", title);
            fill(
                list,
                entries.map(({ text, key, act }) =>
                    element(
                        "button",
                        {
                            role: "menuitem",
                            tabindex: -1,
                            onclick: () => {
                                close();
                                act();
                            },
                        },
                        text,
                        key === "" ? null : element("kbd", {}, key),
                    ),
                ),
            );
            list.hidden = false;
            const left = Math.max(0, Math.min(x, root.clientWidth - list.offsetWidth - 4));
            const top = Math.max(0, Math.min(y, root.clientHeight - list.offsetHeight - 4));
            list.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
            /** @type {HTMLElement | null} */ (list.firstElementChild)?.focus();
        },
        end: () => stop.abort(),
    };
}
