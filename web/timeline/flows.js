// The arrows of a frame: those of the selected event, and with the view's arrows on, all in sight, thinned.

import { MOST_ARROWS, drawBows, drawKnots, thin } from "./arrows.js";

const ASKED = 2000; // of the source: with more in sight none are drawn
const LEAST = 3; // pixels between the ends
const LEAN = 0.3; // of a row's height
const CLEAR = 100; // arrows; from there on they get fainter
const FAINTEST = 0.3;

/** @typedef {ReturnType<typeof import("./pane.js").newPane>} Pane */
/** @typedef {import("./arrows.js").Bow} Bow */
/** @typedef {import("./arrows.js").Knot} Knot */

/** @param {Pane} pane @param {{begin: number, end: number}} time @returns {(time: number) => number} */
function xIn(pane, time) {
    const scale = pane.box.width / (time.end - time.begin);
    return (at) => pane.box.x + Math.max(-4000, Math.min(pane.box.width + 4000, (at - time.begin) * scale));
}

/** @param {Pane} pane @param {(time: number) => number} x_of
 *  @param {number} from_row @param {number} from @param {number} to_row @param {number} to @returns {Bow | null} */
function bowOf(pane, x_of, from_row, from, to_row, to) {
    const start = pane.placeOf(from_row),
        end = pane.placeOf(to_row);
    if (start === null || end === null) {
        return null;
    }
    // Off the middle, where labels are, on the side of the other end.
    const side = start.y === end.y ? 0 : start.y < end.y ? LEAN : -LEAN;
    const bow = {
        x0: x_of(from),
        y0: start.y + start.height * (0.5 + side),
        x1: x_of(to),
        y1: end.y + end.height * (0.5 - side),
    };
    const { box } = pane;
    const outside =
        Math.max(bow.y0, bow.y1) < box.y ||
        Math.min(bow.y0, bow.y1) > box.y + box.height ||
        Math.max(bow.x0, bow.x1) < box.x ||
        Math.min(bow.x0, bow.x1) > box.x + box.width;
    return outside || Math.abs(bow.x1 - bow.x0) + Math.abs(bow.y1 - bow.y0) < LEAST ? null : bow;
}

/** @param {CanvasRenderingContext2D} canvas @param {Pane} pane */
function clipTo(canvas, pane) {
    canvas.save();
    canvas.beginPath();
    canvas.rect(pane.box.x, pane.box.y, pane.box.width, pane.box.height);
    canvas.clip();
}

/** All arrows in sight, equal ones once; none where there are too many. @param {CanvasRenderingContext2D} canvas
 *  @param {Pane} pane @param {{begin: number, end: number}} time
 *  @param {import("./palette.js").Palette} palette @returns {boolean} false: too many */
export function drawArrows(canvas, pane, time, palette) {
    const found = pane.source.arrows(pane.rows, time.begin, time.end, ASKED);
    if (found === null || !found.all) {
        // only the first ones would look as if there were no others
        return found === null;
    }
    const x_of = xIn(pane, time);
    /** @type {Bow[]} */
    const bows = [];
    for (let i = 0; i < found.name.length; i++) {
        const bow = bowOf(pane, x_of, found.from_row[i], found.from_time[i], found.to_row[i], found.to_time[i]);
        if (bow !== null) {
            bows.push(bow);
        }
    }
    const shown = thin(bows, MOST_ARROWS);
    clipTo(canvas, pane);
    canvas.globalAlpha = Math.max(FAINTEST, Math.min(1, CLEAR / shown.length));
    drawBows(canvas, shown, { color: palette.css.arrow, width: 1, head: shown.length > CLEAR ? 5 : 6 });
    canvas.restore();
    return true;
}

/** The shown ranks' begins in a collective, from the top down; one a line. @param {Pane} pane
 *  @param {import("../types").Calls} calls @param {(time: number) => number} x_of @returns {Knot[]} */
export function knotsOf(pane, calls, x_of) {
    /** @type {Map<number, Knot>} by height */
    const knots = new Map();
    for (const call of calls.calls) {
        const place = pane.placeOf(call.row);
        if (place !== null && !(knots.get(place.y)?.last ?? false)) {
            knots.set(place.y, { x: x_of(call.begin), y: place.y, height: place.height, last: call.last });
        }
    }
    return [...knots.values()].sort((a, b) => a.y - b.y);
}

/** The selected event's outline, its flows, and its links to other ranks. @param {CanvasRenderingContext2D} canvas
 *  @param {import("./selection.js").Chosen} chosen @param {{begin: number, end: number}} time
 *  @param {import("./palette.js").Palette} palette */
export function drawChosen(canvas, chosen, time, palette) {
    const { pane, details } = chosen,
        place = pane.placeOf(chosen.row);
    const x_of = xIn(pane, time);
    clipTo(canvas, pane);
    /** @type {Bow[]} */
    const bows = [];
    for (const flow of details.flows) {
        const here = flow.outgoing ? details.end : details.begin;
        const bow = flow.outgoing
            ? bowOf(pane, x_of, chosen.row, Math.min(here, Math.max(details.begin, flow.begin)), flow.row, flow.begin)
            : bowOf(pane, x_of, flow.row, Math.max(flow.begin, Math.min(flow.end, here)), chosen.row, here);
        if (bow !== null) {
            bows.push(bow);
        }
    }
    const shown = thin(bows, MOST_ARROWS);
    drawBows(canvas, shown, { color: palette.css.ground, width: 4, head: 11 });
    drawBows(canvas, shown, { color: palette.css.flow, width: 1.75, head: 8 });
    if (place !== null) {
        const from = Math.round(x_of(details.begin)),
            to = Math.max(from + 3, Math.round(x_of(details.end)));
        const gap = place.height >= 5 ? 1 : 0;
        canvas.lineWidth = 2;
        canvas.strokeStyle = palette.css.ground;
        canvas.strokeRect(from - 2, place.y - 2, to - from + 3, place.height - gap + 4);
        canvas.strokeStyle = palette.css.select;
        canvas.strokeRect(from, place.y, to - from - 1, place.height - gap);
    }
    if (details.calls) {
        const look = { ground: palette.css.ground, color: palette.css.flow, last: palette.css.alarm };
        drawKnots(canvas, knotsOf(pane, details.calls, x_of), look);
    }
    canvas.restore();
}
