// The data of a timeline other than events, for pages from a file and from a server alike: points of curves, thinned to
// the resolution of a picture, and the live memory at a time. Both are small, so they are searched and filtered
// directly.

import { firstAfter, firstFrom } from "./blocks.js";

/** @typedef {import("./types").Timeline} Timeline */
/** @typedef {import("./types").CurvePoints} CurvePoints */
/** @typedef {Pick<import("./document.js").Columns, "held" | "points">} Columns */

/**
 * @param {Timeline} timeline
 * @param {Columns} columns
 */
export function makeFixed(timeline, columns) {
    const starts = [0];
    for (const { n } of timeline.curves) starts.push(starts[starts.length - 1] + n);
    const held_of = timeline.groups.map(() => /** @type {number[]} */ ([]));
    columns.held.group.forEach((group, i) => held_of[group]?.push(i));

    return {
        n_curves: timeline.curves.length,

        /**
         * Points of a curve between two times, those of one pixel joined.
         * @param {number} curve  below n_curves
         * @param {number} begin @param {number} end @param {number} resolution @returns {CurvePoints}
         */
        curve(curve, begin, end, resolution) {
            const time = columns.points.time.subarray(starts[curve], starts[curve + 1]);
            const value = columns.points.value.subarray(starts[curve], starts[curve + 1]);
            // One more point on each side, so that lines reach the edges.
            const first = Math.max(0, firstAfter(time, begin) - 1);
            const last = Math.min(time.length, firstFrom(time, end) + 1);
            const most = Math.max(0, last - first);
            const out = {
                time: new Float64Array(most),
                least: new Float64Array(most),
                most: new Float64Array(most),
                last: new Float64Array(most),
                n: 0,
            };
            let cell = NaN;
            for (let i = first; i < last; i++) {
                const here = Math.floor(time[i] / resolution);
                const inner = here === cell && i > first + 1 && i < last - 1;
                if (!inner) {
                    const at = out.n++;
                    out.time[at] = time[i];
                    out.least[at] = out.most[at] = out.last[at] = value[i];
                    cell = here;
                    continue;
                }
                const at = out.n - 1;
                out.least[at] = Math.min(out.least[at], value[i]);
                out.most[at] = Math.max(out.most[at], value[i]);
                out.last[at] = value[i];
            }
            return out;
        },

        /** The live memory of a group at a time, the largest first. @param {number} group @param {number} time */
        held(group, time) {
            const { begin, end, mb, name } = columns.held;
            return (held_of[group] ?? [])
                .filter((i) => begin[i] <= time && time < end[i])
                .map((i) => ({
                    group,
                    name: timeline.held_names.text[name[i]] ?? "",
                    type: timeline.held_names.type[name[i]] ?? 0,
                    begin: begin[i],
                    end: end[i],
                    mb: mb[i],
                }))
                .sort((a, b) => b.mb - a.mb);
        },
    };
}
