// The timeline as an SVG drawing: the same rows, stretch of time and colours as on the canvas, with names and labels as
// text. It is built of elements, never of markup, so that names of a trace stay text in it too.

import { append, svg } from "../dom.js";
import { rangeOf, scaleOfLane, LANE } from "./curves.js";
import { ticksFor } from "./frame.js";
import { cut, labelFor } from "./labels.js";
import { readPalette } from "./palette.js";
import { fullness } from "./raster.js";

const LETTER = 6.7; // pixels of a letter of 11 pixels, all of one width
const NAME_LETTER = 6.6; // of 12 pixels
const NARROWEST = 0.4;
const JOINED = 0.25; // pixels between boxes of one colour that become one
const MOST_SHAPES = 60000;

/** @typedef {import("./model.js").Model} Model */
/** @typedef {import("./model.js").Pane} Pane */
/** @typedef {import("./palette.js").Palette} Palette */

/** @param {number} value */
const short = (value) => String(Math.round(value * 100) / 100);

/** @param {number} pixel 0xAABBGGRR */
const css = (pixel) => `rgb(${pixel & 255},${(pixel >> 8) & 255},${(pixel >> 16) & 255})`;

/** Characters that XML forbids become U+FFFD. @param {string} content */
export const forXml = (content) => content.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff\ud800-\udfff]/gu, "\ufffd");

/** @param {number} x @param {number} y @param {string} content @param {Record<string, any>} [more] */
const text = (x, y, content, more = {}) => svg("text", { x: short(x), y: short(y), ...more }, forXml(content));

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} fill
 *  @param {Record<string, any>} [more] */
const rect = (x, y, width, height, fill, more = {}) =>
    svg("rect", { x: short(x), y: short(y), width: short(width), height: short(height), fill, ...more });

/**
 * The boxes of a row, and labels where they fit.
 * @param {Pane} pane @param {number} row @param {{y: number, height: number}} place @param {Model} it
 * @param {{n: number}} budget  shapes that may still be drawn
 */
function rowShapes(pane, row, place, it, budget) {
    const { view } = it,
        { box } = pane;
    const boxes = pane.boxesOf(row, view);
    const shapes = [];
    if (boxes === null) {
        return shapes;
    }
    const scale = box.width / (view.end - view.begin);
    let last = { x: -Infinity, end: -Infinity, fill: "", share: 1 };
    const flush = () => {
        if (last.fill !== "" && budget.n-- > 0) {
            const faint = last.share < 1 ? { "fill-opacity": short(0.35 + 0.65 * last.share) } : {};
            shapes.push(rect(last.x, place.y, Math.max(NARROWEST, last.end - last.x - (last.end - last.x >= 3 ? 1 : 0)), place.height - 1, last.fill, faint));
        }
    };
    for (let i = boxes.from; i < boxes.to; i++) {
        const x = Math.max(box.x, box.x + (boxes.begin[i] - view.begin) * scale);
        const end = Math.min(box.x + box.width, box.x + (boxes.end[i] - view.begin) * scale);
        if (end < box.x || x > box.x + box.width) {
            continue;
        }
        const fill = css(pane.colorOf(boxes.type[i], boxes.name[i])),
            share = fullness(boxes, i);
        if (fill === last.fill && share === last.share && x - last.end < JOINED && end - x < 1) {
            last.end = end;
            continue;
        }
        flush();
        last = { x, end, fill, share };
        const letters = Math.floor((end - x - 2) / LETTER);
        const single = boxes.count === null || boxes.count[i] === 1;
        // Blocks of a plan are numbered only where its longest number fits, so that no row stops at 9.
        const label = single && letters >= pane.number_letters ? labelFor(pane.source.name(boxes.name[i]), letters) : "";
        if (label !== "" && place.height >= 13 && budget.n > 0) {
            flush();
            last.fill = "";
            const ink = pane.context.colors.ink(boxes.type[i], boxes.name[i]);
            shapes.push(text((x + end) / 2, place.y + place.height / 2 + 3.5, label, { class: "label", fill: ink }));
        }
    }
    flush();
    return shapes;
}

/** A name of a row that fits: of "PROCESS / THREAD" the process is cut first. @param {string} name @param {number} letters */
const nameFor = (name, letters) => cut(name.length > letters ? name.slice(name.lastIndexOf(" / ") + 1).replace(/^\/ /, "") : name, letters);

/** A text on a ground of its own. @param {number} x  middle @param {number} y @param {string} content @param {string} ground
 *  @param {string} ink */
function plate(x, y, content, ground, ink) {
    const width = content.length * NAME_LETTER + 8;
    return [rect(x - width / 2, y - 11, width, 15, ground, { rx: 3 }), text(x, y, content, { fill: ink, "text-anchor": "middle" })];
}

