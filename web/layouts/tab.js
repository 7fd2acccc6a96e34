// The tabs of a search for layouts: all of them as step against memory and across their axes, with a common selection
// and common brushes; and the best plans, of which each leads to its timeline.

import { inflate } from "../document.js";
import { element, fill } from "../dom.js";
import { messageOf } from "../errors.js";
import { firstView } from "../state.js";
import { sectionsOf, showPage, showSection } from "../tabs/section.js";
import { showTable } from "../tabs/table.js";
import { showCoordinates } from "./coordinates.js";
import { showScatter } from "./scatter.js";
import { decodeSpace, wordsOf } from "./space.js";
import { key, say } from "../texts.js";

/**
 * The common state of the charts.
 * @typedef {object} Shared
 * @property {import("./space.js").Space} space
 * @property {number} selected  a point; -1
 * @property {Uint8Array | null} inside  which points are brushed; null: all
 * @property {(i: number) => void} select
 * @property {(inside: Uint8Array | null) => void} keep
 * @property {(i: number) => string} textOf
 */

/** Decoded once for a section, since a change of colours builds the tab again. @type {WeakMap<object, import("./space.js").Space>} */
const decoded = new WeakMap();

/** Show another run's timeline; theme and the like stay. @param {import("../types").Context} context @param {number} run */
function openTimeline(context, run) {
    const { state, document } = context;
    const { theme, lang, arrows } = state.view;
    const tab = document.runs[run].timeline === null ? "estimate" : "timeline";
    state.set({ ...firstView(document, run), theme, lang, arrows, tab });
}

/** @param {import("../types").Context} context @param {number} run */
function timelineButton(context, run) {
    const what = context.document.runs[run].timeline === null ? say("Its estimate") : say("Its timeline");
    return element("button", { type: "button", onclick: () => openTimeline(context, run) }, what);
}

/** The properties of a point, a line each. @param {import("./space.js").Space} space @param {import("../types").Format} format @param {number} i */
function textOf(space, format, i) {
    const found = space.number.found[i] === 1;
    const number = space.plans.findIndex(({ point }) => point === i);
    const lines = [
        number >= 0 ? say("Plan {0}: {1}", number + 1, wordsOf(space, i)) : wordsOf(space, i),
        found ? say("step {0}", format.value(1e9 * space.seconds[i], "ns")) : say("step at least {0}", format.value(1e9 * space.seconds[i], "ns")),
        found ? say("fullest stage {0}", format.value(space.mb[i], "MB")) : say("fullest stage at least {0}", format.value(space.mb[i], "MB")),
        say("{0} micro-batches", space.number.micro_batches[i]),
    ];
    const fate = {
        plan: say("among the best"), memory: say("needs more than the limit, whatever is recomputed"),
        bound: say("its bound is above the last of the best"), balanced: say("balanced, longer than the last of the best"),
        open: say("not looked at before the time was over"),
    }[space.fates[space.number.fate[i]]];
    return [...lines, ...(fate === undefined ? [] : [fate])].join("\n");
}

/** @param {HTMLElement} page @param {import("./space.js").Space} space @param {import("../types").Context} context @returns {() => void} */
function showCharts(page, space, context) {
    const side = element("aside", { class: "layouts-selected", "aria-label": say("Selected layout"), "aria-live": "polite" });
    const charts = element("div", { class: "layouts-charts" });
    page.append(element("div", { class: "layouts" }, charts, side));
    /** @type {{ draw: () => void, end: () => void }[]} */
    let shown = [];
    let frame = 0;
    /** @type {Shared} */
    const shared = {
        space, selected: space.plans[0]?.point ?? -1, inside: null,
        select(i) {
            shared.selected = i;
            showSelected();
            for (const chart of shown) chart.draw();
        },
        keep(inside) {
            shared.inside = inside;
            // A drag sends more events than thousands of lines can be drawn.
            if (frame === 0)
                frame = requestAnimationFrame(() => {
                    frame = 0;
                    for (const chart of shown) chart.draw();
                });
        },
        textOf: (i) => textOf(space, context.format, i),
    };
    const showSelected = () => {
        const i = shared.selected;
        if (i < 0) {
            fill(side, element("p", { class: "quiet" }, say("Click a layout to see more of it.")));
            return;
        }
        const run = space.plans.find(({ point }) => point === i)?.run;
        const [title, ...lines] = shared.textOf(i).split("\n");
        fill(side, element("h3", {}, say("Selected layout")), element("p", {}, element("b", {}, title)),
            element("ul", {}, lines.map((text) => element("li", {}, text))),
            run === undefined ? element("p", { class: "quiet" }, say("Timelines are there of the best plans.")) : timelineButton(context, run),
            element("h3", {}, say("The best plans")),
            element("ol", {}, space.plans.map(({ point }) => element("li", {},
                element("button", { type: "button", class: "link", "aria-current": point === i ? "true" : null, onclick: () => shared.select(point) },
                    wordsOf(space, point))))));
    };
    showSelected();
    shown = [showScatter(charts, shared, context), showCoordinates(charts, shared, context)];
    return () => {
        cancelAnimationFrame(frame);
        shown.forEach((chart) => chart.end());
    };
}

/** @type {import("../types").Tab} */
export const layoutsTab = {
    id: "layouts",
    title: key("Layouts"),
    present: (context) => sectionsOf(context.run, "layouts").length > 0,
    show: (root, context) =>
        showPage(root, context, (page) => {
            const raw = sectionsOf(context.run, "layouts")[0].space;
            let end = () => {};
            let ended = false;
            const known = raw && decoded.get(raw);
            if (known) end = showCharts(page, known, context);
            else if (raw) {
                page.setAttribute("aria-busy", "true");
                inflate(raw.data).then((bytes) => {
                    const space = decodeSpace(raw, bytes);
                    decoded.set(raw, space);
                    if (!ended) end = showCharts(page, space, context);
                }).catch((error) => fill(page, element("p", { class: "empty" }, say("The layouts cannot be shown: {0}", messageOf(error)))))
                    .finally(() => page.removeAttribute("aria-busy"));
            }
            return [() => {
                ended = true;
                end();
            }];
        }),
};

/** The best plans: in their table each name leads to the plan's timeline. @type {import("../types").Tab} */
export const plansTab = {
    id: "plans",
    title: key("Plans"),
    present: (context) => sectionsOf(context.run, "plans").length > 0,
    show: (root, context) =>
        showPage(root, context, (page) =>
            sectionsOf(context.run, "plans").flatMap((section) => {
                const { tables = [], ...rest } = section;
                return [...showSection(page, rest, context), ...tables.map((table) =>
                    showTable(page, table, context, table.id === "plans" ? { decorate: linkPlan(context, table) } : {}))];
            })),
};

/** @param {import("../types").Context} context @param {import("../types").Table} table */
function linkPlan(context, table) {
    return (/** @type {HTMLElement} */ cell, /** @type {number} */ row, /** @type {number} */ column) => {
        const name = table.rows[row][column];
        const run = context.document.runs.findIndex((one) => one.name === name);
        if (column !== 0 || run < 0) return;
        fill(cell, element("button", { type: "button", class: "link", onclick: () => openTimeline(context, run) }, name));
    };
}
