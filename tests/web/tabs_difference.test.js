// Tests the comparison of two runs: the joined tables against a search through all pairs, and the signs of differences.

import assert from "node:assert/strict";
import { test } from "node:test";

import { betterWay, difference, joinedRows, joinLabels, joinRows } from "../../web/tabs/difference.js";
import { randomOf } from "./random.js";

const random = randomOf(3);

/** The n-th row of a name in a meets the n-th of that name in b: each pair is tried. */
function bruteJoin(a, b) {
    const nth = (rows, row) => rows.slice(0, row).filter((other) => other[0] === rows[row][0]).length;
    const pairs = [];
    a.forEach((row_a, i) => {
        const j = b.findIndex((row_b, k) => row_b[0] === row_a[0] && nth(a, i) === nth(b, k));
        pairs.push([i, j < 0 ? null : j]);
    });
    b.forEach((_, j) => {
        if (!pairs.some((pair) => pair[1] === j)) pairs.push([null, j]);
    });
    return pairs;
}

test("joining meets a search through all pairs, with names that stand twice and names of numbers", () => {
    const names = ["a", "b", "c", 1, "1", null];
    for (let round = 0; round < 500; round++) {
        const table = () => Array.from({ length: random(9) }, () => [names[random(names.length)], random(5)]);
        const [a, b] = [table(), table()];
        assert.deepEqual(joinRows(a, b), bruteJoin(a, b), JSON.stringify([a, b]));
    }
});

test("labels meet their equals first and what is left meets what differs in numbers only", () => {
    assert.deepEqual(joinLabels(["peak, stage 3", "step"], ["step", "peak, stage 0"]), [
        [0, 1],
        [1, 0],
    ]);
    assert.deepEqual(joinLabels(["rank 0", "rank 1"], ["rank 1", "rank 2"]), [
        [0, 1],
        [1, 0],
    ]);
    assert.deepEqual(joinLabels(["a"], ["b", "c 1"]), [
        [0, null],
        [null, 0],
        [null, 1],
    ]);
    for (let round = 0; round < 300; round++) {
        const labels = () => Array.from({ length: random(7) }, () => `${"ab"[random(2)]} ${random(4)}`);
        const [a, b] = [labels(), labels()];
        const pairs = joinLabels(a, b);
        const sides = [0, 1].map((side) =>
            pairs
                .map((pair) => pair[side])
                .filter((row) => row !== null)
                .sort((x, y) => x - y),
        );
        assert.deepEqual(sides, [a.map((_, i) => i), b.map((_, i) => i)]);
        for (const [x, y] of bruteJoin(
            a.map((label) => [label]),
            b.map((label) => [label]),
        )) {
            if (x !== null && y !== null) assert.ok(pairs.some((pair) => pair[0] === x && pair[1] === y));
        }
        const alone = (side) =>
            pairs.filter((pair) => pair[1 - side] === null).map((pair) => (side === 0 ? a : b)[pair[side]][0]);
        assert.ok(alone(0).every((letter) => !alone(1).includes(letter)));
    }
});

test("joined rows: each row of both once, the largest difference first, then those of one run", () => {
    const columns = [
        { name: "name", title: "Name", unit: "text", search: true },
        { name: "total", title: "Total", unit: "ns", better: "less", search: false },
    ];
    for (let round = 0; round < 200; round++) {
        const table = () => ({
            id: "t",
            title: "T",
            columns,
            sort: null,
            rows: Array.from({ length: 1 + random(9) }, () => [
                String(random(6)),
                random(7) === 0 ? null : random(100),
            ]),
        });
        const [a, b] = [table(), table()];
        const joined = joinedRows(a, b, "total", "only A", "only B");
        const pairs = bruteJoin(a.rows, b.rows);
        assert.equal(joined.length, pairs.length);
        const expected = pairs.map(([i, j]) => {
            const [x, y] = [i === null ? null : a.rows[i][1], j === null ? null : b.rows[j][1]];
            return [
                i === null ? b.rows[j][0] : a.rows[i][0],
                x,
                y,
                x === null || y === null ? null : y - x,
                i === null
                    ? "only B"
                    : j === null
                      ? "only A"
                      : x === null || y === null
                        ? ""
                        : y < x
                          ? "better"
                          : y > x
                            ? "worse"
                            : "same",
            ];
        });
        const plain = joined.map((row) => [...row.slice(0, 4), row[5]]);
        const sorted = (rows) => rows.map((row) => JSON.stringify(row)).sort();
        assert.deepEqual(sorted(plain), sorted(expected));
        for (let i = 1; i < joined.length; i++) {
            const [before, after] = [joined[i - 1][3], joined[i][3]];
            assert.ok(after === null || (before !== null && Math.abs(before) >= Math.abs(after)));
        }
        for (const [, x, y, absolute, share] of joined)
            assert.ok(
                share === null || (x === 0 && y === 0) || Math.abs((share / 100) * Math.abs(x) - absolute) < 1e-9,
            );
    }
});