/** Names and rows of a pane. @param {Pane} pane @param {Model} it @param {Palette} palette @param {{n: number}} budget */
function paneShapes(pane, it, palette, budget) {
    const { gutter } = it.parts;
    const shapes = [];
    for (const { line, y, height, clipped } of pane.linesInSight()) {
        const head = line.kind === "group";
        if (head) {
            shapes.push(rect(0, y, it.parts.width, height, palette.css.head));
        }
        if (!clipped) {
            const x = line.indented ? 24 : 8;
            const name = nameFor(line.name, Math.floor((gutter - x - 8) / NAME_LETTER));
            shapes.push(text(x, y + Math.min(height, 22) / 2 + 4, name, { class: head || !line.indented ? "head" : "name", fill: palette.css.text }));
        }
        if (line.kind === "curve") {
            shapes.push(...curveShapes(pane, line, y + height - line.height, it, palette));
        }
        for (const { row, place } of pane.rowsOfLine(line)) {
            shapes.push(...rowShapes(pane, row, place, it, budget));
        }
    }
    return shapes;
}

/** The line of a curve as a path. @param {import("./curves.js").CurvePoints} points @param {boolean} steps
 *  @param {(time: number) => number} x_of @param {{x: number, width: number}} box @param {(value: number) => number} y_of */
function curvePath(points, steps, x_of, box, y_of) {
    let path = "";
    for (let i = 0; i < points.n; i++) {
        const x = Math.max(box.x, Math.min(box.x + box.width, x_of(points.time[i])));
        const level = short(y_of(points.last[i]));
        path += path === "" ? `M${short(x)} ${level}` : steps ? `H${short(x)}V${level}` : `L${short(x)} ${level}`;
    }
    return path;
}

/** A curve among the rows, where all of it is visible. @param {Pane} pane @param {import("./layout.js").Line} line
 *  @param {number} y  of its top @param {Model} it @param {Palette} palette */
function curveShapes(pane, line, y, it, palette) {
    const { rows, gutter } = it.parts,
        { view } = it,
        scale = rows.width / (view.end - view.begin);
    const points = pane.source.curve(line.curve, view.begin, view.end, 1 / scale);
    if (points === null || points.n === 0 || y < pane.scrolled_from || y + line.height > rows.y + rows.height) {
        return [];
    }
    const lane = pane.laneOf(line),
        y_of = scaleOfLane(lane, line.height, 1);
    const path = curvePath(points, lane.steps, (time) => rows.x + (time - view.begin) * scale, rows, (value) => y + y_of(value));
    return [text(gutter - 6, y + 12, it.amount(lane.most, lane.unit), { class: "small", fill: palette.css.quiet, "text-anchor": "end" }),
        svg("path", { d: path, fill: "none", stroke: palette.css.curve, "stroke-width": 1 })];
}

/** Visible curves, with their names. @param {Model} it @param {Palette} palette */
function laneShapes(it, palette) {
    const { curves: box, gutter, width } = it.parts,
        { view } = it;
    const scale = box.width / (view.end - view.begin);
    return it.lanes.flatMap(({ lane, source, group }, at) => {
        const y = box.y + at * LANE - it.curves_top;
        const points = y < box.y - LANE || y > box.y + box.height ? null : source.curve(lane.curve, view.begin, view.end, 1 / scale);
        if (points === null || y < box.y || points.n === 0) {
            return [];
        }
        const y_of = scaleOfLane(lane, LANE - 1, 1);
        const path = curvePath(points, lane.steps, (time) => box.x + (time - view.begin) * scale, box, (value) => y + y_of(value));
        const [low] = rangeOf(lane);
        return [
            rect(0, y + LANE - 1, width, 1, palette.css.line),
            text(8, y + 17, cut(group, Math.floor((gutter - 86) / NAME_LETTER)), { class: "head", fill: palette.css.text }),
            text(8, y + 34, cut(lane.name, Math.floor((gutter - 16) / 6)), { class: "small", fill: palette.css.quiet }),
            text(gutter - 6, y + 17, it.amount(lane.most, lane.unit), { class: "small", fill: palette.css.quiet, "text-anchor": "end" }),
            text(gutter - 6, y + LANE - 6, it.amount(low, lane.unit), { class: "small", fill: palette.css.quiet, "text-anchor": "end" }),
            lane.limit === null ? null : svg("path", { d: `M${box.x} ${short(y + y_of(lane.limit))}h${box.width}`, fill: "none",
                stroke: palette.css.limit, "stroke-dasharray": "5 4" }),
            svg("path", { d: path, fill: "none", stroke: palette.css.curve, "stroke-width": 1 }),
        ];
    });
}

