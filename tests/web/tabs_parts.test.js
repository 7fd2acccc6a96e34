// Tests the computations of a tab's charts and tables before drawing: steps of curves, dashes, columns that are left
// out, tables that are folded into one, labels above a heat map, and the message where there is no timeline.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeColors } from "../../web/colors.js";
import { roles, types as all_types } from "./roles.js";
import { seriesColors } from "../../web/tabs/bars_parts.js";
import { dashOf, pathOf } from "../../web/tabs/lines.js";
import { shortLabels } from "../../web/tabs/matrix.js";
import { familiesOf } from "../../web/tabs/section.js";
import { withoutEmpty } from "../../web/tabs/table.js";
import { firstTab } from "../../web/tabs.js";
import { timelineTab, whyNone } from "../../web/timeline/tab.js";

const same = (/** @type {number} */ x) => x;

test("a curve of steps holds a value until the next point, others go straight to it", () => {
    const run = [[0, 5], [10, 8], [12, 1]];
    assert.equal(pathOf(run, true, same, same), "M0.0 5.0H10.0V8.0H12.0V1.0");
    assert.equal(pathOf(run, false, same, same), "M0.0 5.0L10.0 8.0L12.0 1.0");
});

test("32 curves look different from each other: colours come again with other dashes", () => {
    const colors = makeColors([], () => "");
    const looks = Array.from({ length: 32 }, (_, i) => `${colors.series(i)} ${dashOf(i)}`);
    assert.equal(new Set(looks).size, 32);
});

test("columns without any value are left out, and the sort goes with its column", () => {
    const column = (/** @type {string} */ name) => ({ name, title: name, unit: /** @type {any} */ ("MB"), search: false });
    const table = { id: "t", title: "T", columns: ["a", "b", "c"].map(column), rows: [[null, null, 1], [null, "", 2]],
        sort: { column: 2, descending: true } };
    const seen = withoutEmpty(table);
    assert.deepEqual(seen.columns.map(({ name }) => name), ["a", "c"]);
    assert.deepEqual(seen.rows, [[null, 1], [null, 2]]);
    assert.deepEqual(seen.sort, { column: 1, descending: true });
    assert.equal(withoutEmpty({ ...table, rows: [[1, 2, 3]] }).columns.length, 3);
    assert.equal(withoutEmpty({ ...table, rows: [] }).columns.length, 3);
    assert.equal(withoutEmpty({ ...table, sort: { column: 1, descending: false } }).sort, null);
});

test("tables of many ranks are folded into one, a few stand below each other", () => {
    const tables = (/** @type {string[]} */ ids) => ids.map((id) => ({ id, title: id, columns: [], rows: [], sort: null }));
    const many = ["slow", ...Array.from({ length: 20 }, (_, i) => `operators-${i}`), "after"];
    assert.deepEqual(familiesOf(tables(many)).map((family) => family.length), [1, 20, 1]);
    assert.deepEqual(familiesOf(tables(["operators-0", "operators-1", "kept-0"])).map((family) => family.length), [1, 1, 1]);
});

test("above columns the words that all labels begin with are left out, but never a whole label", () => {
    assert.deepEqual(shortLabels(["rank 0", "rank 12"]), ["0", "12"]);
    assert.deepEqual(shortLabels(["rank 0", "stage 0"]), ["rank 0", "stage 0"]);
    assert.deepEqual(shortLabels(["a", "a"]), ["a", "a"]);
    assert.deepEqual(shortLabels(["rank 7"]), ["rank 7"]);
});

test("a series has the same place among the colours in light and dark", () => {
    const types = ["parameters", "gradients", "optimizer states", "activations"];
    const colors = makeColors(types.map((type) => roles[all_types.indexOf(type)]), () => "");
    for (let n = 0; n < 4; n++) {
        const series = [0, 1, 2, n, null, null, null].map((type) => ({ name: "", type }));
        const places = [false, true].map((dark) => {
            colors.setDark(dark);
            const all = Array.from({ length: 8 }, (_, i) => colors.series(i));
            return seriesColors(series, colors).slice(4).map((color) => all.indexOf(color));
        });
        assert.deepEqual(places[0], places[1]);
    }
});

test("without a timeline its tab says why and what to give, and another one opens first", () => {
    const run = (/** @type {string[]} */ kinds) => /** @type {any} */ ({ kinds, timeline: null, sections: [] });
    for (const kind of ["trace", "memory", "estimate", "diagnosis"]) {
        assert.match(whyNone([kind]) ?? "", /^There is no timeline: .*Give /s, kind);
        assert.equal(timelineTab.present(/** @type {any} */ ({ run: run([kind]) })), true);
    }
    assert.equal(timelineTab.present(/** @type {any} */ ({ run: run(["sweep"]) })), false);
    const tabs = [timelineTab, { ...timelineTab, id: "breakdown" }];
    assert.equal(firstTab(tabs, run(["trace"]))?.id, "breakdown");
    assert.equal(firstTab(tabs, { ...run(["trace"]), timeline: /** @type {any} */ ({}) })?.id, "timeline");
});
