// The strip above the axis: the complete time, the load of a few rows in it, and the part shown below. It is painted
// from the available data for the complete time, and kept until the source has better; its rows are requested together
// with those of the frame.

import { copyLine, newLiner, paintLine } from "./raster.js";

const MOST_ROWS = 12;
const WANTED = ["stage", "compute", "communication", "host"];

/**
 * Rows that represent the timeline: of each group and each kind of track the row with most events; of many groups only
 * the first kind, and of very many a selection of groups.
 * @param {import("../types").Timeline} timeline @returns {number[]}
 */
export function rowsForOverview(timeline) {
    /** @type {number[][]} */
    const found = [];
    let first = 0;
    for (const group of timeline.groups) {
        /** @type {Map<string, number>} */
        const best = new Map();
        for (const track of group.tracks) {
            for (let row = first; row < first + track.n_rows; row++) {
                const known = best.get(track.class);
                if (known === undefined || timeline.row_events[row] > timeline.row_events[known]) {
                    best.set(track.class, row);
                }
            }
            first += track.n_rows;
        }
        const wanted = WANTED.filter((kind) => best.has(kind)).map((kind) => /** @type {number} */ (best.get(kind)));
        const rows = wanted.length > 0 ? wanted : [...best.values()].slice(0, 1);
        if (rows.length > 0) {
            found.push(rows);
        }
    }
    const all = found.reduce((sum, rows) => sum + rows.length, 0);
    const rows = all <= MOST_ROWS ? found.flat() : found.map((of_group) => of_group[0]);
    const n = Math.min(MOST_ROWS, rows.length);
    return Array.from({ length: n }, (_, at) => rows[Math.floor((at * rows.length) / n)]);
}

/**
 * Paint it. @param {import("../types").Source} source @param {number[]} rows @param {number} width @param {number}
 * height
 * @param {{begin: number, end: number}} time  all there is @param {number} ground
 * @param {(type: number, name: number) => number} color
 * @returns {ImageData}
 */
export function paintOverview(source, rows, width, height, time, ground, color) {
    const image = new ImageData(Math.max(1, width), Math.max(1, height));
    const pixels = new Uint32Array(image.data.buffer).fill(ground);
    const liner = newLiner(image.width),
        behind = new Uint32Array(image.width).fill(ground);
    const scale = image.width / (time.end - time.begin);
    rows.forEach((row, at) => {
        const boxes = source.boxes(row, time.begin, time.end, 1 / scale);
        paintLine(liner, boxes, time.begin, scale, behind, { color, flags: () => 0, mark: 0 });
        copyLine(
            liner,
            pixels,
            image.height,
            Math.round((at * height) / rows.length),
            Math.round(((at + 1) * height) / rows.length),
            0,
        );
    });
    return image;
}
