// Tests the strip of a plan's stages by chunks, read from the rows of its table.

import assert from "node:assert/strict";
import { test } from "node:test";

import { kindsOf, stripCells } from "../../web/tabs/strip.js";

const columns = ["chunk", "layers", "kinds"].map((name) => ({ name, title: name, unit: "text", search: false }));

test("a cell has its stage, chunk, layers and what they recompute", () => {
    const rows = [["stage 0, chunk 0", 2, "1 comm, 1 both"], ["stage 0, chunk 1", 0, "no layer"], ["stage 11, chunk 0", 3, "3 none"]];
    const cells = stripCells({ id: "plan", title: "", columns, rows, sort: null });
    assert.deepEqual(cells.map(({ stage, chunk, layers, row }) => [stage, chunk, layers, row]), [[0, 0, 2, 0], [0, 1, 0, 1], [11, 0, 3, 2]]);
    assert.deepEqual(cells[0].kinds, [{ n: 1, name: "comm" }, { n: 1, name: "both" }]);
    assert.deepEqual(cells[1].kinds, []);
    assert.equal(cells[2].what, "stage 11, chunk 0: 3 none");
});

test("a plan of one chunk a stage, and a table of something else", () => {
    const one = stripCells({ id: "plan", title: "", columns, rows: [["stage 3", 4, "4 full"]], sort: null });
    assert.deepEqual([one[0].stage, one[0].chunk], [3, 0]);
    assert.deepEqual(stripCells({ id: "plan", title: "", columns: columns.slice(1), rows: [[1, "2 none"]], sort: null }), []);
    assert.deepEqual(stripCells({ id: "plan", title: "", columns, rows: [["all", 1, "1 none"]], sort: null }), []);
    assert.deepEqual(kindsOf("12 full, x"), [{ n: 12, name: "full" }]);
});
