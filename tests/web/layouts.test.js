// Tests layouts without their pictures: the document's columns read back, the front and its steps against a search over
// all pairs, brushes, marks under the pointer, ticks and the range of a picture.

import assert from "node:assert/strict";
import { test } from "node:test";

import { brushed, coordinatesOf, decodeSpace, extentOf, frontOf, logTicks, markAt, wordsOf } from "../../web/layouts/space.js";
import { fractionsOf } from "./random.js";

const axes = ["dp", "tp", "cp", "ep", "pp", "vpp", "batch", "shard", "copies"];
const numbers = [...axes, "micro_batches", "sequence", "schedule", "fate", "found"];

/** A space of n layouts by columns, and the bytes that the document would have. */
function made(n, columns) {
    const bytes = new Uint8Array(n * (32 + 4 * numbers.length));
    ["seconds", "mb", "least_seconds", "least_mb"].forEach((name, k) => {
        const plain = new Uint8Array(Float64Array.from(columns[name]).buffer);
        for (let i = 0; i < n; i++) for (let b = 0; b < 8; b++) bytes[8 * n * k + b * n + i] = plain[8 * i + b];
    });
    numbers.forEach((name, k) => bytes.set(new Uint8Array(Uint32Array.from(columns[name]).buffer), 32 * n + 4 * n * k));
    const raw = {
        n, axes, schedules: ["1f1b", "interleaved"], fates: ["plan", "illegal", "memory", "bound", "balanced", "no_plan", "open"],
        limit_mb: 60000, plans: [{ point: 0, run: 1 }], today: null, front: [], bounds: [], data: "",
    };
    return { raw, bytes };
}

/** Random columns. */
function random(n, seed) {
    const next = fractionsOf(seed);
    const real = () => Array.from({ length: n }, () => 1 + Math.floor(next() * 40) / 4);
    const columns = { seconds: real(), mb: real().map((mb) => 8000 * mb) };
    columns.least_seconds = columns.seconds.map((value) => 0.9 * value);
    columns.least_mb = columns.mb;
    for (const name of numbers) columns[name] = Array.from({ length: n }, () => 2 ** Math.floor(next() * 4));
    columns.sequence = columns.schedule = columns.found = columns.found.map((value) => value & 1);
    columns.fate = columns.fate.map((value) => value % 5);
    return columns;
}

test("columns come back as they were, and a document that is cut off is told of", () => {
    const columns = random(37, 1);
    const { raw, bytes } = made(37, columns);
    const space = decodeSpace(raw, bytes);
    assert.deepEqual([...space.seconds], columns.seconds);
    assert.deepEqual([...space.least_mb], columns.least_mb);
    for (const name of numbers) assert.deepEqual([...space.number[name]], columns[name]);
    assert.throws(() => decodeSpace(raw, bytes.subarray(1)), /were expected/);
});

test("a layout in words has what is not 1, the batch, and the schedule of a pipeline", () => {
    const columns = Object.fromEntries([...numbers, "seconds", "mb", "least_seconds", "least_mb"].map((name) => [name, [1, 1]]));
    Object.assign(columns, { tp: [4, 1], pp: [8, 1], dp: [2, 16], sequence: [1, 1], schedule: [1, 0] });
    const { raw, bytes } = made(2, columns);
    const space = decodeSpace(raw, bytes);
    assert.equal(wordsOf(space, 0), "dp 2, tp 4, pp 8, batch 1, sequence parallel, interleaved");
    assert.equal(wordsOf(space, 1), "dp 16, batch 1");
});

test("the front is what no other point is below, found by all pairs", () => {
    for (let seed = 1; seed <= 200; seed++) {
        const { mb, seconds } = random(1 + (seed % 40), seed);
        const points = mb.map((_, i) => i);
        const below = (i, j) => mb[j] <= mb[i] && seconds[j] <= seconds[i] && (mb[j] < mb[i] || seconds[j] < seconds[i] || j < i);
        const slow = points.filter((i) => !points.some((j) => j !== i && below(i, j)));
        const front = frontOf(mb, seconds, points);
        assert.deepEqual([...front].sort((a, b) => a - b), slow);
        front.slice(1).forEach((i, k) => assert.ok(mb[i] > mb[front[k]] && seconds[i] < seconds[front[k]]));
    }
});

