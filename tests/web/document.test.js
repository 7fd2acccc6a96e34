// Tests the document: columns written here by the rules of docs/view-json.md are read back number by number; damaged
// ones are refused with a message.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

import { inflate, lineReader, parseDocument, readColumns, untransposed } from "../../web/document.js";
import { randomOf } from "./random.js";

/** Bytes of doubles, the lowest of all first. @param {number[]} values */
function transposed(values) {
    const bytes = Buffer.alloc(8 * values.length);
    values.forEach((value, i) => {
        const one = Buffer.alloc(8);
        one.writeDoubleLE(value);
        for (let k = 0; k < 8; k++) bytes[k * values.length + i] = one[k];
    });
    return bytes;
}

/** @param {number[]} values */
function numbers(values) {
    const bytes = Buffer.alloc(4 * values.length);
    values.forEach((value, i) => bytes.writeUInt32LE(value, 4 * i));
    return bytes;
}

test("doubles come back from transposed bytes", () => {
    const values = [0, -0, 1.5, -2e300, 5e-324, Infinity, 123456789.125];
    const bytes = Buffer.concat([Buffer.from([1, 2, 3]), transposed(values)]);
    assert.deepEqual([...untransposed(bytes, 3, values.length)], values);
});

test("columns come back in the order of the format", async () => {
    const random = randomOf(7);
    const reals = (n) => Array.from({ length: n }, () => random(1e9) / 7);
    const wholes = (n) => Array.from({ length: n }, () => random(2 ** 32));
    const [n_events, n_arrows, n_held, n_points, n_calls] = [1000, 70, 33, 5, 21];
    const written = {
        reals: [n_events, n_events, n_arrows, n_arrows, n_held, n_held, n_held, n_points, n_points, n_calls, n_calls].map(reals),
        wholes: [n_events, n_arrows, n_arrows, n_arrows, n_held, n_held, n_calls, n_calls, n_calls, n_calls].map(wholes),
    };
    const bytes = Buffer.concat([...written.reals.map(transposed), ...written.wholes.map(numbers)]);
    const data = deflateSync(bytes).toString("base64");
    const c = await readColumns({ n_events, n_arrows, n_held, n_points, n_calls, data });
    const read = {
        reals: [c.begin, c.duration, c.arrows.from_time, c.arrows.to_time, c.held.begin, c.held.end, c.held.mb, c.points.time, c.points.value,
            c.calls.begin, c.calls.wait],
        wholes: [c.name, c.arrows.from_row, c.arrows.to_row, c.arrows.name, c.held.group, c.held.name, c.calls.row, c.calls.number, c.calls.last,
            c.calls.group],
    };
    assert.deepEqual(read.reals.map((column) => [...column]), written.reals);
    assert.deepEqual(read.wholes.map((column) => [...column]), written.wholes);
});

test("columns of another length than the counts say are refused", async () => {
    const data = deflateSync(Buffer.alloc(39)).toString("base64");
    await assert.rejects(readColumns({ n_events: 2, n_arrows: 0, n_held: 0, n_points: 0, data }), /39 bytes, 40 were expected/);
});

test("bytes that are no zlib are refused", async () => {
    await assert.rejects(inflate(Buffer.from("no zlib at all").toString("base64")), /damaged/);
    const cut = deflateSync(Buffer.alloc(1000, "abc")).subarray(0, -6);
    await assert.rejects(inflate(cut.toString("base64")), /damaged/);
    await assert.rejects(inflate("no base64!"), /damaged/);
});

test("a timeline without columns has none", async () => {
    const columns = await readColumns({ n_events: 0, n_arrows: 0, n_held: 0, n_points: 0, data: null });
    assert.equal(columns.begin.length, 0);
});

test("lines are found by number, empty ones and the last one too", () => {
    const line = lineReader(new TextEncoder().encode('{"a":1}\n\nüber\n'));
    assert.deepEqual([0, 1, 2, 3, 4].map(line), ['{"a":1}', "", "über", "", ""]);
});

test("another document, another version and damaged JSON are refused in words", () => {
    assert.throws(() => parseDocument("{"), /damaged/);
    assert.throws(() => parseDocument("null"), /not one of Evenkeel's/);
    assert.throws(() => parseDocument('{"format": "evenkeel view", "version": 2, "runs": [{}]}'), /version 2/);
    assert.throws(() => parseDocument('{"format": "evenkeel view", "version": 1, "runs": []}'), /no runs/);
    assert.equal(parseDocument('{"format": "evenkeel view", "version": 1, "runs": [{"name": "a"}]}').runs[0].name, "a");
});
