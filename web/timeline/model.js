// The common state of the timeline's parts: the panes and their limits, the positions on the canvas, the place of the
// pointer, and the conversion from pixels to times. The picture follows only from the page's view; this has the rest.

import { newPane } from "./pane.js";
import { extremes, lanesOf } from "./curves.js";
import { placeParts } from "./geometry.js";
import { limitsOf } from "./scale.js";
import { newSelection } from "./selection.js";
import { newTip } from "./tip.js";
import { told } from "../texts.js";

/** @typedef {import("../types").Context} Context */
/** @typedef {ReturnType<typeof newPane>} Pane */
/** @typedef {import("./scale.js").Stretch} Stretch */
/** @typedef {{lane: import("./curves.js").Lane, pane: Pane, source: import("../types").Source, group: string}}
 *  PlacedLane */
/** @typedef {ReturnType<typeof newModel>} Model */

/** Steps of the axis: those of no group, else of the first group that has any. @param {import("../types").Timeline}
 *  timeline */
function stepsForAxis(timeline) {
    const shared = timeline.steps.filter((step) => step.group < 0);
    const first = Math.min(...timeline.steps.map((step) => step.group));
    return shared.length > 0 ? shared : timeline.steps.filter((step) => step.group === first);
}

/**
 * Lanes of all panes in their order: constant ones are last, and the same curves of two runs are adjacent.
 * @param {Pane[]} panes @param {import("./scale.js").Limits} limits @returns {PlacedLane[]}
 */
function lanesOfPanes(panes, limits) {
    const lanes = panes.flatMap((pane) =>
        lanesOf(pane.timeline).filter((lane) => !lane.track).map((lane) => {
            const group = told(pane.timeline.groups[lane.group]?.name ?? "");
            const name = panes.length > 1 ? `${pane.context.run.name}: ${group}` : group;
            return { lane, pane, source: pane.source, group: name };
        }),
    );
    for (const { lane, source } of lanes.filter((one) => Number.isNaN(one.lane.most))) {
        const points = source.curve(lane.curve, limits.begin, limits.end, (limits.end - limits.begin) / 2000);
        [lane.least, lane.most] = points === null || points.n === 0 ? [NaN, NaN] : extremes(points);
    }
    const still = ({ lane }) => Number(lane.least === lane.most && lane.limit === null);
    const apart = (a, b) => (panes.length > 1 ? a.lane.group - b.lane.group || a.lane.curve - b.lane.curve : 0);
    return lanes.sort((a, b) => still(a) - still(b) || apart(a, b));
}

/**
 * @param {HTMLCanvasElement} canvas @param {HTMLElement} holder @param {Context[]} contexts
 */
export function newModel(canvas, holder, contexts) {
    const { state, format } = contexts[0];
    const { view } = state;
    const canvas2d = /** @type {CanvasRenderingContext2D} */ (
        canvas.getContext("2d", { alpha: false, willReadFrequently: true })
    );
    const panes = contexts.map((context, at) => newPane(context, { own: at > 0 }));
    const limits = limitsOf(panes.map((pane) => pane.timeline));
    const unit = panes[0].timeline.unit;
    const all_lanes = lanesOfPanes(panes, limits);

    /** @returns {Stretch} */
    const stretch = () => [view.begin, view.end];
    /** @param {number} x */
    const timeAt = (x) => view.begin + ((x - it.parts.rows.x) / it.parts.rows.width) * (view.end - view.begin);
    const perPixel = () => (view.end - view.begin) / it.parts.rows.width;
    /** @param {Stretch} next */
    const show = (next) => state.set({ begin: next[0], end: next[1] });
    const paneAt = (y) => panes.find((pane) => y >= pane.box.y && y < pane.box.y + pane.box.height) ?? null;
    /** The target of keys: under the pointer, else in the middle. */
    const anchor = () =>
        it.over !== null && it.over.x >= it.parts.gutter ? timeAt(it.over.x) : (view.begin + view.end) / 2;
    /** A duration as displayed. @param {number} value */
    const duration = (value) => format.value(value, unit === "ns" ? "ns" : "time");
    /** @param {number} time @param {number} resolution */
    const moment = (time, resolution) => format.time(time - limits.begin, unit, resolution);
    /** @param {number} value @param {string} of */
    const amount = (value, of) => format.value(value, /** @type {import("../types").Unit} */ (of));

    const it = {
        state,
        view,
        format,
        contexts,
        canvas,
        canvas2d,
        holder,
        panes,
        limits,
        unit,
        all_lanes,
        /** The time 0 on the clock of the trace; two runs have no common clock. */
        origin: panes.length === 1 ? panes[0].timeline.origin : null,
        steps: stepsForAxis(panes[0].timeline),
        tip: newTip(holder),
        selection: newSelection({ changed: (chosen) => it.told(chosen) }),

        // The positions; `placed` and `dressed` are set when they and the colours are up to date.
        parts: placeParts({ width: 1, height: 1, n_panes: panes.length, n_lanes: 0, steps: false, curves: 0 }),
        ratio: 1,
        placed: false,
        dressed: false,
        lanes: all_lanes,
        curves_height: /** @type {number | null} */ (null), // as it was dragged
        curves_top: 0,
        absolute: false, // times of the trace's clock

        // The pointer: its position on the canvas, the line under it at the left, and its present or last time.
        over: /** @type {{x: number, y: number} | null} */ (null),
        hovered: -1,
        pointer_time: /** @type {number | null} */ (view.pointer),
        fresh: false, // did data come that may have been missing?
        revealing: false, // is the selected event to be brought into sight?

        ask: () => {}, // for a frame
        // The selected event's data came.
        told: /** @type {(chosen: import("./selection.js").Chosen | null) => void} */ (() => {}),
        displace() {
            it.placed = false;
            it.ask();
        },
        stretch,
        timeAt,
        perPixel,
        show,
        paneAt,
        anchor,
        duration,
        moment,
        amount,
    };
    return it;
}