test("brushes let through what all of them hold, ends included", () => {
    const { raw, bytes } = made(300, random(300, 7));
    const space = decodeSpace(raw, bytes);
    const all = coordinatesOf(space);
    assert.deepEqual(all.map(({ name }) => name), [...axes, "step", "memory"]);
    const tp = all.find(({ name }) => name === "tp");
    assert.deepEqual(tp.values, [1, 2, 4, 8]);
    assert.deepEqual([...brushed(300, all, new Map())], Array(300).fill(1));
    const step = all.find(({ name }) => name === "step");
    const [low, high] = [2.5, 6];
    const inside = brushed(300, all, new Map([["tp", [tp.place(2), tp.place(4)]], ["step", [step.place(low), step.place(high)]]]));
    for (let i = 0; i < 300; i++) {
        const expected = [2, 4].includes(space.number.tp[i]) && space.seconds[i] >= low && space.seconds[i] <= high;
        assert.equal(inside[i], expected ? 1 : 0, `layout ${i}`);
    }
    assert.ok(inside.includes(1) && inside.includes(0));
});

test("an axis whose values are all the same has them in its middle", () => {
    const columns = random(5, 3);
    columns.cp = Array(5).fill(1);
    columns.copies = Array(5).fill(1);
    columns.mb = Array(5).fill(4096);
    const { raw, bytes } = made(5, columns);
    const all = coordinatesOf(decodeSpace(raw, bytes));
    assert.equal(all.find(({ name }) => name === "cp").place(1), 0.5);
    assert.equal(all.find(({ name }) => name === "memory").place(4096), 0.5);
    assert.equal(all.find(({ name }) => name === "copies"), undefined);
});

test("the mark under the pointer is the nearest one in reach, plans before bounds", () => {
    const [x, y] = [[10, 14, NaN, 100], [10, 10, 10, 100]];
    assert.equal(markAt(x, y, [0, 0, 0, 0], 11, 10, 12), 0);
    assert.equal(markAt(x, y, [0, 8, 0, 0], 11, 10, 12), 1);
    assert.equal(markAt(x, y, [0, 0, 0, 50], 11, 10, 12), 0);
    assert.equal(markAt(x, y, [0, 0, 0, 0], 60, 60, 12), -1);
    assert.equal(markAt([], [], [], 0, 0, 5), -1);
});

test("ticks of a logarithmic axis are round, inside, and neither few nor many", () => {
    for (const [low, high] of [[110, 121], [0.9, 1.4], [1.3, 60], [0.004, 3], [90, 240], [2.001, 2.04]]) {
        const ticks = logTicks(low, high, 8);
        assert.ok(ticks.length >= 3 && ticks.length <= 14, `${low} to ${high}: ${ticks}`);
        ticks.forEach((tick, k) => assert.ok(tick >= low * 0.999 && tick <= high * 1.001 && (k === 0 || tick > ticks[k - 1])));
    }
});

test("a picture reaches all plans, the limit, and of the bounds those that are near", () => {
    const columns = random(50, 5);
    columns.found = columns.found.map((_, i) => (i < 3 ? 1 : 0));
    columns.seconds = columns.seconds.map((value, i) => (i === 49 ? 5000 : value));
    columns.mb = columns.mb.map((value, i) => (i === 48 ? 9e6 : value));
    const { raw, bytes } = made(50, columns);
    const space = decodeSpace(raw, bytes);
    const { x, y } = extentOf(space, false);
    for (let i = 0; i < 3; i++) {
        assert.ok(space.mb[i] >= x[0] && space.mb[i] <= x[1] && space.seconds[i] >= y[0] && space.seconds[i] <= y[1]);
    }
    assert.ok(x[1] >= 60000 && x[1] < 9e6 && y[1] < 5000);
    const close = extentOf(space, true);
    assert.ok(close.y[0] <= space.seconds[0] && close.y[1] >= space.seconds[0] && close.y[1] / close.y[0] <= y[1] / y[0]);
});
