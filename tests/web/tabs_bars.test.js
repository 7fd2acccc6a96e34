// Tests stacked bars without their picture: sums and lengths against adding up, texts, and distinguishable colours.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asTable, fullText, inkOn, legendTexts, longestOf, seriesColors, totalOf } from "../../web/tabs/bars_parts.js";
import { unbroken } from "../../web/tabs/lines.js";
import { makeColors } from "../../web/colors.js";
import { roles, types as all_types } from "./roles.js";
import { format } from "../../web/format.js";

const bars = {
    id: "b",
    title: "B",
    unit: "MB",
    limit: 10,
    series: [
        { name: "one", type: null },
        { name: "two", type: null },
    ],
    bars: [
        { label: "x", group: null, values: [3, 9] },
        { label: "y", group: null, values: [-2, 4] },
        { label: "z", group: null, values: [NaN, 1] },
    ],
};

test("a bar's total has all values, its length only those above 0", () => {
    assert.equal(totalOf([3, 9]), 12);
    assert.equal(totalOf([-2, 4]), 2);
    assert.equal(totalOf([NaN, 1, null]), 1);
    assert.equal(longestOf(bars), 12);
    assert.equal(longestOf({ ...bars, bars: [bars.bars[1]] }), 4);
    assert.equal(longestOf({ ...bars, bars: [] }), 0);
    assert.equal(longestOf({ ...bars, bars: [{ label: "w", group: null, values: [0.25, 0.5] }] }), 0.75);
});

test("the text of a bar has its parts with their shares and how it stands to the limit", () => {
    assert.equal(
        fullText(bars, bars.bars[0], format),
        "x: 12 MB\none: 3 MB, 25.0 %\ntwo: 9 MB, 75.0 %\nover the limit by 2 MB",
    );
    assert.match(fullText(bars, bars.bars[1], format), /below the limit by 8 MB$/);
    assert.doesNotMatch(fullText({ ...bars, limit: null }, bars.bars[0], format), /limit/);
});

test("bars as a table have a row each, with all values", () => {
    const { columns, rows } = asTable(bars);
    assert.deepEqual(
        columns.map(({ title, unit }) => [title, unit]),
        [
            ["Name", "text"],
            ["one", "MB"],
            ["two", "MB"],
        ],
    );
    assert.deepEqual(rows[0], ["x", 3, 9]);
});

test("a type has its own colour, and series without one get colours that are told apart from it", () => {
    const types = ["other", "activations", "computing", "communication", "parameters"];
    const colors = makeColors(types.map((type) => roles[all_types.indexOf(type)]), () => "");
    const distance = (a, b) =>
        Math.hypot(...[0, 1, 2].map((i) => Number(a.match(/\d+/g)[i]) - Number(b.match(/\d+/g)[i])));
    for (const dark of [false, true]) {
        colors.setDark(dark);
        for (let type = 0; type < types.length; type++) {
            const made = seriesColors([{ type: null }, { type }, { type: null }, { type: null }], colors);
            assert.equal(made[1], colors.type(type));
            made.forEach((color, i) =>
                made.slice(0, i).forEach((other) => assert.ok(distance(color, other) > 60, `${made}`)),
            );
        }
        // As many series as a memory prediction has: types and others beside each other.
        const mixed = seriesColors(
            [{ type: 4 }, { type: 1 }, { type: 2 }, { type: 3 }, ...Array(3).fill({ type: null })],
            colors,
        );
        assert.equal(new Set(mixed).size, 7, `${mixed}`);
        const many = seriesColors(
            Array.from({ length: 20 }, () => ({ type: null })),
            colors,
        );
        assert.equal(many.length, 20);
        assert.equal(new Set(many.slice(0, 6)).size, 6);
    }
});

test("letters on a colour are black or white, whichever has more contrast", () => {
    const part = (x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    for (let i = 0; i < 300; i++) {
        const rgb = [(i * 37) % 256, (i * 101) % 256, (i * 193) % 256];
        const bright = 0.2126 * part(rgb[0] / 255) + 0.7152 * part(rgb[1] / 255) + 0.0722 * part(rgb[2] / 255);
        const [on_black, on_white] = [(bright + 0.05) / 0.05, 1.05 / (bright + 0.05)];
        if (Math.abs(on_black - on_white) > 0.1)
            assert.equal(inkOn(`rgb(${rgb.join(" ")})`), on_black > on_white ? "#000" : "#fff");
    }
});

test("a line is broken where there is no value and nowhere else", () => {
    assert.deepEqual(
        unbroken([
            [0, 1],
            [1, null],
            [2, 3],
            [3, 4],
            [4, NaN],
            [5, null],
        ]),
        [
            [[0, 1]],
            [
                [2, 3],
                [3, 4],
            ],
        ],
    );
    assert.deepEqual(unbroken([[0, null]]), []);
    assert.deepEqual(unbroken([]), []);
});

test("the legend has means, and shares only of parts that make up a whole", () => {
    const bar = (values) => ({ label: "", group: null, values });
    const of = (pairs) => legendTexts({ ...bars, bars: pairs.map(bar) }, format);
    assert.deepEqual(of([[1, 3], [2, 6]]), { parts: ["mean 1.5 MB, 25.0 %", "mean 4.5 MB, 75.0 %"], all: "mean 6 MB" });
    assert.deepEqual(of([[0, 0]]), { parts: ["0 MB", "0 MB"], all: "0 MB" });
    assert.deepEqual(of([[-2, 8]]).parts, ["\u22122 MB, taken off and not drawn", "8 MB"]);
});
