// A map of allocations without its picture: decoded columns of the document, the blocks at a time, sums by role, and
// the bytes over time.

import { untransposed } from "../document.js";
import { say } from "../texts.js";

/**
 * Unknown starts are -Infinity, unknown ends Infinity: there before the record, and when it ended.
 * @typedef {object} BlockMap
 * @property {string} title
 * @property {boolean} addresses  blocks and segments have places
 * @property {boolean} ticked  times are numbers of events
 * @property {number} length  of the record @property {number} height  bytes of all places @property {number} peak_at
 * @property {number} peak  bytes
 * @property {number} n @property {number} n_all
 * @property {Float64Array} begin @property {Float64Array} end @property {Float64Array} bytes @property {Float64Array} place
 * @property {Uint32Array} site @property {Uint32Array} stack  0: none; else one more than its number
 * @property {{ begin: Float64Array, end: Float64Array, bytes: Float64Array, place: Float64Array }} segments
 * @property {[string, number][]} sites  name and type @property {number[][]} stacks @property {string[]} frames
 */

/** @param {Float64Array} values @param {number} otherwise */
function known(values, otherwise) {
    for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i])) values[i] = otherwise;
    return values;
}

/** @param {import("../types").RawBlockMap} raw @param {Uint8Array} bytes  inflated @returns {BlockMap} */
export function decodeMap(raw, bytes) {
    const { n, n_segments } = raw;
    const expected = 40 * n + 32 * n_segments;
    if (bytes.length !== expected)
        throw new Error(say("the map of allocations has {0} bytes, {1} were expected. Write the page anew.", bytes.length, expected));
    let at = 0;
    const reals = (/** @type {number} */ count) => untransposed(bytes, (at += 8 * count) - 8 * count, count);
    const numbers = () => new Uint32Array(bytes.slice((at += 4 * n) - 4 * n, at).buffer);
    const blocks = { begin: known(reals(n), -Infinity), end: known(reals(n), Infinity), bytes: reals(n), place: reals(n) };
    const of_segments = () => reals(n_segments);
    const segments = {
        begin: known(of_segments(), -Infinity), end: known(of_segments(), Infinity), bytes: of_segments(), place: of_segments(),
    };
    const { title, addresses, ticked, length, height, peak_at, peak, n_all, sites, stacks, frames } = raw;
    return {
        title, addresses, ticked, length, height, peak_at, peak, n, n_all, ...blocks, segments, sites, stacks, frames,
        site: numbers(), stack: numbers(),
    };
}

/** Blocks at a time, in the order of their begins. @param {BlockMap} map @param {number} time */
export function liveAt(map, time) {
    const live = [];
    for (let i = 0; i < map.n; i++) if (map.begin[i] <= time && time < map.end[i]) live.push(i);
    return live;
}

/** Bytes of some blocks by type, most first. @param {BlockMap} map @param {number[]} blocks @returns {{ type: number, n: number, bytes: number }[]} */
export function sumsByType(map, blocks) {
    const sums = new Map();
    for (const i of blocks) {
        const type = map.sites[map.site[i]][1];
        const sum = sums.get(type) ?? { type, n: 0, bytes: 0 };
        sum.n++;
        sum.bytes += map.bytes[i];
        sums.set(type, sum);
    }
    return [...sums.values()].sort((a, b) => b.bytes - a.bytes);
}

/** The frames of a block, innermost first. @param {BlockMap} map @param {number} i */
export const framesOf = (map, i) => (map.stack[i] === 0 ? [] : map.stacks[map.stack[i] - 1].map((number) => map.frames[number]));

/**
 * The bytes over time: times of changes, ascending, and bytes from each on. Blocks from before the record are there
 * from 0 on.
 * @param {BlockMap} map @returns {{ time: Float64Array, bytes: Float64Array }}
 */
export function totalsOf(map) {
    const ends = [];
    for (let i = 0; i < map.n; i++) if (map.end[i] > map.begin[i] && Number.isFinite(map.end[i])) ends.push(i);
    ends.sort((a, b) => map.end[a] - map.end[b]);
    const time = new Float64Array(map.n + ends.length + 1);
    const bytes = new Float64Array(time.length);
    let [n, sum, at] = [0, 0, 0];
    const put = (/** @type {number} */ when) => {
        if (n > 0 && time[n - 1] === when) n--;
        time[n] = when;
        bytes[n++] = sum;
    };
    const endUntil = (/** @type {number} */ when) => {
        for (; at < ends.length && map.end[ends[at]] <= when; at++) {
            sum -= map.bytes[ends[at]];
            put(Math.max(0, map.end[ends[at]]));
        }
    };
    put(0);
    for (let i = 0; i < map.n; i++) {
        if (!(map.end[i] > map.begin[i])) continue;
        endUntil(map.begin[i]);
        sum += map.bytes[i];
        put(Math.max(0, map.begin[i]));
    }
    endUntil(Infinity);
    return { time: time.slice(0, n), bytes: bytes.slice(0, n) };
}
