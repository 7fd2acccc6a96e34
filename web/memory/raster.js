// Determines the block of each pixel of a map. With addresses a block is a rectangle of time and place: those smaller
// than a pixel go first and cover the one that they are in, larger ones cover the pixels with their middle inside.
// Without addresses the blocks at a time are stacked in the order of their starts, and a column of pixels shows the
// time within it with the largest sum, so that no peak is lost. O(blocks + pixels) and O(columns x blocks there).

/** Values of pixels without a block: nothing, memory of the allocator outside of blocks. */
export const [NOTHING, RESERVED] = [-1, -2];

/**
 * The shown range: times from begin to end, bytes from low (bottom) to high.
 * @typedef {{ begin: number, end: number, low: number, high: number }} Window
 */

/**
 * @param {import("./block_map.js").BlockMap} map with addresses @param {Window} seen
 * @param {number} width @param {number} height @returns {Int32Array} row by row from the top: a block, NOTHING or RESERVED
 */
export function rasterPlaced(map, seen, width, height) {
    const pick = new Int32Array(width * height).fill(NOTHING);
    const toX = width / (seen.end - seen.begin);
    const toY = height / (seen.high - seen.low);
    const clamp = (/** @type {number} */ value, /** @type {number} */ most) => Math.min(most, Math.max(0, value));
    const fill = (/** @type {number[]} */ [x0, x1, y0, y1], /** @type {number} */ value) => {
        for (let y = y0; y < y1; y++) pick.fill(value, (height - 1 - y) * width + x0, (height - 1 - y) * width + x1);
    };
    /** Edges in pixels, from the left and from the bottom; not rounded. */
    const edges = (of, /** @type {number} */ i) => [
        clamp((of.begin[i] - seen.begin) * toX, width), clamp((of.end[i] - seen.begin) * toX, width),
        clamp((of.place[i] - seen.low) * toY, height), clamp((of.place[i] + of.bytes[i] - seen.low) * toY, height),
    ];
    const middles = (/** @type {number[]} */ box) => box.map((edge) => Math.round(edge));
    const { segments } = map;
    for (let i = 0; i < segments.begin.length; i++) fill(middles(edges(segments, i)), RESERVED);
    const large = [];
    for (let i = 0; i < map.n; i++) {
        const box = edges(map, i);
        if (box[0] >= box[1] || box[2] >= box[3]) continue;
        if (box[1] - box[0] >= 1 && box[3] - box[2] >= 1) large.push(i);
        else fill([Math.min(Math.floor(box[0]), width - 1), Math.ceil(box[1]), Math.min(Math.floor(box[2]), height - 1), Math.ceil(box[3])], i);
    }
    for (const i of large) fill(middles(edges(map, i)), i);
    return pick;
}

/**
 * The time within each column with the most bytes; the first one.
 * @param {{ time: Float64Array, bytes: Float64Array }} totals @param {Window} seen @param {number} width
 */
export function columnTimes(totals, seen, width) {
    const { time, bytes } = totals;
    const times = new Float64Array(width);
    let at = 0; // of the last change at or before the column's start
    for (let x = 0; x < width; x++) {
        const from = seen.begin + ((seen.end - seen.begin) * x) / width;
        const to = seen.begin + ((seen.end - seen.begin) * (x + 1)) / width;
        while (at + 1 < time.length && time[at + 1] <= from) at++;
        let [best, most] = [from, time[at] <= from ? bytes[at] : 0];
        for (let k = at + (time[at] <= from ? 1 : 0); k < time.length && time[k] < to; k++)
            if (bytes[k] > most) [best, most] = [time[k], bytes[k]];
        times[x] = best;
    }
    return times;
}

/**
 * @param {import("./block_map.js").BlockMap} map @param {{ time: Float64Array, bytes: Float64Array }} totals
 * @param {Window} seen @param {number} width @param {number} height @returns {Int32Array} as above
 */
export function rasterStacked(map, totals, seen, width, height) {
    const pick = new Int32Array(width * height).fill(NOTHING);
    const times = columnTimes(totals, seen, width);
    const toY = height / (seen.high - seen.low);
    /** @type {number[]} */
    let there = [];
    let next = 0;
    for (let x = 0; x < width; x++) {
        const time = times[x];
        there = there.filter((i) => map.end[i] > time);
        for (; next < map.n && map.begin[next] <= time; next++) if (map.end[next] > time) there.push(next);
        let sum = 0;
        for (const i of there) {
            const from = Math.max(0, Math.round((sum - seen.low) * toY));
            sum += map.bytes[i];
            const to = Math.min(height, Math.round((sum - seen.low) * toY));
            for (let y = from; y < to; y++) pick[(height - 1 - y) * width + x] = i;
            if (to === height) break;
        }
    }
    return pick;
}

/**
 * Colours of the pixels: that of the block, a darker one where another block begins to the left or above and there is
 * room for such an edge, and the colour of a selected block.
 * @param {Int32Array} pick @param {number} width @param {Uint32Array} pixels  filled
 * @param {{ of: (block: number) => number, edge: (color: number) => number, nothing: number, reserved: number, selected: number }} colors
 * @param {number} selected a block, -1
 */
export function paint(pick, width, pixels, colors, selected) {
    for (let k = 0; k < pick.length; k++) {
        const i = pick[k];
        if (i < 0) {
            pixels[k] = i === RESERVED ? colors.reserved : colors.nothing;
        } else if (i === selected) {
            pixels[k] = colors.selected;
        } else {
            const left = k % width > 0 && pick[k - 1] !== i && pick[k + 2] === i;
            const above = k >= width && pick[k - width] !== i && pick[k + 2 * width] === i;
            pixels[k] = left || above ? colors.edge(colors.of(i)) : colors.of(i);
        }
    }
}
