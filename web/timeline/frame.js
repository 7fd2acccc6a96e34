// The parts around the rows: the axis and the overview above them, names of steps, the range, marks and the pointer
// across them, and the lanes of curves below. Each function draws one of these into the canvas, in pixels of the page.

import { ticksOf } from "./axis.js";
import { LANE, paintCurve, rangeOf, scaleOfLane, valueAt } from "./curves.js";
import { cut, fitName } from "./labels.js";
import { say } from "../texts.js";

/** @typedef {import("./geometry.js").Parts} Parts */
/** @typedef {import("./palette.js").Palette} Palette */
/** @typedef {CanvasRenderingContext2D} Canvas */
/** @typedef {{begin: number, end: number}} Time */

const TICKS_APART = 96;
const BETWEEN_LEAST = 70; // pixels between marks from which on their distance is written
const SMALL = 11,
    SMALL_LETTER = 6.1; // pixels; the average width of the page's letters is at most this

/** @param {Canvas} canvas @param {Palette} palette @param {string} color @param {string} [weight] */
function small(canvas, palette, color, weight = "") {
    canvas.font = `${weight} ${SMALL}px ${palette.font}`;
    canvas.fillStyle = color;
    canvas.textBaseline = "middle";
    canvas.textAlign = "left";
}

/** @param {Canvas} canvas @param {import("./geometry.js").Rectangle} box */
function clipTo(canvas, box) {
    canvas.save();
    canvas.beginPath();
    canvas.rect(box.x, box.y, box.width, box.height);
    canvas.clip();
}

/** @param {Parts} parts @param {Time} time */
function scaleOf(parts, time) {
    return parts.axis.width / (time.end - time.begin);
}

/** The axis' ticks; shared by the axis and the lines behind rows. @param {Parts} parts @param {Time} time
 *  @param {{unit: "ns" | null, zero: number, origin: string | null}} clock */
export function ticksFor(parts, time, clock) {
    return ticksOf({ ...time, ...clock, width: parts.axis.width, apart: TICKS_APART });
}

/** @param {Canvas} canvas @param {Parts} parts @param {Time} time @param {ReturnType<typeof ticksOf>} ticks
 *  @param {Palette} palette @param {string} corner  text at its left */
export function drawAxis(canvas, parts, time, ticks, palette, corner) {
    const { axis, gutter } = parts,
        scale = scaleOf(parts, time),
        bottom = axis.y + axis.height;
    canvas.fillStyle = palette.css.ground;
    canvas.fillRect(0, axis.y, parts.width, axis.height + parts.steps.height);
    canvas.fillStyle = palette.css.strong;
    canvas.fillRect(0, parts.rows.y - 1, parts.width, 1);
    small(canvas, palette, palette.css.quiet);
    canvas.fillText(fitName(canvas, corner, gutter - 14, "small"), 8, axis.y + axis.height / 2);
    clipTo(canvas, { ...axis, height: axis.height + parts.steps.height });
    canvas.fillStyle = palette.css.strong;
    for (let k = 0, at = ticks.first; at <= time.end && k < 1000; k++, at = ticks.first + k * ticks.minor) {
        canvas.fillRect(Math.round(axis.x + (at - time.begin) * scale), bottom - 5, 1, 4);
    }
    for (const tick of ticks.ticks) {
        const x = Math.round(axis.x + (tick.time - time.begin) * scale);
        canvas.fillStyle = palette.css.quiet;
        canvas.fillRect(x, bottom - 12, 1, 11);
        if (x + 4 + tick.label.length * SMALL_LETTER < parts.width) {
            small(canvas, palette, palette.css.text);
            canvas.fillText(tick.label, x + 4, axis.y + axis.height / 2 - 2);
        }
    }
    canvas.restore();
}

/** Names of steps, where they fit. @param {Canvas} canvas @param {Parts} parts @param {Time} time
 *  @param {{name: string, begin: number, end: number}[]} steps  in order, not overlapping @param {Palette} palette */
export function drawSteps(canvas, parts, time, steps, palette) {
    const { steps: box } = parts,
        scale = scaleOf(parts, time);
    if (box.height === 0) {
        return;
    }
    small(canvas, palette, palette.css.quiet);
    canvas.fillText(say("Steps"), 8, box.y + box.height / 2);
    clipTo(canvas, box);
    steps.forEach((step, at) => {
        const from = Math.max(box.x, box.x + (step.begin - time.begin) * scale);
        const to = Math.min(box.x + box.width, box.x + (step.end - time.begin) * scale);
        if (to - from < 4) {
            return;
        }
        canvas.fillStyle = at % 2 === 1 ? palette.css.head : palette.css.band;
        canvas.fillRect(from + 0.5, box.y, to - from - 1, box.height - 1);
        const text = cut(step.name, Math.floor((to - from - 8) / SMALL_LETTER));
        small(canvas, palette, palette.css.text);
        canvas.fillText(text, from + 5, box.y + box.height / 2);
    });
    canvas.restore();
}

