// Tests the names of a plan's blocks, and the shades of their chunks.

import assert from "node:assert/strict";
import { test } from "node:test";

import { blockOf, chunksOf, numberLetters } from "../../web/block_name.js";
import { makeColors } from "../../web/colors.js";
import { roles, types as all_types } from "./roles.js";
import { typesOf } from "../../web/side/legend.js";

test("a block's name says its kind, micro-batch and chunk, and others say nothing", () => {
    assert.deepEqual(blockOf("F3"), { kind: "F", micro_batch: "3", chunk: 0 });
    assert.deepEqual(blockOf("B15\u00b72"), { kind: "B", micro_batch: "15", chunk: 2 });
    assert.deepEqual(blockOf("W3.1\u00b70"), { kind: "W", micro_batch: "3.1", chunk: 0 });
    for (const text of ["", "F", "f3", "Free", "F3 ", "F3\u00b7", "B1.", "X1", "F".padEnd(5000, "1")]) assert.equal(blockOf(text), null);
    assert.equal(numberLetters(["send", "F3", "B12.0\u00b71"]), 4);
});

test("chunks are counted of plans alone, and their shades go from light to dark, on a dark page the other way", () => {
    const timeline = (kind) => ({ names: { text: ["F0", "B3\u00b72", "send"] }, groups: [{ tracks: [{ class: kind }] }] });
    assert.equal(chunksOf(timeline("stage")), 3);
    assert.equal(chunksOf(timeline("compute")), 0);
    assert.equal(chunksOf({ ...timeline("stage"), names: null }), 0);
    const names = ["F0\u00b70", "F1\u00b70", "F0\u00b71", "F0\u00b72", "B0\u00b72"];
    const colors = makeColors(["forward", "backward"].map((type) => roles[all_types.indexOf(type)]), (name) => names[name], 3);
    const green = (pixel) => (pixel >> 8) & 255;
    assert.equal(colors.pixel(0, 0), colors.pixel(0, 1));
    assert.ok(green(colors.pixel(0, 0)) > green(colors.pixel(0, 2)) && green(colors.pixel(0, 2)) > green(colors.pixel(0, 3)));
    assert.notEqual(colors.pixel(0, 3), colors.pixel(1, 4));
    colors.setDark(true);
    assert.ok(green(colors.pixel(0, 0)) < green(colors.pixel(0, 2)) && green(colors.pixel(0, 2)) < green(colors.pixel(0, 3)));
});

test("the legend has the types that the timeline has, of a server those of its tracks", () => {
    const types = ["other", "computing", "copy", "framework"];
    assert.deepEqual(typesOf({ names: { text: [], type: [3, 1, 1] } }, types), [1, 3]);
    assert.deepEqual(typesOf({ names: null, groups: [{ tracks: [{ class: "compute" }] }] }, types), [1, 2]);
});
