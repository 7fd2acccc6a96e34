// Live memory, summed by type: at one time, and at evenly spread times for a strip of areas. The strip samples:
// entries that live shorter than the time between two samples may be missing in it. Also the time at which a curve is
// highest.

const POINTS = 400;
const ROUNDS = 12;

/**
 * Sums by type, largest first. @param {import("../types").Held[]} held
 * @returns {{ type: number, n: number, mb: number }[]}
 */
export function sumsByType(held) {
    const sums = new Map();
    for (const { type, mb } of held) {
        const sum = sums.get(type) ?? { type, n: 0, mb: 0 };
        sum.n++;
        sum.mb += mb;
        sums.set(type, sum);
    }
    return [...sums.values()].sort((a, b) => b.mb - a.mb || a.type - b.type);
}

/**
 * The sums of each type at `n` times, in the middle of n equal parts of begin to end.
 * @param {(time: number) => import("../types").Held[]} heldAt @param {number} begin @param {number} end @param
 * {number} n
 * @returns {{ types: number[], mb: Map<number, Float64Array>, total: Float64Array }} types by their largest value,
 * largest first
 */
export function sampleHeld(heldAt, begin, end, n) {
    const mb = new Map();
    const total = new Float64Array(n);
    for (let i = 0; i < n; i++) {
        for (const { type, mb: size } of heldAt(begin + ((end - begin) * (i + 0.5)) / n)) {
            if (!mb.has(type)) mb.set(type, new Float64Array(n));
            mb.get(type)[i] += size;
            total[i] += size;
        }
    }
    const most = (type) => mb.get(type).reduce((a, b) => Math.max(a, b), 0);
    return { types: [...mb.keys()].sort((a, b) => most(b) - most(a) || a - b), mb, total };
}

/**
 * The first time at which a curve has its highest value: the highest of some hundred parts is searched again with a
 * finer resolution. Null while points are loading or where there are none.
 * @param {(begin: number, end: number, resolution: number) => import("../types").CurvePoints | null} curve
 */
export function peakOf(curve, begin, end) {
    let [from, to, time] = [begin, end, /** @type {number | null} */ (null)];
    for (let round = 0; round < ROUNDS && to > from; round++) {
        const points = curve(from, to, (to - from) / POINTS);
        if (!points || points.n === 0) return time;
        let best = -1;
        for (let i = 0; i < points.n; i++) {
            if (points.time[i] <= to && (best < 0 || points.most[i] > points.most[best])) best = i;
        }
        if (best < 0 || points.time[best] < begin) return time ?? begin;
        time = points.time[best];
        if (points.least[best] === points.most[best] && points.last[best] === points.most[best]) return time;
        // A part is not longer than the resolution; the next one may be far after it.
        const next = best + 1 < points.n ? points.time[best + 1] : to;
        [from, to] = [time, Math.min(next, to, time + (2 * (to - from)) / POINTS)];
    }
    return time;
}
