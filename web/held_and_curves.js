// What a document itself holds of a timeline beside events: curves, thinned to what a picture can show, and what is held
// at a time. Of served timelines too, whose events come from the server.

import { firstAfter, firstFrom } from "./blocks.js";

/**
 * @param {import("./types").Timeline} timeline
 * @param {import("./document.js").Columns} columns
 * @returns {Pick<import("./types").Source, "curve" | "held">} null for curves that are not in the document
 */
export function heldAndCurves(timeline, columns) {
    const curve_starts = [0];
    for (const { n } of timeline.curves) curve_starts.push(curve_starts[curve_starts.length - 1] + n);
    const held_of = timeline.groups.map(() => /** @type {number[]} */ ([]));
    columns.held.group.forEach((group, i) => held_of[group]?.push(i));
    return {
        curve(curve, begin, end_time, resolution) {
            if (curve >= timeline.curves.length) return null;
            const time = columns.points.time.subarray(curve_starts[curve], curve_starts[curve + 1]);
            const value = columns.points.value.subarray(curve_starts[curve], curve_starts[curve + 1]);
            // One point more on each side, so that lines reach the edges.
            const first = Math.max(0, firstAfter(time, begin) - 1);
            const last = Math.min(time.length, firstFrom(time, end_time) + 1);
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

        held(group, time) {
            const { begin, end: until, mb, name } = columns.held;
            return (held_of[group] ?? [])
                .filter((i) => begin[i] <= time && time < until[i])
                .map((i) => ({
                    group,
                    name: timeline.held_names.text[name[i]] ?? "",
                    type: timeline.held_names.type[name[i]] ?? 0,
                    begin: begin[i],
                    end: until[i],
                    mb: mb[i],
                }))
                .sort((a, b) => b.mb - a.mb);
        },
    };
}
