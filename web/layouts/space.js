// The layouts of a search without their pictures: decoded columns of the document, a layout in words, the front, the
// points inside all brushes, the ranks of values on an axis, and the mark under the pointer.

import { untransposed } from "../document.js";
import { say } from "../texts.js";

/** After the axes in the document's columns. */
const more = ["micro_batches", "sequence", "schedule", "fate", "found"];

/**
 * @typedef {object} Space
 * @property {number} n
 * @property {string[]} axes       "dp", "tp", ...
 * @property {string[]} schedules
 * @property {string[]} fates
 * @property {number | null} limit_mb
 * @property {Float64Array} seconds @property {Float64Array} mb
 * @property {Float64Array} least_seconds @property {Float64Array} least_mb
 * @property {Record<string, Uint32Array>} number  by axis, and `micro_batches`, `sequence`, `schedule`, `fate`, `found`
 * @property {{ point: number, run: number }[]} plans
 * @property {import("../types").Today | null} today
 * @property {{ point: number, proved: boolean }[]} front
 * @property {{ point: number, proved: boolean }[]} bounds
 */

/** @param {import("../types").RawSpace} raw @param {Uint8Array} bytes  inflated @returns {Space} */
export function decodeSpace(raw, bytes) {
    const { n, axes } = raw;
    const expected = n * (32 + 4 * (axes.length + more.length));
    if (bytes.length !== expected) {
        throw new Error(say("the layouts have {0} bytes, {1} were expected. Write the page anew.", bytes.length, expected));
    }
    const reals = [0, 1, 2, 3].map((k) => untransposed(bytes, 8 * n * k, n));
    /** @type {Record<string, Uint32Array>} */
    const number = {};
    [...axes, ...more].forEach((name, k) => {
        const at = 32 * n + 4 * n * k;
        number[name] = new Uint32Array(bytes.slice(at, at + 4 * n).buffer);
    });
    const { schedules, fates, limit_mb, plans, today, front, bounds } = raw;
    const [seconds, mb, least_seconds, least_mb] = reals;
    return { n, axes, schedules, fates, limit_mb, seconds, mb, least_seconds, least_mb, number, plans, today, front, bounds };
}

/** "tp 4, pp 8, batch 1, 1f1b": as the reports write it. @param {Space} space @param {number} i */
export function wordsOf(space, i) {
    const { axes, number, schedules } = space;
    const parts = axes.filter((axis) => number[axis][i] > 1 || axis === "batch").map((axis) => `${axis} ${number[axis][i]}`);
    if (number.sequence[i] && number.tp[i] > 1) parts.push(say("sequence parallel"));
    if (number.pp[i] > 1) parts.push(schedules[number.schedule[i]]);
    return parts.join(", ");
}

/**
 * The points that no other dominates: x rises from one to the next and y falls.
 * @param {ArrayLike<number>} x @param {ArrayLike<number>} y @param {number[]} points
 */
export function frontOf(x, y, points) {
    const order = [...points].sort((a, b) => x[a] - x[b] || y[a] - y[b] || a - b);
    let least = Infinity;
    return order.filter((i) => {
        if (!(y[i] < least)) return false;
        least = y[i];
        return true;
    });
}

/**
 * Axes of parallel coordinates: degrees by the rank of their values, the step by its logarithm, memory linearly. Only
 * degrees that differ, except for the usual ones, which are always shown.
 * @param {Space} space
 * @returns {Coordinate[]}
 *
 * @typedef {object} Coordinate
 * @property {string} name
 * @property {number[] | null} values  of a degree, rising
 * @property {(i: number) => number} of  value of a point
 * @property {(value: number) => number} place  0 at the bottom to 1
 * @property {number} low @property {number} high
 */
export function coordinatesOf(space) {
    const always = ["dp", "tp", "cp", "ep", "pp", "vpp", "batch", "shard"];
    const degrees = space.axes.flatMap((name) => {
        const column = space.number[name];
        const values = [...new Set(column)].sort((a, b) => a - b);
        return values.length > 1 || always.includes(name) ? [degree(name, values, (i) => column[i])] : [];
    });
    return [...degrees, real("step", space.seconds, Math.log), real("memory", space.mb, (value) => value)];
}

/** @param {string} name @param {number[]} values @param {(i: number) => number} of @returns {Coordinate} */
function degree(name, values, of) {
    const rank = new Map(values.map((value, k) => [value, k]));
    const top = Math.max(1, values.length - 1);
    const place = (/** @type {number} */ value) => (values.length > 1 ? (rank.get(value) ?? 0) / top : 0.5);
    return { name, values, of, place, low: values[0], high: values[values.length - 1] };
}

/** @param {string} name @param {Float64Array} column @param {(value: number) => number} scale @returns {Coordinate} */
function real(name, column, scale) {
    let [low, high] = [Infinity, -Infinity];
    for (const value of column) [low, high] = [Math.min(low, value), Math.max(high, value)];
    const span = scale(high) - scale(low);
    const place = (/** @type {number} */ value) => (span > 0 ? (scale(value) - scale(low)) / span : 0.5);
    return { name, values: null, of: (i) => column[i], place, low, high };
}

