// The document of the page (docs/view-json.md): reads it, checks that this page knows its version, and decodes a
// timeline's columns from base64, zlib and transposed bytes. A document that does not fit is refused with a message
// that gives the reason.

import { say } from "./texts.js";

/** @typedef {import("./types").Document} Document */
/** @typedef {import("./types").Timeline} Timeline */
/**
 * @typedef {object} Columns
 * @property {Float64Array} begin     of events
 * @property {Float64Array} duration
 * @property {Uint32Array} name
 * @property {{ from_time: Float64Array, to_time: Float64Array, from_row: Uint32Array, to_row: Uint32Array, name: Uint32Array }} arrows
 * @property {{ begin: Float64Array, end: Float64Array, mb: Float64Array, group: Uint32Array, name: Uint32Array }} held
 * @property {{ time: Float64Array, value: Float64Array }} points
 * @property {{ begin: Float64Array, wait: Float64Array, row: Uint32Array, number: Uint32Array, last: Uint32Array, group: Uint32Array }} calls
 */

/**
 * @param {string} text  JSON
 * @returns {Document}
 */
export function parseDocument(text) {
    let doc;
    try {
        doc = JSON.parse(text);
    } catch (error) {
        throw new Error(say("The document of this page is damaged: {0}", /** @type {Error} */ (error).message));
    }
    if (doc === null || typeof doc !== "object" || doc.format !== "evenkeel view") {
        throw new Error(say("The document of this page is not one of Evenkeel's."));
    }
    if (doc.version !== 1) {
        throw new Error(say("The document has version {0}, this page reads version 1. Write it anew.", doc.version));
    }
    if (!Array.isArray(doc.runs) || doc.runs.length === 0) throw new Error(say("The document of this page has no runs."));
    return doc;
}

/** @param {string} text */
function fromBase64(text) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
}

/** Unpack zlib's format. @param {Uint8Array<ArrayBuffer>} bytes */
export async function inflateBytes(bytes) {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * The same given as base64. A browser's own message about a damaged stream is of no use.
 * @param {string} text
 */
export async function inflate(text) {
    try {
        return await inflateBytes(fromBase64(text));
    } catch {
        throw new Error(say("its compressed columns are damaged or cut off. Write the page anew."));
    }
}

/**
 * Doubles whose bytes were transposed: the lowest bytes of all, then the second ones, and so on.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @param {number} n
 */
export function untransposed(bytes, at, n) {
    const out = new Uint8Array(8 * n);
    for (let k = 0; k < 8; k++) {
        const from = at + k * n;
        for (let i = 0, to = k; i < n; i++, to += 8) out[to] = bytes[from + i];
    }
    return new Float64Array(out.buffer);
}

/**
 * @param {Timeline} timeline
 * @param {Uint8Array} bytes  inflated
 * @returns {Columns}
 */
function cutColumns(timeline, bytes) {
    const { n_arrows, n_held, n_points, n_calls = 0 } = timeline;
    const n_events = timeline.names === null ? 0 : timeline.n_events; // a server does not send them
    const expected = 20 * n_events + 28 * n_arrows + 32 * n_held + 16 * n_points + 32 * n_calls;
    if (bytes.length !== expected) {
        throw new Error(say("its columns have {0} bytes, {1} were expected. Write the page anew.", bytes.length, expected));
    }
    let at = 0;
    const reals = (/** @type {number} */ n) => untransposed(bytes, (at += 8 * n) - 8 * n, n);
    const numbers = (/** @type {number} */ n) => {
        at += 4 * n;
        return new Uint32Array(bytes.slice(at - 4 * n, at).buffer);
    };
    const [begin, duration] = [reals(n_events), reals(n_events)];
    const [from_time, to_time] = [reals(n_arrows), reals(n_arrows)];
    const [held_begin, held_end, mb] = [reals(n_held), reals(n_held), reals(n_held)];
    const [time, value] = [reals(n_points), reals(n_points)];
    const [call_begin, wait] = [reals(n_calls), reals(n_calls)];
    const name = numbers(n_events);
    const [from_row, to_row, arrow_name] = [numbers(n_arrows), numbers(n_arrows), numbers(n_arrows)];
    const [group, held_name] = [numbers(n_held), numbers(n_held)];
    const [call_row, number, last, call_group] = [numbers(n_calls), numbers(n_calls), numbers(n_calls), numbers(n_calls)];
    return {
        begin,
        duration,
        name,
        arrows: { from_time, to_time, from_row, to_row, name: arrow_name },
        held: { begin: held_begin, end: held_end, mb, group, name: held_name },
        points: { time, value },
        calls: { begin: call_begin, wait, row: call_row, number, last, group: call_group },
    };
}

/**
 * The columns of a timeline; all empty where it has none.
 * @param {Timeline} timeline
 */
export async function readColumns(timeline) {
    return cutColumns(timeline, timeline.data === null ? new Uint8Array(0) : await inflate(timeline.data));
}

/**
 * Lines of JSON, one an event, found by number without splitting all of them.
 * @param {Uint8Array} bytes
 */
export function lineReader(bytes) {
    const decoder = new TextDecoder();
    const starts = [0];
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) starts.push(at + 1);
    return (/** @type {number} */ number) => {
        if (number >= starts.length) return "";
        const end = number + 1 < starts.length ? starts[number + 1] - 1 : bytes.length;
        return decoder.decode(bytes.subarray(starts[number], end));
    };
}