test("a figure that only one table has leaves the other's side empty", () => {
    const column = (name) => ({ name, title: name, unit: "ns", search: false });
    const a = { id: "t", title: "T", sort: null, columns: [column("k"), column("wait")], rows: [["x", 5]] };
    const b = { id: "t", title: "T", sort: null, columns: [column("k"), column("total")], rows: [["x", 7]] };
    assert.deepEqual(joinedRows(a, b, "wait", "only A", "only B"), [["x", 5, null, null, null, ""]]);
    assert.deepEqual(joinedRows(a, b, "total", "only A", "only B"), [["x", null, 7, null, null, ""]]);
});

test("the sign of a difference is that from the first to the second, and its share is of the first's size", () => {
    assert.deepEqual(difference(10, 8, -1), { absolute: -2, share: -0.2, verdict: "better" });
    assert.deepEqual(difference(8, 10, -1), { absolute: 2, share: 0.25, verdict: "worse" });
    assert.deepEqual(difference(8, 10, 1), { absolute: 2, share: 0.25, verdict: "better" });
    assert.deepEqual(difference(10, 8, 1), { absolute: -2, share: -0.2, verdict: "worse" });
    assert.deepEqual(difference(-10, -5, 0), { absolute: 5, share: 0.5, verdict: "" });
    assert.deepEqual(difference(0, 5, -1), { absolute: 5, share: null, verdict: "worse" });
    assert.deepEqual(difference(0, 0, -1), { absolute: 0, share: 0, verdict: "same" });
    assert.equal(difference(null, 1, 1), null);
    assert.equal(difference(1, "2", 1), null);
    assert.equal(difference(NaN, 1, 1), null);
});

test("what is better is what the document says, never what a title sounds like", () => {
    assert.deepEqual(["less", "more", undefined, "free"].map(betterWay), [-1, 1, 0, 0]);
    const table = (better, value) => ({
        id: "t",
        title: "T",
        sort: null,
        columns: [
            { name: "k", title: "K", unit: "text", search: false },
            { name: "free", title: "Free", unit: "%", better, search: false },
        ],
        rows: [["x", value]],
    });
    const verdict = (better) => joinedRows(table(better, 5), table(better, 7), "free", "only A", "only B")[0][5];
    assert.deepEqual(["less", "more", undefined].map(verdict), ["worse", "better", ""]);
});

test("rows of many ranks meet those of their rank; one rank alone meets the first of many", () => {
    const table = (...rows) => ({
        id: "t",
        title: "T",
        sort: null,
        columns: [
            { name: "name", title: "Name", unit: "text", search: true },
            { name: "rank", title: "Rank", unit: "text", search: false },
            { name: "total", title: "Total", unit: "ns", better: "less", search: false },
        ],
        rows,
    });
    const many = table(["x", "rank 0", 1], ["x", "rank 1", 2], ["y", "rank 1", 3]);
    const swapped = table(["x", "rank 1", 20], ["y", "rank 0", 30]);
    const joined = (a, b) => joinedRows(a, b, "total", "A", "B").map(([first, x, y]) => [first, x, y]);
    assert.deepEqual(joined(many, swapped), [
        ["rank 1: x", 2, 20],
        ["rank 0: y", null, 30],
        ["rank 1: y", 3, null],
        ["rank 0: x", 1, null],
    ]);
    assert.deepEqual(joined(many, table(["x", "rank 7", 5])), [
        ["rank 0: x", 1, 5],
        ["rank 1: y", 3, null],
        ["rank 1: x", 2, null],
    ]);
    assert.deepEqual(joined(table(["x", "rank 0", 1]), table(["x", "rank 7", 5])), [["x", 1, 5]]);
});
