// Scales of charts: ticks at round values (1, 2 or 5 times a power of ten, after Heckbert's "nice numbers"), the texts
// of ticks in one unit with the digits that distinguish them, and the place of a value between 0 and 1. No calendar,
// and logarithms only for colours.

import { grouped, timeUnit } from "../format.js";
import { niceStep } from "../timeline/axis.js";

/**
 * Ticks at round values that cover low to high with about `about` steps: the first is at or below low, the last at or
 * above high. Values that are no numbers, or equal, get a range of 1 from the lower.
 * @param {number} low @param {number} high @param {number} about @param {number} least smallest step allowed, 0 for any
 * @returns {{ticks: number[], step: number, low: number, high: number}}
 */
export function niceTicks(low, high, about, least = 0) {
    let from = Number.isFinite(low) ? low : 0;
    let to = Number.isFinite(high) ? high : from + 1;
    if (to < from) [from, to] = [to, from];
    if (to === from) to = from === 0 ? 1 : from + Math.abs(from);
    const step = Math.max(niceStep((to - from) / Math.max(1, about)), least);
    const first = Math.floor(from / step + 1e-9);
    const last = Math.ceil(to / step - 1e-9);
    const ticks = [];
    for (let i = first; i <= last; i++) ticks.push(Number((i * step).toPrecision(12)));
    return { ticks, step, low: ticks[0], high: ticks[ticks.length - 1] };
}

/** Digits after the point that distinguish values `step` apart. */
export function digitsOf(step) {
    if (!(step > 0) || !Number.isFinite(step)) return 0;
    for (let digits = 0; digits < 15; digits++) {
        const scaled = step * 10 ** digits;
        if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return digits;
    }
    return 15;
}

/**
 * The texts of an axis' ticks: all in one unit, which is in `suffix` once.
 * @param {string} unit @param {number} most the largest absolute value @param {number} step
 * @returns {{suffix: string, text: (value: number) => string}}
 */
export function tickText(unit, most, step) {
    let [factor, suffix] = /** @type {[number, string]} */ ([
        1,
        unit === "time" || unit === "count" || unit === "text" ? "" : unit,
    ]);
    if (unit === "ns") [factor, suffix] = timeUnit(most);
    const digits = digitsOf(step / factor);
    return { suffix, text: (value) => grouped((value / factor).toFixed(digits)) };
}

/** Place of value between low (0) and high (1); not clamped. */
export function placeOf(value, low, high) {
    return high > low ? (value - low) / (high - low) : 0;
}

/**
 * Scale of colours: from values to 0..1. Linear from 0 (or from the least, when values are below 0) to the most;
 * logarithmic from the least value above 0, and values that are not above 0 are 0.
 * @param {number[]} values @param {boolean} logarithmic @param {boolean} from_least linear from the least value
 * @returns {{low: number, high: number, of: (value: number) => number, at: (share: number) => number}}
 */
export function colorScale(values, logarithmic, from_least = false) {
    let [least, most, positive] = [Infinity, -Infinity, Infinity];
    for (const value of values) {
        if (!Number.isFinite(value)) continue;
        least = Math.min(least, value);
        most = Math.max(most, value);
        positive = value > 0 ? Math.min(positive, value) : positive;
    }
    const clamp = (share) => Math.min(1, Math.max(0, share));
    if (logarithmic && positive < most) {
        const span = Math.log(most / positive);
        return {
            low: positive,
            high: most,
            of: (value) => (value > 0 ? clamp(Math.log(value / positive) / span) : 0),
            at: (share) => positive * Math.exp(share * span),
        };
    }
    const low = least < 0 || (from_least && Number.isFinite(least)) ? least : 0;
    const high = most > low ? most : low + 1;
    return {
        low,
        high,
        of: (value) => clamp((value - low) / (high - low)),
        at: (share) => low + share * (high - low),
    };
}
