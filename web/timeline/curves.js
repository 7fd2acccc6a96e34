// Curves below the timeline, on its time axis: a lane each, with the least and most of its values, the limit as a dashed
// line, and what is above the limit in the colour of alarm. Points carry the least and most value since the one before,
// so that a peak narrower than a pixel is still drawn.

export const LANE = 66;
const INSET = 6;
const HEADROOM = 1.08;

/**
 * @typedef {object} Lane
 * @property {number} curve  number for source.curve
 * @property {string} name @property {number} group @property {string} unit @property {number | null} limit
 * @property {boolean} steps
 * @property {number} least @property {number} most  of all its values; NaN while unknown
 */
/** @typedef {import("../types").CurvePoints} CurvePoints */

/** A lane for each curve, then for each counter. @param {import("../types").Timeline} timeline @returns {Lane[]} */
export function lanesOf(timeline) {
    const curves = timeline.curves.map((curve, number) => ({ curve: number, name: curve.name, group: curve.group,
        unit: curve.unit, limit: curve.limit, steps: curve.steps, least: NaN, most: NaN }));
    const counters = (timeline.counters ?? []).map((counter, number) => ({ curve: curves.length + number, name: counter.name,
        group: counter.group, unit: counter.unit, limit: null, steps: true, least: counter.least, most: counter.most }));
    return [...curves, ...counters];
}

/** Least and most of all points. @param {CurvePoints} points @returns {[number, number]} */
export function extremes(points) {
    let least = Infinity, most = -Infinity;
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
export function pointAt(points, time) {
    let low = 0, high = points.n;
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

/** The curve's line from left to right. @param {CanvasRenderingContext2D} context @param {CurvePoints} points
 *  @param {boolean} steps @param {(time: number) => number} x_of @param {(value: number) => number} y_of
 *  @param {number} right  x to which the last value of a step curve goes on */
function trace(context, points, steps, x_of, y_of, right) {
    for (let i = 0; i < points.n; i++) {
        const x = x_of(points.time[i]), y = y_of(points.last[i]);
        if (steps && i > 0) {
            context.lineTo(x, y_of(points.last[i - 1]));
        }
        if (points.least[i] !== points.most[i]) {
            context.lineTo(x, y_of(points.least[i]));
            context.lineTo(x, y_of(points.most[i]));
        }
        context.lineTo(x, y);
    }
    if (steps && points.n > 0) {
        context.lineTo(right, y_of(points.last[points.n - 1]));
    }
}

/**
 * Draw a lane's curve and limit into the rectangle.
 * @param {CanvasRenderingContext2D} context @param {Lane} lane @param {CurvePoints | null} points
 * @param {{x: number, y: number, width: number, height: number}} box
 * @param {{begin: number, scale: number, end: number}} time  end: of the timeline, where step curves end
 * @param {{line: string, fill: string, alarm: string, limit: string}} look
 */
export function drawCurve(context, lane, points, box, time, look) {
    const [low, high] = rangeOf(lane);
    const bottom = box.y + box.height - INSET;
    const y_of = (value) => bottom - (value - low) / (high - low) * (box.height - 2 * INSET);
    const x_of = (at) => box.x + Math.max(-1e5, Math.min(1e5, (at - time.begin) * time.scale));
    const right = Math.min(x_of(time.end), box.x + box.width + 2);
    if (points !== null && points.n > 0) {
        const ground = y_of(Math.max(low, Math.min(0, high)));
        const outline = () => {
            context.beginPath();
            context.moveTo(x_of(points.time[0]), ground);
            trace(context, points, lane.steps, x_of, y_of, right);
            context.lineTo(lane.steps ? right : x_of(points.time[points.n - 1]), ground);
            context.closePath();
        };
        outline();
        context.fillStyle = look.fill;
        context.fill();
        context.beginPath();
        trace(context, points, lane.steps, x_of, y_of, right);
        context.strokeStyle = look.line;
        context.lineWidth = 1.25;
        context.stroke();
        if (lane.limit !== null && !(lane.most <= lane.limit)) {
            context.save();
            context.beginPath();
            context.rect(box.x, box.y, box.width, y_of(lane.limit) - box.y);
            context.clip();
            outline();
            context.fillStyle = look.alarm;
            context.fill();
            context.restore();
        }
    }
    if (lane.limit !== null) {
        context.strokeStyle = look.limit;
        context.lineWidth = 1;
        context.setLineDash([5, 4]);
        context.beginPath();
        context.moveTo(box.x, Math.round(y_of(lane.limit)) + 0.5);
        context.lineTo(box.x + box.width, Math.round(y_of(lane.limit)) + 0.5);
        context.stroke();
        context.setLineDash([]);
    }
    return y_of;
}
