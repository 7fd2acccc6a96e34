// Curves below the timeline, on its time axis: a lane each, with the least and most of its values, the limit as a
// dashed line, and the part above the limit in the colour of alarm. Points carry the least and most value since the one
// before, so that a peak narrower than a pixel is still drawn. Painted into pixels column by column: paths of thousands
// of points take long to fill where no graphics hardware helps.

import { told } from "../texts.js";

export const LANE = 66;
const INSET = 6;
const HEADROOM = 1.08;

/**
 * @typedef {object} Lane
 * @property {number} curve  number for source.curve
 * @property {string} name @property {number} group @property {string} unit @property {number | null} limit
 * @property {boolean} steps @property {boolean} track  it is among the rows
 * @property {number} least @property {number} most  of all its values; NaN while unknown
 */
/** @typedef {import("../types").CurvePoints} CurvePoints */

/** A lane for each curve, then for each counter. @param {import("../types").Timeline} timeline @returns {Lane[]} */
export function lanesOf(timeline) {
    const curves = timeline.curves.map((curve, number) => ({
        curve: number,
        name: told(curve.name),
        group: curve.group,
        unit: curve.unit,
        limit: curve.limit,
        steps: curve.steps,
        track: curve.track ?? false,
        least: NaN,
        most: NaN,
    }));
    const counters = (timeline.counters ?? []).map((counter, number) => ({
        curve: curves.length + number,
        name: told(counter.name),
        group: counter.group,
        unit: counter.unit,
        limit: null,
        steps: true,
        track: false,
        least: counter.least,
        most: counter.most,
    }));
    return [...curves, ...counters];
}

/** Least and most of all points. @param {CurvePoints} points @returns {[number, number]} */
export function extremes(points) {
    let least = Infinity,
        most = -Infinity;
    for (let i = 0; i < points.n; i++) {
        least = Math.min(least, points.least[i]);
        most = Math.max(most, points.most[i]);
    }
    return [least, most];
}

/** Values at the bottom and the top of a lane. @param {Lane} lane @returns {[number, number]} */
export function rangeOf(lane) {
    const low = Math.min(0, Number.isFinite(lane.least) ? lane.least : 0);
    const high = Math.max(lane.limit ?? 0, Number.isFinite(lane.most) ? lane.most : 0);
    return high > low ? [low, low + (high - low) * HEADROOM] : [low, low + 1];
}

/** Index of the last point at or before a time; -1 before all. @param {CurvePoints} points @param {number} time */
function pointAt(points, time) {
    let low = 0,
        high = points.n;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (points.time[middle] <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

/** Value at a time: of the point before, or between two points; null outside. @param {CurvePoints} points
 *  @param {boolean} steps @param {number} time @returns {number | null} */
export function valueAt(points, steps, time) {
    const at = pointAt(points, time);
    if (at < 0 || (!steps && at === points.n - 1 && time > points.time[at])) {
        return null;
    }
    if (steps || at === points.n - 1) {
        return points.last[at];
    }
    const share = (time - points.time[at]) / (points.time[at + 1] - points.time[at]);
    return points.last[at] + share * (points.last[at + 1] - points.last[at]);
}

/** Value at the very left of a picture, or of the first point where it begins later; NaN where there is none.
 *  @param {CurvePoints} points @param {boolean} steps @param {number} time */
function valueFrom(points, steps, time) {
    return valueAt(points, steps, time) ?? NaN;
}

/**
 * Least and most value of each pixel's stretch of time; NaN where the curve is not. A step curve is in a pixel its
 * value before and all its values there; others are joined by straight lines. O(points + width).
 * @param {CurvePoints} points @param {boolean} steps
 * @param {{begin: number, scale: number, end: number}} time  scale: pixels per unit; end: where a step curve ends
 * @param {Float64Array} least @param {Float64Array} most  [width]
 */
export function columnsOf(points, steps, time, least, most) {
    const width = least.length,
        per = 1 / time.scale;
    let at = pointAt(points, time.begin) + 1,
        value = valueFrom(points, steps, time.begin);
    for (let x = 0; x < width; x++) {
        const until = time.begin + (x + 1) * per;
        let low = value,
            high = value;
        while (at < points.n && points.time[at] < until) {
            low = low <= points.least[at] ? low : points.least[at]; // also where low is NaN
            high = high >= points.most[at] ? high : points.most[at];
            value = points.last[at];
            at++;
        }
        if (!steps) {
            value = valueFrom(points, false, until);
            low = value < low ? value : low;
            high = value > high ? value : high;
        } else if (until - per > time.end) {
            value = low = high = NaN;
        }
        least[x] = low;
        most[x] = high;
    }
}

/**
 * Paint a lane into lines [top, top + height) of a picture: the area under the curve, its line, the part above the
 * limit, and the limit itself.
 * @param {Uint32Array} pixels [..][width] @param {number} width @param {number} top @param {number} height whole lines;
 *        the part outside of the picture is left out
 * @param {Lane} lane @param {CurvePoints | null} points @param {{begin: number, scale: number, end: number}} time
 * @param {{line: number, fill: number, alarm: number, limit: number}} look @param {number} ratio device pixels to a
 *        pixel
 */
export function paintCurve(pixels, width, top, height, lane, points, time, look, ratio) {
    const y_of = scaleOfLane(lane, height, ratio),
        n_lines = pixels.length / width;
    const column = (x, from, to, color) => {
        const end = Math.min(n_lines, top + Math.min(height, to));
        for (let y = Math.max(0, top + from); y < end; y++) {
            pixels[y * width + x] = color;
        }
    };
    const limit = lane.limit === null ? -1 : Math.round(y_of(lane.limit));
    const thick = Math.max(1, Math.round(1.25 * ratio));
    if (points !== null && points.n > 0) {
        const least = new Float64Array(width),
            most = new Float64Array(width);
        columnsOf(points, lane.steps, time, least, most);
        const ground = Math.round(y_of(0));
        for (let x = 0; x < width; x++) {
            if (Number.isNaN(least[x])) {
                continue;
            }
            const high = Math.round(y_of(most[x])),
                low = Math.round(y_of(least[x]));
            column(x, Math.min(low, ground), Math.max(low, ground), look.fill);
            if (limit >= 0) {
                column(x, low, Math.min(limit, ground), look.alarm);
            }
            column(x, high, Math.max(low, high + thick), look.line);
            if (limit >= 0) {
                column(x, high, Math.min(limit, Math.max(low, high + thick)), look.alarm);
            }
        }
    }
    if (limit >= 0) {
        const dash = Math.round(5 * ratio),
            period = Math.round(9 * ratio);
        for (let x = 0; x < width; x++) {
            if (x % period < dash) {
                column(x, limit, limit + Math.max(1, Math.round(ratio)), look.limit);
            }
        }
    }
}

/** The place of a value below a lane's top. @param {Lane} lane @param {number} height @param {number} ratio
 *  @returns {(value: number) => number} */
export function scaleOfLane(lane, height, ratio) {
    const [low, high] = rangeOf(lane),
        bottom = height - INSET * ratio;
    return (value) => bottom - ((value - low) / (high - low)) * (bottom - INSET * ratio);
}
