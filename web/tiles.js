// Boxes from a server, stored in tiles: at level L a pixel is 2^L ns wide and a tile 2048 of them, so a screen needs
// two or three tiles a row and a zoom by two needs new ones. The memory is bounded by the number of boxes; the least
// recently drawn one is removed first.

import { say } from "./texts.js";

/** @typedef {import("./types").Boxes} Boxes */

const tile_pixels = 2048;
const most_level = 62;
const most_boxes = 1.5e6; // of 37 bytes
const magic = 0x45564b31;

/** The level with pixels at most `resolution` wide. @param {number} resolution */
export function levelOf(resolution) {
    return Math.min(most_level, Math.max(0, Math.floor(Math.log2(Math.max(1, resolution)))));
}

/** @param {number} level */
export const tileSpan = (level) => tile_pixels * 2 ** level;

/**
 * @typedef {object} Columns
 * @property {Float64Array} begin
 * @property {Float64Array} end
 * @property {Float64Array} busy
 * @property {Uint32Array} name
 * @property {Uint32Array} count
 * @property {Uint32Array} index
 * @property {Uint8Array} type
 *
 * @typedef {Columns & { used: number, key: string }} Tile
 */

/** @param {Columns} columns @param {number} from @param {number} to @returns {Columns} */
function cut(columns, from, to) {
    const { begin, end, busy, name, count, index, type } = columns;
    return {
        begin: begin.slice(from, to),
        end: end.slice(from, to),
        busy: busy.slice(from, to),
        name: name.slice(from, to),
        count: count.slice(from, to),
        index: index.slice(from, to),
        type: type.slice(from, to),
    };
}

/**
 * An answer of the server to `rows`: the boxes of each row.
 * @param {ArrayBuffer} buffer
 * @returns {Map<number, Columns>}
 */
export function readRows(buffer) {
    const view = new DataView(buffer);
    const damaged = () => new Error(say("The server's answer is damaged."));
    if (buffer.byteLength < 8 || view.getUint32(0, true) !== magic) throw damaged();
    const n_rows = view.getUint32(4, true);
    if (buffer.byteLength < 8 + 8 * n_rows) throw damaged();
    let n = 0;
    /** @type {[number, number][]} */
    const heads = [];
    for (let i = 0; i < n_rows; i++) {
        heads.push([view.getUint32(8 + 8 * i, true), view.getUint32(12 + 8 * i, true)]);
        n += heads[i][1];
    }
    let at = 8 + 8 * n_rows;
    if (buffer.byteLength !== at + 37 * n) throw damaged();
    const take = (/** @type {number} */ size) => buffer.slice((at += size) - size, at);
    const all = {
        begin: new Float64Array(take(8 * n)),
        end: new Float64Array(take(8 * n)),
        busy: new Float64Array(take(8 * n)),
        name: new Uint32Array(take(4 * n)),
        count: new Uint32Array(take(4 * n)),
        index: new Uint32Array(take(4 * n)),
        type: new Uint8Array(take(n)),
    };
    const rows = new Map();
    let first = 0;
    for (const [row, boxes] of heads) {
        rows.set(row, cut(all, first, first + boxes));
        first += boxes;
    }
    return rows;
}

/** First box that ends after a time. @param {Columns} columns @param {number} time */
function firstAfter(columns, time) {
    let [low, high] = [0, columns.end.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (columns.end[middle] > time) high = middle;
        else low = middle + 1;
    }
    return low;
}

/** First box that begins at a time or later. @param {Columns} columns @param {number} time */
function firstFrom(columns, time) {
    let [low, high] = [0, columns.begin.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (columns.begin[middle] >= time) high = middle;
        else low = middle + 1;
    }
    return low;
}

/** Several tiles in order as one list; a box that reaches from one into the next is in it once. @param {Columns[]} tiles */
function joined(tiles) {
    if (tiles.length === 1) return tiles[0];
    /** @type {Columns[]} */
    const parts = [];
    let next = 0; // index of the first event without a box yet
    for (const tile of tiles) {
        let from = 0;
        while (from < tile.index.length && tile.index[from] < next) from++;
        const part = from === 0 ? tile : cut(tile, from, tile.index.length);
        const last = part.index.length - 1;
        if (last >= 0) next = part.index[last] + part.count[last];
        parts.push(part);
    }
    const n = parts.reduce((sum, part) => sum + part.begin.length, 0);
    const out = {
        begin: new Float64Array(n),
        end: new Float64Array(n),
        busy: new Float64Array(n),
        name: new Uint32Array(n),
        count: new Uint32Array(n),
        index: new Uint32Array(n),
        type: new Uint8Array(n),
    };
    let at = 0;
    for (const part of parts) {
        out.begin.set(part.begin, at);
        out.end.set(part.end, at);
        out.busy.set(part.busy, at);
        out.name.set(part.name, at);
        out.count.set(part.count, at);
        out.index.set(part.index, at);
        out.type.set(part.type, at);
        at += part.begin.length;
    }
    return out;
}