/**
 * The points inside all brushes. A brush is a stretch of an axis from 0 to 1; points at its ends are in it.
 * @param {number} n @param {Coordinate[]} axes @param {Map<string, [number, number]>} brushes
 */
export function brushed(n, axes, brushes) {
    const inside = new Uint8Array(n).fill(1);
    for (const axis of axes) {
        const brush = brushes.get(axis.name);
        if (brush === undefined) continue;
        const [low, high] = [brush[0] - 1e-9, brush[1] + 1e-9];
        for (let i = 0; i < n; i++) {
            const place = axis.place(axis.of(i));
            if (place < low || place > high) inside[i] = 0;
        }
    }
    return inside;
}

/**
 * The mark nearest to a place, no further than `reach`; of marks as near as that, plans before bounds. -1: none.
 * @param {ArrayLike<number>} x @param {ArrayLike<number>} y  pixels; NaN where a mark is not drawn
 * @param {ArrayLike<number>} weight  pixels that a mark counts as nearer
 * @param {number} at_x @param {number} at_y @param {number} reach
 */
export function markAt(x, y, weight, at_x, at_y, reach) {
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < x.length; i++) {
        const away = Math.hypot(x[i] - at_x, y[i] - at_y);
        if (away <= reach && away - weight[i] < least) [best, least] = [i, away - weight[i]];
    }
    return best;
}

/** Ticks of a logarithmic axis: round multiples of the powers of ten, or even steps where it is short. @param {number} low @param {number} high @param {number} about */
export function logTicks(low, high, about) {
    const ratio = high / low;
    const multiples = ratio < 3 ? null : ratio < 60 ? [1, 1.5, 2, 3, 4, 5, 7] : [1, 2, 5];
    /** @type {number[]} */
    const ticks = [];
    if (multiples === null) {
        const least = (high - low) / about;
        const power = 10 ** Math.floor(Math.log10(least));
        const step = ([1, 2, 5].find((k) => k * power >= least * (1 - 1e-9)) ?? 10) * power;
        for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) ticks.push(Number((k * step).toPrecision(12)));
        return ticks;
    }
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10)
        for (const k of multiples) {
            const tick = Number((k * power).toPrecision(12));
            if (tick >= low && tick <= high) ticks.push(tick);
        }
    return ticks;
}

/**
 * The range of a picture of step against memory: all within a quarter above the limit or the largest plan and within 40
 * times the shortest step, or only near the best plans.
 * @param {Space} space @param {boolean} near
 * @returns {{ x: [number, number], y: [number, number] }}
 */
export function extentOf(space, near) {
    const { seconds, mb, number, plans, today, limit_mb } = space;
    const all = Array.from({ length: space.n }, (_, i) => i);
    const points = plans.map(({ point }) => point).filter((point) => point >= 0);
    const found = all.filter((i) => number.found[i] === 1);
    const most = (/** @type {number[]} */ list) => list.reduce((a, b) => Math.max(a, b), -Infinity);
    const least = (/** @type {number[]} */ list) => list.reduce((a, b) => Math.min(a, b), Infinity);
    const widened = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ share) => {
        const room = share * Math.max(high - low, 0.02 * high);
        return /** @type {[number, number]} */ ([Math.max(0, low - room), high + room]);
    };
    const ratio = (/** @type {number} */ low, /** @type {number} */ high, /** @type {number} */ share) => {
        const room = Math.max(1.01, (high / low) ** share);
        return /** @type {[number, number]} */ ([low / room, high * room]);
    };
    if (near && points.length > 0) {
        const [low, high] = [least(points.map((i) => seconds[i])), most(points.map((i) => seconds[i]))];
        const upper = high + Math.max(0.25 * (high - low), 0.01 * high);
        const some = found.filter((i) => seconds[i] <= upper);
        return {
            x: widened(least(some.map((i) => mb[i])), most(some.map((i) => mb[i])), 0.1),
            y: ratio(low, most(some.map((i) => seconds[i])), 0.1),
        };
    }
    const own = today === null ? [] : [today];
    const right = 1.25 * Math.max(limit_mb ?? 0, most([...found.map((i) => mb[i]), ...own.map((one) => one.mb)]));
    const [low, high] = [least([...seconds, ...own.map((one) => one.seconds)]), most([...seconds])];
    const highest = Math.min(high, Math.max(40 * low, most([...found.map((i) => seconds[i]), ...own.map((one) => one.seconds)])));
    const widest = most([...mb, ...own.map((one) => one.mb)]);
    return {
        x: widened(least([...mb, ...own.map((one) => one.mb)]), right > 0 ? Math.min(right, Math.max(widest, limit_mb ?? 0)) : widest, 0.03),
        y: ratio(low, highest, 0.03),
    };
}