/** Axis, names of steps, the range and marks. @param {Model} it @param {Palette} palette */
function frameShapes(it, palette) {
    const { parts, view, origin } = it,
        { rows, axis, steps } = parts;
    const scale = rows.width / (view.end - view.begin);
    const x_of = (time) => Math.max(rows.x, Math.min(rows.x + rows.width, rows.x + (time - view.begin) * scale));
    const inside = (time) => time >= view.begin && time <= view.end;
    const ticks = ticksFor(parts, view, { unit: it.unit, zero: it.limits.begin, origin: it.absolute ? origin : null });
    const shapes = [rect(0, 0, parts.width, rows.y, palette.css.ground), rect(0, rows.y - 1, parts.width, 1, palette.css.strong)];
    shapes.push(text(8, axis.y + 16, it.duration(view.end - view.begin), { class: "small", fill: palette.css.quiet }));
    for (const tick of ticks.ticks.filter(({ time }) => inside(time))) {
        const x = x_of(tick.time);
        shapes.push(rect(x, axis.y + axis.height - 12, 1, 11, palette.css.quiet));
        shapes.push(text(x + 4, axis.y + 13, tick.label, { class: "small", fill: palette.css.text }));
    }
    it.steps.filter((step) => step.end > view.begin && step.begin < view.end && steps.height > 0).forEach((step) => {
        const [from, to] = [x_of(step.begin), x_of(step.end)];
        const name = cut(step.name, Math.floor((to - from - 8) / 6));
        shapes.push(rect(from + 0.5, steps.y, Math.max(0, to - from - 1), steps.height - 1, palette.css.band));
        shapes.push(text(from + 5, steps.y + 12, name, { class: "small", fill: palette.css.text }));
    });
    if (view.range !== null && view.range[1] > view.begin && view.range[0] < view.end) {
        const [from, to] = view.range.map(x_of);
        shapes.push(rect(from, axis.y, to - from, parts.height - axis.y, palette.css.range));
        shapes.push(...plate((from + to) / 2, rows.y + 16, it.duration(view.range[1] - view.range[0]), palette.css.accent, palette.css.ground));
    }
    for (const mark of view.marks.filter(({ time }) => inside(time))) {
        shapes.push(rect(x_of(mark.time), axis.y, 1, parts.height - axis.y, palette.css.mark));
        const name = cut(mark.name, 24);
        shapes.push(...plate(x_of(mark.time) + (name.length * NAME_LETTER) / 2 + 4, axis.y + 11, name, palette.css.mark, palette.css.ground));
    }
    return shapes;
}

/**
 * The drawing as the text of a file.
 * @param {Model} it
 */
export function svgPicture(it) {
    const palette = readPalette(it.holder);
    const { parts, panes, selection } = it;
    const top = parts.axis.y;
    const root = svg("svg", {
        width: parts.width, height: parts.height - top, viewBox: `0 ${top} ${parts.width} ${parts.height - top}`, role: "img",
    });
    append(root, svg("title", {}, forXml(panes.map((pane) => pane.context.run.name).join(", "))));
    append(root, svg("style", {}, `text{font:11px "DejaVu Sans","PingFang SC","Microsoft YaHei","Noto Sans CJK SC",sans-serif}.label{font-family:"DejaVu Sans Mono",monospace;text-anchor:middle}` +
        ".name,.head{font-size:12px}.head{font-weight:600}"));
    append(root, rect(0, top, parts.width, parts.height - top, palette.css.ground));
    const budget = { n: MOST_SHAPES };
    for (const pane of panes) {
        append(root, paneShapes(pane, it, palette, budget));
    }
    const { chosen } = selection;
    const place = chosen === null ? null : chosen.pane.placeOf(chosen.row);
    if (chosen !== null && place !== null && place.y >= chosen.pane.scrolled_from && chosen.details.end > it.view.begin && chosen.details.begin < it.view.end) {
        const scale = parts.rows.width / (it.view.end - it.view.begin);
        const from = Math.max(parts.rows.x, parts.rows.x + (chosen.details.begin - it.view.begin) * scale);
        const to = Math.min(parts.rows.x + parts.rows.width, parts.rows.x + (chosen.details.end - it.view.begin) * scale);
        append(root, rect(from, place.y, Math.max(2, to - from), place.height - 1, "none", { stroke: palette.css.select, "stroke-width": 2 }));
    }
    if (parts.curves.height > 0) {
        append(root, rect(0, parts.curves.y - parts.split.height, parts.width, parts.curves.height + parts.split.height, palette.css.ground));
        append(root, laneShapes(it, palette));
    }
    append(root, frameShapes(it, palette));
    append(root, rect(parts.gutter - 1, top, 1, parts.height - top, palette.css.strong));
    return `${new XMLSerializer().serializeToString(root)}\n`;
}