export class Tiles {
    constructor() {
        /** @type {Map<string, Tile>} by row, level and number */
        this.tiles = new Map();
        /** @type {Map<number, { key: string, columns: Columns }>} last joined tiles, by row */
        this.last = new Map();
        this.n_boxes = 0;
        this.clock = 0;
        /** @type {Set<number>} levels that have a tile */
        this.levels = new Set();
    }

    /** Is a row's tile present? @param {number} row @param {number} level @param {number} tile */
    has(row, level, tile) {
        return this.tiles.has(`${row}/${level}/${tile}`);
    }

    /**
     * Store the answer for tiles first .. last of some rows.
     * @param {Map<number, Columns>} rows @param {number} level @param {number} first @param {number} last
     */
    put(rows, level, first, last) {
        const span = tileSpan(level);
        this.levels.add(level);
        for (const [row, columns] of rows) {
            this.last.delete(row);
            for (let tile = first; tile <= last; tile++) {
                const key = `${row}/${level}/${tile}`;
                this.drop(key);
                const from = firstAfter(columns, tile * span - 1);
                const to = Math.max(from, firstFrom(columns, (tile + 1) * span));
                this.tiles.set(key, { ...cut(columns, from, to), used: this.clock, key });
                this.n_boxes += to - from;
            }
        }
        this.forget();
    }

    /** @param {string} key */
    drop(key) {
        const tile = this.tiles.get(key);
        if (tile === undefined) return;
        this.n_boxes -= tile.begin.length;
        this.tiles.delete(key);
    }

    /** Make room again, once there is much more than the bound allows. */
    forget() {
        if (this.n_boxes <= most_boxes && this.tiles.size <= most_boxes / 10) return;
        const oldest = [...this.tiles.values()].sort((a, b) => a.used - b.used);
        for (const { key, used } of oldest) {
            if (used === this.clock) break; // of the current picture
            if (this.n_boxes <= most_boxes / 2 && this.tiles.size <= most_boxes / 20) break;
            this.drop(key);
        }
        this.levels = new Set([...this.tiles.keys()].map((key) => Number(key.split("/")[1])));
        this.last.clear();
    }

    /**
     * The tiles of a row between two times, at the level itself or the nearest coarser one, else a finer one.
     * @param {number} row @param {number} begin @param {number} end @param {number} level
     * @returns {Boxes | null}
     */
    boxes(row, begin, end, level) {
        const order = [...this.levels].sort((a, b) => rank(a, level) - rank(b, level));
        for (const at of order) {
            const columns = this.columns(row, at, begin, end);
            if (columns === null) continue;
            const from = firstAfter(columns, begin);
            return { from, to: Math.max(from, firstFrom(columns, end)), ...columns };
        }
        return null;
    }

    /** @param {number} row @param {number} level @param {number} begin @param {number} end */
    columns(row, level, begin, end) {
        const span = tileSpan(level);
        const first = Math.floor(begin / span);
        const last = Math.max(first, Math.ceil(end / span) - 1);
        if (last - first > 16) return null; // much finer than the picture
        /** @type {Tile[]} */
        const found = [];
        for (let tile = first; tile <= last; tile++) {
            const here = this.tiles.get(`${row}/${level}/${tile}`);
            if (here === undefined) return null;
            here.used = this.clock;
            found.push(here);
        }
        const key = `${level}/${first}/${last}`;
        const known = this.last.get(row);
        if (known?.key === key) return known.columns;
        const columns = joined(found);
        this.last.set(row, { key, columns });
        return columns;
    }
}

/** The level itself, then one finer, then coarser ones, then still finer ones. @param {number} at @param {number} level */
function rank(at, level) {
    if (at === level) return 0;
    return at > level ? 2 * (at - level) : at === level - 1 ? 1 : 1000 + level - at;
}
