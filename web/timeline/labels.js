// Text in boxes: all letters have one width, so that the fitting length is a division and nothing is measured while
// drawing. The number of labels a frame is bounded; the widest boxes are not preferred, a frame at the limit gets no
// more.

import { blockOf } from "../block_name.js";

const MOST_LABELS = 1200;
const LEAST_LETTERS = 3; // fewer are unreadable
const WHOLE = 6; // letters of a name that is shown completely or not at all, as F10
const LONGEST = 200; // letters of a name that are read; names of a trace may be of any length
const TWICE = /[\u1100-\u11ff\u2e80-\uffff]/; // letters as wide as two, as Chinese ones

/** As much of a text as fits, with an ellipsis where it is cut; "" where too little fits.
 *  @param {string} text @param {number} letters */
export function cut(text, letters) {
    if (text.length <= letters) {
        return text;
    }
    return letters < LEAST_LETTERS || text.length <= WHOLE ? "" : `${text.slice(0, letters - 1)}\u2026`;
}

/** @type {Map<string, string>} */
const cores = new Map();
const MOST_KEPT = 20000; // texts, before the cache is cleared

/**
 * The distinctive part of a C++ name, for where it does not fit: without the return type, name spaces, templates and
 * arguments. "void at::native::(anonymous namespace)::copy_kernel<float>(int)" is copy_kernel; other names stay
 * unchanged.
 * @param {string} text
 */
export function coreOf(text) {
    const known = cores.get(text);
    if (known !== undefined) {
        return known;
    }
    let core = text;
    if (text.includes("::")) {
        const path = text.replace(/^(?:void|static|inline) +/, "").replaceAll("(anonymous namespace)::", "");
        core = path.replace(/[<(].*$/s, "").replace(/^.*::/s, "") || text;
    }
    if (cores.size >= MOST_KEPT) {
        cores.clear();
    }
    cores.set(text, core);
    return core;
}

/** @param {CanvasRenderingContext2D} context @param {string} font @returns {number} width of a letter */
export function letterWidth(context, font) {
    context.textRendering = "geometricPrecision"; // else letters are as wide as whole pixels
    context.font = font;
    return context.measureText("0000000000").width / 10;
}

/** @type {Map<string, string>} by font, width and text */
const fitted = new Map();
/**
 * A name of a row, cut so that it fits: of "PROCESS / THREAD" the process is cut first. Measured once for each name.
 * @param {CanvasRenderingContext2D} context with the font set @param {string} text @param {number} width
 * @param {string} font  a name for it
 * @returns {string}
 */
export function fitName(context, text, width, font) {
    const key = `${font}|${Math.round(width)}|${text}`,
        known = fitted.get(key);
    if (known !== undefined) {
        return known;
    }
    const fits = (shown) => context.measureText(shown).width <= width;
    let shown = text.length > LONGEST ? text.slice(0, LONGEST) : text;
    if (!fits(shown) && shown.includes(" / ")) {
        shown = shown.slice(shown.lastIndexOf(" / ") + 3);
    }
    for (let letters = shown.length; !fits(shown) && letters > 1; letters--) {
        shown = `${shown.slice(0, letters - 1).trimEnd()}\u2026`;
    }
    if (fitted.size >= MOST_KEPT) {
        fitted.clear();
    }
    fitted.set(key, shown);
    return shown;
}

/**
 * The labels of a frame; flat arrays, reused between frames. Pixels of the screen.
 * @typedef {object} Labels
 * @property {number} n
 * @property {Float32Array} x @property {Float32Array} y @property {Float32Array} width  of the room there is
 * @property {Uint32Array} name @property {Uint8Array} type
 */
/** @returns {Labels} */
export function newLabels() {
    return {
        n: 0,
        x: new Float32Array(MOST_LABELS),
        y: new Float32Array(MOST_LABELS),
        width: new Float32Array(MOST_LABELS),
        name: new Uint32Array(MOST_LABELS),
        type: new Uint8Array(MOST_LABELS),
    };
}

/** Add a label for every wide box of a painted line.
 *  @param {Labels} labels @param {import("./raster.js").Liner} liner @param {import("../types").Boxes} boxes
 *  @param {number} y  middle of the row, device pixels @param {number} least  width from which on there is one */
export function askForLabels(labels, liner, boxes, y, least) {
    for (let at = 0; at < liner.n_spans && labels.n < MOST_LABELS; at++) {
        const width = liner.last[at] - liner.first[at],
            box = liner.box[at];
        if (width < least || (boxes.count !== null && boxes.count[box] > 1)) {
            continue;
        }
        const n = labels.n++;
        labels.x[n] = liner.first[at];
        labels.y[n] = y;
        labels.width[n] = width;
        labels.name[n] = boxes.name[box];
        labels.type[n] = boxes.type[box];
    }
}

/** The label of a name with room for a number of letters: of a plan's block that does not fit, only its micro-batch, as
 *  in the pictures of plans. @param {string} text @param {number} letters */
export function labelFor(text, letters) {
    if (text.length <= letters) {
        return text;
    }
    const block = blockOf(text);
    return block === null ? cut(coreOf(text), letters) : block.micro_batch.length <= letters ? block.micro_batch : "";
}

/**
 * Write them: in the middle of the box where the complete name fits, else from its left end.
 * @param {CanvasRenderingContext2D} context  in device pixels, font set
 * @param {Labels} labels @param {number} left @param {number} top  of the rows' picture @param {number} letter
 * @param {(name: number) => string} text @param {(type: number, name: number) => string} ink
 */
export function writeLabels(context, labels, left, top, letter, text, ink) {
    const room = letter * 0.1;
    let color = "";
    context.textBaseline = "middle";
    context.textAlign = "left";
    for (let n = 0; n < labels.n; n++) {
        const whole = text(labels.name[n]);
        const each = TWICE.test(whole) ? 2 * letter : letter;
        const letters = Math.floor((labels.width[n] - room) / each);
        const shown = labelFor(whole, letters);
        if (shown === "") {
            continue;
        }
        const next = ink(labels.type[n], labels.name[n]);
        if (next !== color) {
            color = next;
            context.fillStyle = color;
        }
        const x = labels.x[n] + Math.max(room, (labels.width[n] - shown.length * each) / 2);
        context.fillText(shown, Math.round(left + x), top + labels.y[n]);
    }
}