/** The overview and the shown part of it. @param {Canvas} canvas @param {Parts} parts @param {Time} time
 *  @param {Time} all @param {HTMLCanvasElement | null} picture @param {Palette} palette @param {string} text */
export function drawOverview(canvas, parts, time, all, picture, palette, text) {
    const box = parts.overview,
        scale = box.width / (all.end - all.begin);
    canvas.fillStyle = palette.css.ground;
    canvas.fillRect(0, box.y, parts.width, box.height);
    small(canvas, palette, palette.css.quiet);
    canvas.fillText(fitName(canvas, text, parts.gutter - 14, "small"), 8, box.y + box.height / 2);
    if (picture !== null) {
        canvas.drawImage(picture, box.x, box.y + 3, box.width, box.height - 6);
    }
    const from = box.x + Math.max(0, (time.begin - all.begin) * scale);
    const to = Math.max(from + 2, Math.min(box.x + box.width, box.x + (time.end - all.begin) * scale));
    canvas.globalAlpha = 0.65;
    canvas.fillStyle = palette.css.ground;
    canvas.fillRect(box.x, box.y, from - box.x, box.height);
    canvas.fillRect(to, box.y, box.x + box.width - to, box.height);
    canvas.globalAlpha = 1;
    canvas.strokeStyle = palette.css.accent;
    canvas.lineWidth = 1.5;
    canvas.strokeRect(from + 0.75, box.y + 1.75, Math.max(1, to - from - 1.5), box.height - 3.5);
    canvas.fillStyle = palette.css.line;
    canvas.fillRect(0, box.y + box.height - 1, parts.width, 1);
}

/** A text on a plate. @param {Canvas} canvas @param {string} text @param {number} x  middle @param {number} y  middle
 *  @param {{from: number, to: number}} within @param {string} ground @param {string} ink @param {Palette} palette */
function plate(canvas, text, x, y, within, ground, ink, palette) {
    small(canvas, palette, ink, "600");
    const width = canvas.measureText(text).width + 10;
    const left = Math.max(within.from, Math.min(within.to - width, x - width / 2));
    canvas.fillStyle = ground;
    canvas.beginPath();
    canvas.roundRect(left, y - 8, width, 16, 3);
    canvas.fill();
    canvas.fillStyle = ink;
    canvas.fillText(text, left + 5, y + 0.5);
}

/** The dragged range, with its length. @param {Canvas} canvas @param {Parts} parts @param {Time} time
 *  @param {[number, number]} range @param {{y: number, height: number}[] | null} lines that it is of; null: all
 *  @param {string} text @param {Palette} palette */
export function drawRange(canvas, parts, time, range, lines, text, palette) {
    const { rows } = parts,
        scale = scaleOf(parts, time),
        bottom = parts.height;
    clipTo(canvas, { ...rows, y: parts.axis.y, height: bottom - parts.axis.y });
    const from = rows.x + (range[0] - time.begin) * scale,
        to = rows.x + (range[1] - time.begin) * scale;
    const left = Math.max(rows.x - 4, Math.min(from, rows.x + rows.width + 4));
    const right = Math.max(rows.x - 4, Math.min(to, rows.x + rows.width + 4));
    canvas.fillStyle = palette.css.range;
    for (const { y, height } of lines ?? [{ y: parts.axis.y, height: bottom - parts.axis.y }]) {
        canvas.fillRect(left, y, right - left, height);
    }
    canvas.fillStyle = palette.css.accent;
    for (const { y, height } of lines ?? []) {
        canvas.fillRect(left, y, right - left, 1);
        canvas.fillRect(left, y + height - 1, right - left, 1);
    }
    canvas.fillRect(Math.round(left), parts.axis.y, 1, bottom - parts.axis.y);
    canvas.fillRect(Math.round(right) - 1, parts.axis.y, 1, bottom - parts.axis.y);
    if (right > rows.x && left < rows.x + rows.width) {
        const within = { from: rows.x + 2, to: rows.x + rows.width - 2 };
        plate(canvas, text, (left + right) / 2, rows.y + 12, within, palette.css.accent, palette.css.ground, palette);
    }
    canvas.restore();
}

