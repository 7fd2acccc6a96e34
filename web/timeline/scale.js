// The visible stretch of the time axis: zooming, moving and clamping of a stretch [begin, end]. Every function is pure
// and computes the new stretch from an anchor in one go, so that held keys do not add up rounding errors. Doubles
// represent nanoseconds of a hundred days to better than one; longer traces are not zoomed exactly to the nanosecond.

/** @typedef {{begin: number, end: number, least: number}} Limits  the range of the data, and the shortest stretch to show */
/** @typedef {[number, number]} Stretch */

const MARGIN = 0.02; // of the visible stretch, free at each end

/**
 * The limits of some timelines on one axis: down to 1 ns, or to a millionth where times have no unit.
 * @param {import("../types").Timeline[]} timelines
 * @returns {Limits}
 */
export function limitsOf(timelines) {
    let begin = Math.min(...timelines.map((timeline) => timeline.begin));
    let end = Math.max(...timelines.map((timeline) => timeline.end));
    const in_ns = timelines.every((timeline) => timeline.unit === "ns");
    if (!(end > begin)) {
        begin = Number.isFinite(begin) ? begin : 0;
        end = begin + 1;
    }
    return { begin, end, least: in_ns ? Math.min(1, end - begin) : (end - begin) * 1e-6 };
}

/** @param {Limits} limits */
function mostSpan(limits) {
    return (limits.end - limits.begin) / (1 - 2 * MARGIN);
}

/**
 * The stretch of the given length and place, moved and shortened until it is within the limits.
 * @param {number} begin @param {number} span @param {Limits} limits @returns {Stretch}
 */
export function clampStretch(begin, span, limits) {
    const kept = Math.min(Math.max(span, limits.least), mostSpan(limits));
    const first = limits.begin - MARGIN * kept;
    const last = limits.end + MARGIN * kept - kept;
    const at = Math.max(first, Math.min(last, begin));
    return [at, at + kept];
}

/** Everything there is; zooming out goes a little further. @param {Limits} limits @returns {Stretch} */
export function everything(limits) {
    return [limits.begin, limits.end];
}

/**
 * Zoom by a factor (below 1: closer) so that `time` stays at the same place of the picture.
 * @param {Stretch} stretch @param {number} time @param {number} factor @param {Limits} limits @returns {Stretch}
 */
export function zoomAt(stretch, time, factor, limits) {
    const span = stretch[1] - stretch[0];
    const next = Math.min(Math.max(span * factor, limits.least), mostSpan(limits));
    if (next === span) {
        return stretch;
    }
    const share = (time - stretch[0]) / span;
    return clampStretch(time - share * next, next, limits);
}

/** @param {Stretch} stretch @param {number} by @param {Limits} limits @returns {Stretch} */
export function moveBy(stretch, by, limits) {
    return clampStretch(stretch[0] + by, stretch[1] - stretch[0], limits);
}

/**
 * Show [begin, end] with some room at both ends; an empty one is shown with the shortest stretch around it.
 * @param {number} begin @param {number} end @param {Limits} limits @returns {Stretch}
 */
export function fit(begin, end, limits) {
    const span = Math.max((end - begin) * 1.2, limits.least * 4);
    return clampStretch((begin + end) / 2 - span / 2, span, limits);
}

/**
 * The same zoom, moved only as far as needed to have [begin, end] in the picture (its start where it is longer).
 * @param {Stretch} stretch @param {number} begin @param {number} end @param {Limits} limits @returns {Stretch}
 */
export function reveal(stretch, begin, end, limits) {
    const span = stretch[1] - stretch[0];
    const room = span * 0.05;
    if (end > stretch[0] + room && begin < stretch[1] - room && (begin >= stretch[0] || end <= stretch[1])) {
        return stretch;
    }
    if (end - begin > span - 2 * room) {
        return begin <= stretch[0] && end >= stretch[1] ? stretch : clampStretch(begin - room, span, limits);
    }
    return clampStretch((begin + end) / 2 - span / 2, span, limits);
}

/**
 * The stretch and resolution to request from a source, so that small moves of the picture repeat the same request:
 * whole multiples of a quarter of the picture, and a resolution without the last digits of rounding.
 * @param {number} begin @param {number} end @param {number} width  pixels
 * @returns {{begin: number, end: number, resolution: number}}
 */
export function askedStretch(begin, end, width) {
    const resolution = Number(((end - begin) / width).toPrecision(6));
    const quarter = (resolution * width) / 4;
    return { begin: Math.floor(begin / quarter) * quarter, end: Math.ceil(end / quarter) * quarter, resolution };
}
