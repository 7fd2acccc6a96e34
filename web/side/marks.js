// The list of marks: places in time with a name given by the reader. They are in the address with the rest.

import { element, fill } from "../dom.js";
import { revealTime } from "../reveal.js";
import { say } from "../texts.js";

/**
 * Add a mark at a time, else at the pointer, or in the middle of the picture.
 * @param {import("../types").State} state @param {number} [at]
 */
export function addMark(state, at) {
    const { pointer, begin, end, marks } = state.view;
    const time = at ?? (pointer !== null && pointer >= begin && pointer <= end ? pointer : (begin + end) / 2);
    const used = new Set(marks.map((mark) => mark.name));
    let number = marks.length + 1;
    while (used.has(say("mark {0}", number))) number++;
    state.set({ marks: [...marks, { time, name: say("mark {0}", number) }].sort((a, b) => a.time - b.time) });
}

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showMarks(root, context) {
    const { state, format } = context;
    const { unit } = context.source.timeline;
    const list = element("ul", { class: "marks" });
    const add = element("button", { onclick: () => addMark(state), title: say("Add a mark at the pointer (M)") }, say("Add"));
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Marks")), add), list);

    /** @param {{ time: number, name: string }} mark @param {number} at */
    function item(mark, at) {
        const rename = (/** @type {Event} */ event) => {
            const name = /** @type {HTMLInputElement} */ (event.target).value;
            state.set({ marks: state.view.marks.map((old, i) => (i === at ? { ...old, name } : old)) });
        };
        const remove = () => {
            state.set({ marks: state.view.marks.filter((_, i) => i !== at) });
            /** @type {HTMLElement} */ (list.querySelectorAll("input")[at] ?? add).focus();
        };
        const moment = format.time(mark.time, unit, (state.view.end - state.view.begin) / 1e3);
        const before = state.view.marks[at - 1];
        const between = before === undefined ? null
            : element("li", { class: "between" }, say("↕ {0} from {1}", format.value(mark.time - before.time, unit === "ns" ? "ns" : "time"), before.name));
        return [between, element("li", {},
            element("input", { value: mark.name, "aria-label": say("Name of the mark at {0}", moment), maxlength: 200, onchange: rename }),
            element("button", { class: "link place", onclick: () => revealTime(state, mark.time), title: say("Show it") }, moment),
            element("button", { onclick: remove, "aria-label": say("Delete {0}", mark.name), title: say("Delete") }, "✕"))];
    }

    function draw() {
        const { marks } = state.view;
        fill(list, marks.length > 0 ? marks.map(item) : element("li", { class: "quiet" }, say("M adds one at the pointer.")));
    }
    draw();
    return state.on(["marks"], draw);
}
