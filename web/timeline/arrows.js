// Arrows between events: a curve from an end to a beginning, with a head. Those with ends on the same few pixels as an
// earlier one are left out, and so are those beyond a limit, so that a picture of ten thousand sends stays readable.

export const MOST_ARROWS = 200;
const SAME = 10; // pixels

/** @typedef {{x0: number, y0: number, x1: number, y1: number}} Bow */

/**
 * The distinguishable ones of many arrows, up to a limit, spread over all.
 * @param {Bow[]} bows @param {number} most @returns {Bow[]}
 */
export function thin(bows, most) {
    const seen = new Set();
    const kept = bows.filter((bow) => {
        const key = [bow.x0, bow.y0, bow.x1, bow.y1].map((at) => Math.round(at / SAME)).join(",");
        const known = seen.has(key);
        seen.add(key);
        return !known;
    });
    if (kept.length <= most) {
        return kept;
    }
    return Array.from({ length: most }, (_, at) => kept[Math.floor((at * kept.length) / most)]);
}

/** The curve's control points and the direction of its head: it leaves and arrives level, or upright where it is steep.
 *  @param {Bow} bow @returns {{c0: [number, number], c1: [number, number], along: [number, number]}} */
export function controls(bow) {
    const dx = bow.x1 - bow.x0,
        dy = bow.y1 - bow.y0;
    if (Math.abs(dx) < Math.abs(dy)) {
        const way = Math.sign(dy);
        return { c0: [bow.x0, bow.y0 + dy / 2], c1: [bow.x1, bow.y1 - dy / 2], along: [0, way] };
    }
    const reach = Math.min(80, dx < 0 ? 24 : dx / 2);
    return { c0: [bow.x0 + reach, bow.y0], c1: [bow.x1 - reach, bow.y1], along: [1, 0] };
}

/**
 * @param {CanvasRenderingContext2D} context @param {Bow[]} bows
 * @param {{color: string, width: number, head: number}} look
 */
export function drawBows(context, bows, look) {
    context.strokeStyle = look.color;
    context.fillStyle = look.color;
    context.lineWidth = look.width;
    const half = look.head / 2;
    context.beginPath();
    for (const bow of bows) {
        const {
            c0,
            c1,
            along: [ax, ay],
        } = controls(bow);
        context.moveTo(bow.x0, bow.y0);
        context.bezierCurveTo(c0[0], c0[1], c1[0], c1[1], bow.x1 - ax * half, bow.y1 - ay * half);
    }
    context.stroke();
    context.beginPath();
    for (const bow of bows) {
        const [ax, ay] = controls(bow).along,
            x = bow.x1 - ax * look.head,
            y = bow.y1 - ay * look.head;
        context.moveTo(bow.x1, bow.y1);
        context.lineTo(x - ay * half, y + ax * half);
        context.lineTo(x + ay * half, y - ax * half);
        context.closePath();
    }
    context.fill();
}

/** @typedef {{x: number, y: number, height: number, last: boolean}} Knot  where a rank begins a collective: its row */

/**
 * A collective over its ranks: a line from begin to begin down the rows, a knot on each, a larger one where the others
 * waited for.
 * @param {CanvasRenderingContext2D} context @param {Knot[]} knots  by y
 * @param {{ground: string, color: string, last: string}} look
 */
export function drawKnots(context, knots, look) {
    context.beginPath();
    for (let i = 1; i < knots.length; i++) {
        const from = knots[i - 1],
            to = knots[i];
        const y0 = from.y + from.height / 2,
            y1 = to.y + to.height / 2,
            middle = (y0 + y1) / 2;
        context.moveTo(from.x, y0);
        context.bezierCurveTo(from.x, middle, to.x, middle, to.x, y1);
    }
    for (const [color, width] of /** @type {[string, number][]} */ ([[look.ground, 4], [look.color, 1.75]])) {
        context.strokeStyle = color;
        context.lineWidth = width;
        context.stroke();
    }
    for (const knot of knots) {
        const most = Math.max(2, knot.height / 2);
        context.beginPath();
        context.arc(knot.x, knot.y + knot.height / 2, Math.min(most, knot.last ? 5.5 : 3.5), 0, 2 * Math.PI);
        context.fillStyle = knot.last ? look.last : look.color;
        context.strokeStyle = look.ground;
        context.lineWidth = 1.5;
        context.fill();
        context.stroke();
    }
}
