// The positions of the parts of the timeline in its canvas: overview, axis, names of steps, rows of one or two panes,
// the bar that divides rows and curves, and the lanes of curves. Pure; pixels of the page.

import { LANE } from "./curves.js";

const OVERVIEW = 26;
const AXIS = 24;
const STEPS = 16;
const SPLIT = 7;
const TITLE = 20; // of a pane, where there are two
const GUTTER = 196;
const GUTTER_SHARE = 0.24;
const ROWS_LEAST = 80;
const CURVES_SHARE = 0.3; // of the height, at first

/** @typedef {{x: number, y: number, width: number, height: number}} Rectangle */
/** @typedef {ReturnType<typeof placeParts>} Parts */
/** @typedef {"overview" | "axis" | "corner" | "rows" | "names" | "split" | "curves" | "curve names" | "nothing"} Region
 *  */

/** Height of the curves at first. @param {number} height @param {number} n_lanes */
export function firstCurvesHeight(height, n_lanes) {
    return n_lanes === 0
        ? 0
        : Math.min(n_lanes * LANE, Math.max(LANE, Math.floor((height * CURVES_SHARE) / LANE) * LANE));
}

/**
 * @param {{width: number, height: number, n_panes: number, n_lanes: number, steps: boolean, curves: number}} of curves:
 *        height wanted for them
 */
export function placeParts(of) {
    const gutter = Math.round(Math.min(GUTTER, of.width * GUTTER_SHARE));
    const right = Math.max(1, of.width - gutter);
    const across = (y, height) => ({ x: gutter, y, width: right, height: Math.max(0, height) });
    const axis_at = OVERVIEW,
        steps_at = axis_at + AXIS,
        rows_at = steps_at + (of.steps ? STEPS : 0);
    const split = of.n_lanes > 0 ? SPLIT : 0;
    const most = Math.max(0, of.height - rows_at - split - ROWS_LEAST);
    const curves_height = of.n_lanes > 0 ? Math.max(0, Math.min(of.curves, most, of.n_lanes * LANE)) : 0;
    const curves_at = of.height - curves_height,
        rows_end = curves_at - split;
    const title = of.n_panes > 1 ? TITLE : 0;
    const each = (rows_end - rows_at) / of.n_panes;
    const panes = Array.from({ length: of.n_panes }, (_, at) => {
        const y = Math.round(rows_at + at * each),
            end = Math.round(rows_at + (at + 1) * each);
        return across(y + title, end - y - title);
    });
    return {
        width: of.width,
        height: of.height,
        gutter,
        overview: across(0, OVERVIEW),
        axis: across(axis_at, AXIS),
        steps: across(steps_at, of.steps ? STEPS : 0),
        rows: across(rows_at, rows_end - rows_at),
        panes,
        title,
        split: { x: 0, y: rows_end, width: of.width, height: split },
        curves: across(curves_at, curves_height),
    };
}

/** @param {Rectangle} box @param {number} y */
const within = (box, y) => y >= box.y && y < box.y + box.height;

/** The part at a place. @param {Parts} parts @param {number} x @param {number} y @returns {Region} */
export function regionAt(parts, x, y) {
    const left = x < parts.gutter;
    if (within(parts.overview, y)) {
        return left ? "corner" : "overview";
    }
    if (within(parts.axis, y) || within(parts.steps, y)) {
        return left ? "corner" : "axis";
    }
    if (within(parts.rows, y)) {
        return left ? "names" : "rows";
    }
    if (within(parts.split, y)) {
        return "split";
    }
    return within(parts.curves, y) ? (left ? "curve names" : "curves") : "nothing";
}
