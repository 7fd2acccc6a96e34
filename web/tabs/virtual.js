// A long list of rows of one height, of which only the visible ones (and some above and below) are in the page: two
// spacers replace the rest. Rows that stay visible stay the same elements, so that they keep the focus; those that left
// are filled again for the new rows.

import { element } from "../dom.js";

export const ALL_UP_TO = 200; // rows that are all in the page, and may then be of any height
const BEYOND = 12;

/**
 * @param {HTMLElement} scroller the scrolling element @param {HTMLElement} body the parent of rows, inside the scroller
 * @param {"div" | "tbody"} kind element of body @param {number} height of a row in pixels
 * @param {(row: number, old: HTMLElement | undefined) => HTMLElement} make builds a row, or fills the old one, which is
 *        not shown any more, and returns it
 */
export function virtualRows(scroller, body, kind, height, make) {
    const spacer = () => (kind === "tbody" ? element("tr", { "aria-hidden": "true" }, element("td")) : element("div"));
    const [above, below] = [spacer(), spacer()];
    /** @type {Map<number, HTMLElement>} */
    const shown = new Map();
    /** @type {HTMLElement[]} */
    let spare = [];
    let n = 0;
    body.append(above, below);

    const room = (node, rows) => {
        node.style.display = rows === 0 ? "none" : "";
        node.style.height = `${rows * height}px`;
    };
    const range = () => {
        if (n <= ALL_UP_TO) return [0, n];
        const first = Math.floor(scroller.scrollTop / height) - BEYOND;
        const last = first + Math.ceil(scroller.clientHeight / height) + 2 * BEYOND;
        return [Math.max(0, Math.min(first, n - BEYOND)), Math.min(n, last)];
    };
    const draw = () => {
        const [from, to] = range();
        for (const [row, node] of shown) {
            if (row >= from && row < to) continue;
            if (node.contains(document.activeElement)) scroller.focus({ preventScroll: true });
            node.remove();
            spare.push(node);
            shown.delete(row);
        }
        room(above, from);
        room(below, n - to);
        let next = above.nextSibling;
        for (let row = from; row < to; row++) {
            const node = shown.get(row) ?? make(row, spare.pop());
            if (!shown.has(row)) body.insertBefore(node, next);
            shown.set(row, node);
            next = node.nextSibling;
        }
    };
    const observer = new ResizeObserver(draw);
    observer.observe(scroller);
    scroller.addEventListener("scroll", draw, { passive: true });
    return {
        /** Build all visible rows again: there are `count` now. */
        reset(count) {
            n = count;
            for (const node of shown.values()) node.remove();
            shown.clear();
            spare = [];
            draw();
        },
        /** Scroll so that a row is visible, below `covered` pixels at the top. */
        reveal(row, covered) {
            const [top, room_below] = [row * height, scroller.clientHeight - covered];
            if (top < scroller.scrollTop) scroller.scrollTop = top;
            else if (top + height > scroller.scrollTop + room_below) scroller.scrollTop = top + height - room_below;
            draw();
        },
        row: (row) => shown.get(row) ?? null,
        end: () => observer.disconnect(),
    };
}
