// The memory of a timeline as curves: selects the curves of memory, their unit, and makes paths of curves and areas for
// a drawing.

import { lanesOf } from "../timeline/curves.js";

/** Curves and counters of a group that are memory; that of a model without sizes counts micro-batches. */
export function memoryCurves(timeline, group) {
    return lanesOf(timeline).filter(
        (lane) => lane.group === group && (lane.unit === "MB" || (timeline.n_held > 0 && lane.name === "memory")),
    );
}

/** A size as a text: "8 micro-batches", "1 micro-batch". */
export function sizeText(format, value, unit) {
    const text = format.value(value, unit);
    return value === 1 && unit === "micro-batches" ? text.slice(0, -2) : text;
}

/** The unit of sizes. @returns {import("../types").Unit} */
export function unitOf(timeline) {
    const lane = timeline.groups.flatMap((_, group) => memoryCurves(timeline, group))[0];
    return /** @type {import("../types").Unit} */ (lane?.unit ?? "MB");
}

/** Groups with content for this tab: all where memory entries exist, else those with a memory curve. */
export function groupsOf(timeline) {
    const all = timeline.groups.map((_, group) => group);
    return timeline.n_held > 0 ? all : all.filter((group) => memoryCurves(timeline, group).length > 0);
}

/** A curve as the path of a line; `steps`: values are valid until the next point. */
export function curvePath(points, steps, toX, toY, right) {
    let path = "";
    for (let i = 0; i < points.n; i++) {
        const [x, y] = [toX(points.time[i]).toFixed(1), toY(points.most[i]).toFixed(1)];
        path += i === 0 ? `M${x} ${y}` : steps ? `H${x}V${y}` : `L${x} ${y}`;
        if (points.last[i] !== points.most[i]) path += `V${toY(points.last[i]).toFixed(1)}`;
    }
    return steps && points.n > 0 ? `${path}H${right.toFixed(1)}` : path;
}

/** Areas of the types, one on the other, as paths. */
export function areaPaths(samples, begin, end, toX, toY) {
    const n = samples.total.length;
    const edge = (i) => toX(begin + ((end - begin) * i) / n).toFixed(1);
    let floor = new Float64Array(n);
    return samples.types.map((type) => {
        const top = floor.map((value, i) => value + samples.mb.get(type)[i]);
        let [forth, back] = ["", ""];
        for (let i = 0; i < n; i++) {
            forth += `${i === 0 ? "M" : "L"}${edge(i)} ${toY(top[i]).toFixed(1)}H${edge(i + 1)}`;
            back = `L${edge(i + 1)} ${toY(floor[i]).toFixed(1)}H${edge(i)}` + back;
        }
        floor = top;
        return { type, path: `${forth}${back}z` };
    });
}
