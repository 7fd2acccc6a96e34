// The timeline as a tab of the page, and two of them above each other for the comparison.

import { element } from "../dom.js";
import { detailsPanel } from "../side/details.js";
import { mountChart } from "./chart.js";
import { key, say } from "../texts.js";

/** Keys of the timeline, for the page's help. */
export const timelineKeys = [
    ["W, S", key("zoom in and out at the pointer (also + and -, Ctrl and the wheel)")],
    ["A, D", key("move left and right (also the arrows, Shift and the wheel, a drag of the axis or with Space held)")],
    [key("wheel"), key("scroll the rows; zoom where all of them are in sight")],
    ["0, Home", key("show everything")],
    ["F, Z", key("fit the range or the selected event; double click fits an event")],
    ["Enter", key("select the event at the pointer")],
    [". ,", key("next and previous event in the row")],
    ["Up, Down", key("the event in the row above or below; without a selection: scroll")],
    ["M", key("put a mark at the pointer, on the edge of a block that is near")],
    ["Shift+M", key("put marks on both ends of the event, or of the range")],
    ["T, G, Shift+G", key("close or open the track, the group, all groups")],
    ["P, H, Shift+H", key("pin the track to the top, hide the track or group, show what is hidden (also a right click)")],
    ["Shift+Up, Shift+Down", key("move the track, or the group, up and down")],
    ["R, Shift+R", key("what is shown as the range: of the track of the event, or of all")],
    ["[, ]", key("more room for the curves, or for the rows")],
    ["C", key("times from the begin, or of the trace's clock")],
    ["Escape", key("clear selection and range")],
];

/** Why there is no timeline, and the input for one; by the kind of run, null where none is expected. */
export function whyNone(kinds) {
    if (kinds.includes("trace"))
        return say(
            "There is no timeline: these files have sums and tables, but no events with their times. Give the trace itself too: trace_view.json of an Ascend profile, the .json or .json.gz of torch.profiler, or the folder around them.",
        );
    if (kinds.includes("diagnosis"))
        return say("There is no timeline: no trace was given. Give the profiler's files of the run, or the folder around them.");
    if (kinds.includes("memory") || kinds.includes("estimate"))
        return say(
            "There is no timeline: settings say what stages hold, not when. Give traces of the run, or a plan with the times of its layers; `evenkeel estimate FILE --device NAME --html PAGE` shows a predicted step.",
        );
    return null;
}

/** @type {import("../types").Tab} */
export const timelineTab = {
    id: "timeline",
    title: key("Timeline"),
    present: ({ run }) => run.timeline !== null || whyNone(run.kinds) !== null,
    show(root, context) {
        if (context.run.timeline === null) {
            root.replaceChildren(element("p", { class: "empty" }, whyNone(context.run.kinds)));
            return () => root.replaceChildren();
        }
        if (context.source === null) {
            root.replaceChildren(element("p", {}, say("The events of this timeline are not at hand.")));
            return () => root.replaceChildren();
        }
        return mountChart(root, [context]);
    },
};

/**
 * Two runs above each other on one axis, for the comparison, with the details of the selected event of either.
 * Selection, folds and scroll of the second are its own.
 * @param {HTMLElement} root
 * @param {import("../types").Context} first
 * @param {import("../types").Context} second
 * @returns {() => void}
 */
export function timelinePair(root, first, second) {
    const [chart, side] = [element("div"), element("aside", { class: "side", "aria-label": say("Selection") })];
    root.replaceChildren(chart, side);
    /** @type {import("./chart.js").Told | null} */
    let told = null;
    const panels = [first, second].map((context) => {
        const section = element("section", { "aria-label": context.run.name });
        const whole = { ...context, source: /** @type {import("../types").Source} */ (context.source) };
        const panel = detailsPanel(section, whole, { clear: () => told?.clear(), go: (event) => told?.go(event) });
        panel.show(null);
        return { section, panel };
    });
    side.append(...panels.map(({ section }) => section));
    const show = (/** @type {number} */ at, /** @type {import("../types").EventPlace | null} */ place) =>
        panels.forEach(({ section, panel }, number) => {
            section.hidden = number !== at;
            panel.show(number === at ? place : null);
        });
    show(0, null);
    const mounted = mountChart(chart, [first, second], (now) => {
        told = now;
        show(now.at, now.chosen);
    });
    return () => {
        mounted();
        panels.forEach(({ panel }) => panel.end());
        root.replaceChildren();
    };
}