/** Flags of marks. @param {Canvas} canvas @param {Parts} parts @param {Time} time
 *  @param {{time: number, name: string}[]} marks @param {(time: number) => string} duration @param {Palette} palette */
export function drawMarks(canvas, parts, time, marks, duration, palette) {
    const { rows, axis } = parts,
        scale = scaleOf(parts, time);
    clipTo(canvas, { ...rows, y: axis.y, height: parts.height - axis.y });
    marks.slice(1).forEach((mark, at) => {
        const from = rows.x + (marks[at].time - time.begin) * scale,
            to = rows.x + (mark.time - time.begin) * scale;
        const [left, right] = [Math.max(rows.x, from), Math.min(rows.x + rows.width, to)];
        if (right - left > BETWEEN_LEAST) {
            canvas.fillStyle = palette.css.mark;
            canvas.fillRect(left, axis.y + 20, right - left, 1);
            plate(canvas, duration(mark.time - marks[at].time), (left + right) / 2, axis.y + 20, { from: left, to: right },
                palette.css.mark, palette.css.ground, palette);
        }
    });
    for (const mark of marks) {
        const x = Math.round(rows.x + (mark.time - time.begin) * scale);
        if (x < rows.x - 200 || x > rows.x + rows.width) {
            continue;
        }
        canvas.fillStyle = palette.css.mark;
        canvas.fillRect(x, axis.y, 1, parts.height - axis.y);
        small(canvas, palette, palette.css.ground, "600");
        const text = cut(mark.name, 24),
            width = Math.max(10, canvas.measureText(text).width + 10);
        canvas.fillStyle = palette.css.mark;
        canvas.beginPath();
        canvas.moveTo(x, axis.y);
        canvas.lineTo(x + width + 5, axis.y);
        canvas.lineTo(x + width, axis.y + 6.5);
        canvas.lineTo(x + width + 5, axis.y + 13);
        canvas.lineTo(x, axis.y + 13);
        canvas.fill();
        canvas.fillStyle = palette.css.ground;
        canvas.fillText(text, x + 4, axis.y + 7);
    }
    canvas.restore();
}

/** @param {Canvas} canvas @param {Parts} parts @param {Time} time @param {number} at @param {Palette} palette */
export function drawPointer(canvas, parts, time, at, palette) {
    const x = Math.round(parts.rows.x + (at - time.begin) * scaleOf(parts, time));
    if (x >= parts.rows.x && x < parts.rows.x + parts.rows.width) {
        canvas.fillStyle = palette.css.quiet;
        canvas.globalAlpha = 0.6;
        canvas.fillRect(x, parts.axis.y + 12, 1, parts.height - parts.axis.y - 12);
        canvas.globalAlpha = 1;
    }
}

/** The bar between rows and curves. @param {Canvas} canvas @param {Parts} parts @param {Palette} palette */
export function drawSplit(canvas, parts, palette) {
    const { split } = parts;
    if (split.height === 0) {
        return;
    }
    canvas.fillStyle = palette.css.head;
    canvas.fillRect(0, split.y, split.width, split.height);
    canvas.fillStyle = palette.css.strong;
    canvas.fillRect(0, split.y, split.width, 1);
    canvas.fillRect(split.width / 2 - 18, split.y + 3, 36, 2);
}

/** Pixels of the lanes: scratch of drawLanes. @type {ImageData | null} */
let kept = null;

/**
 * The visible lanes: curves and their names.
 * @param {Canvas} canvas @param {Parts} parts @param {Time} time
 * @param {{lane: import("./curves.js").Lane, source: import("../types").Source, group: string}[]} lanes
 * @param {{top: number, pointer: number | null, ratio: number, value: (value: number, unit: string) => string}} view
 * @param {Palette} palette
 */
