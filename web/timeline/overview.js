// The strip above the axis: all of the time there is, how busy a few rows are in it, and which part is shown below.
// It is painted from what the source has at hand for the whole time, and kept until the source has something better.

import { copyLine, newLiner, paintLine } from "./raster.js";

const MOST_ROWS = 12;
const WANTED = ["stage", "compute", "communication"];

/** Rows that stand for the whole: of each group the first row of the first track that matters, evenly chosen.
 *  @param {import("../types").Timeline} timeline @returns {number[]} */
export function rowsForOverview(timeline) {
    /** @type {number[]} */
    const rows = [];
    let first = 0;
    for (const group of timeline.groups) {
        const starts = group.tracks.map((track) => {
            first += track.n_rows;
            return first - track.n_rows;
        });
        const found = WANTED.map((kind) => group.tracks.findIndex((track) => track.class === kind && track.n_rows > 0));
        const track = found.find((at) => at >= 0) ?? group.tracks.findIndex((one) => one.n_rows > 0);
        if (track >= 0) {
            rows.push(starts[track]);
        }
    }
    const n = Math.min(MOST_ROWS, rows.length);
    return Array.from({ length: n }, (_, at) => rows[Math.floor(at * rows.length / n)]);
}

/**
 * Paint it. @param {import("../types").Source} source @param {number[]} rows @param {number} width @param {number} height
 * @param {{begin: number, end: number}} time  all there is @param {number} ground
 * @param {(type: number, name: number) => number} color
 * @returns {{image: ImageData, whole: boolean}}  whole: no row was missing
 */
export function paintOverview(source, rows, width, height, time, ground, color) {
    const image = new ImageData(Math.max(1, width), Math.max(1, height));
    const pixels = new Uint32Array(image.data.buffer).fill(ground);
    const liner = newLiner(image.width), behind = new Uint32Array(image.width).fill(ground);
    const scale = image.width / (time.end - time.begin);
    let whole = true;
    source.frame(rows, time.begin, time.end, 1 / scale);
    rows.forEach((row, at) => {
        const boxes = source.boxes(row, time.begin, time.end, 1 / scale);
        whole &&= boxes !== null;
        paintLine(liner, boxes, time.begin, scale, behind, { color, flags: () => 0, mark: 0 });
        copyLine(liner, pixels, image.height, Math.round(at * height / rows.length), Math.round((at + 1) * height / rows.length), 0);
    });
    return { image, whole };
}
