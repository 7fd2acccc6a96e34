// Arrows between events: a curve from an end to a beginning, with a head. Those whose ends fall on the same few pixels as
// an earlier one are left out, and so are those beyond a limit, so that a picture of ten thousand sends stays a picture.

export const MOST_ARROWS = 400;
const SAME = 5; // pixels

/** @typedef {{x0: number, y0: number, x1: number, y1: number}} Bow */

/**
 * Of many arrows those that can be told apart, at most so many, spread over all.
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
    return Array.from({ length: most }, (_, at) => kept[Math.floor(at * kept.length / most)]);
}

/** Control points of the curve: it leaves and arrives level. @param {Bow} bow */
export function controls(bow) {
    const reach = Math.min(80, Math.max(bow.x1 - bow.x0 < 0 ? 24 : 3, Math.abs(bow.x1 - bow.x0) / 2));
    return { c0: bow.x0 + reach, c1: bow.x1 - reach };
}

/**
 * @param {CanvasRenderingContext2D} context @param {Bow[]} bows
 * @param {{color: string, width: number, head: number}} look
 */
export function drawBows(context, bows, look) {
    context.strokeStyle = look.color;
    context.fillStyle = look.color;
    context.lineWidth = look.width;
    context.beginPath();
    for (const bow of bows) {
        const { c0, c1 } = controls(bow);
        context.moveTo(bow.x0, bow.y0);
        context.bezierCurveTo(c0, bow.y0, c1, bow.y1, bow.x1 - look.head / 2, bow.y1);
    }
    context.stroke();
    context.beginPath();
    for (const bow of bows) {
        context.moveTo(bow.x1, bow.y1);
        context.lineTo(bow.x1 - look.head, bow.y1 - look.head / 2);
        context.lineTo(bow.x1 - look.head, bow.y1 + look.head / 2);
        context.closePath();
    }
    context.fill();
}