export function drawLanes(canvas, parts, time, lanes, view, palette) {
    const { curves: box, gutter } = parts,
        { ratio } = view;
    if (box.height < 1) {
        return;
    }
    const width = Math.round(box.width * ratio),
        scale = width / (time.end - time.begin);
    const height = Math.round(box.height * ratio);
    if (kept === null || kept.width !== width || kept.height !== height) {
        kept = new ImageData(width, height);
    }
    const image = kept;
    const pixels = new Uint32Array(image.data.buffer).fill(palette.ground);
    const first = Math.floor(view.top / LANE),
        last = Math.min(lanes.length, Math.ceil((view.top + box.height) / LANE));
    const points = lanes
        .slice(first, last)
        .map(({ lane, source }) => source.curve(lane.curve, time.begin, time.end, 1 / scale));
    points.forEach((found, at) => {
        const { lane, source } = lanes[first + at],
            top = Math.round(((first + at) * LANE - view.top) * ratio);
        const clock = { begin: time.begin, scale, end: source.timeline.end };
        paintCurve(pixels, width, top, Math.round((LANE - 1) * ratio), lane, found, clock, palette.curve, ratio);
        const line = top + Math.round((LANE - 1) * ratio);
        pixels.fill(
            palette.line,
            Math.max(0, line * width),
            Math.max(0, (line + Math.max(1, Math.round(ratio))) * width),
        );
    });
    canvas.putImageData(image, Math.round(box.x * ratio), Math.round(box.y * ratio));
    clipTo(canvas, { x: 0, y: box.y, width: parts.width, height: box.height });
    canvas.fillStyle = palette.css.ground;
    canvas.fillRect(0, box.y, gutter, box.height);
    points.forEach((found, at) => {
        const { lane, source, group } = lanes[first + at],
            y = box.y + (first + at) * LANE - view.top;
        const inner = { x: gutter, y, width: box.width, height: LANE - 1 };
        const y_of = (value) => y + scaleOfLane(lane, LANE - 1, 1)(value);
        if (lane.limit !== null) {
            const middle = y_of(lane.limit) + (y_of(lane.limit) < y + 18 ? 10 : -10);
            plate(
                canvas,
                say("limit {0}", view.value(lane.limit, lane.unit)),
                parts.width,
                middle,
                { from: gutter, to: parts.width - 10 },
                palette.css.ground,
                palette.css.limit,
                palette,
            );
        }
        const value = found === null || view.pointer === null ? null : valueAt(found, lane.steps, view.pointer);
        if (value !== null && view.pointer !== null && view.pointer <= source.timeline.end) {
            drawValue(
                canvas,
                inner,
                gutter + ((view.pointer - time.begin) * scale) / ratio,
                y_of(value),
                view.value(value, lane.unit),
                palette,
            );
        }
        nameLane(canvas, lane, group, { x: 0, y, width: gutter, height: LANE - 1 }, view.value, palette);
        canvas.fillStyle = palette.css.line;
        canvas.fillRect(0, y + LANE - 1, gutter, 1);
    });
    canvas.restore();
}

/** A dot on the curve with its value. @param {Canvas} canvas @param {import("./geometry.js").Rectangle} box
 *  @param {number} x @param {number} y @param {string} text @param {Palette} palette */
function drawValue(canvas, box, x, y, text, palette) {
    if (x < box.x || x > box.x + box.width) {
        return;
    }
    canvas.fillStyle = palette.css.curve;
    canvas.beginPath();
    canvas.arc(x, y, 3, 0, 2 * Math.PI);
    canvas.fill();
    const right = x + 90 < box.x + box.width;
    const middle = Math.max(box.y + 10, Math.min(box.y + box.height - 10, y));
    plate(
        canvas,
        text,
        x + (right ? 44 : -44),
        middle,
        { from: box.x, to: box.x + box.width },
        palette.css.head,
        palette.css.text,
        palette,
    );
}

/** Name, group, and the least and most values at the axis. @param {Canvas} canvas @param {import("./curves.js").Lane}
 *  lane
 * @param {string} group @param {import("./geometry.js").Rectangle} box @param {(value: number, unit: string) => string}
 *        value
 *  @param {Palette} palette */
function nameLane(canvas, lane, group, box, value, palette) {
    canvas.font = `600 12px ${palette.font}`;
    canvas.fillStyle = palette.css.text;
    canvas.textAlign = "left";
    canvas.textBaseline = "middle";
    canvas.fillText(fitName(canvas, group, box.width - 86, "bold"), 8, box.y + 13);
    small(canvas, palette, palette.css.quiet);
    canvas.fillText(fitName(canvas, lane.name, box.width - 16, "small"), 8, box.y + 30);
    canvas.textAlign = "right";
    const [low] = rangeOf(lane);
    if (Number.isFinite(lane.most)) {
        canvas.fillText(value(lane.most, lane.unit), box.width - 6, box.y + 13);
        canvas.textAlign = "left";
        // Where the axis begins with it, the axis has its label.
        if (lane.least !== low) {
            canvas.fillText(say("least {0}", value(lane.least, lane.unit)), 8, box.y + 48);
        }
    }
    canvas.textAlign = "right";
    canvas.fillText(value(low, lane.unit), box.width - 6, box.y + box.height - 9);
}
