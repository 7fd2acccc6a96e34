// Tests rows of tables: sorting against an insertion sort written from the rules, filters against a plain search,
// separated text against an independent reader.

import assert from "node:assert/strict";
import { test } from "node:test";

import { compareCells, filteredOrder, separated, sortedOrder } from "../../web/tabs/rows.js";
import { randomOf } from "./random.js";

const random = randomOf(1);

/** From the rules: nothing last in both directions, numbers before texts ascending, equal ones in their order. */
function insertionSort(rows, column, descending) {
    const order = [];
    const after = (a, b) => {
        if (a === null || b === null) return a === null && b !== null;
        const [text_a, text_b] = [typeof a === "string", typeof b === "string"];
        if (text_a !== text_b) return descending ? text_b : text_a;
        return descending ? a < b : a > b;
    };
    rows.forEach((row, number) => {
        let place = order.length;
        while (place > 0 && after(rows[order[place - 1]][column], row[column])) place--;
        order.splice(place, 0, number);
    });
    return order;
}

test("sorting is stable, has nothing last in both directions, and numbers before texts", () => {
    const cells = [null, 1, 2, 3, -4, "a", "b", "c"];
    for (let round = 0; round < 300; round++) {
        const rows = Array.from({ length: 1 + random(40) }, (_, i) => [i, cells[random(cells.length)]]);
        for (const descending of [false, true]) {
            assert.deepEqual(
                sortedOrder(rows, { column: 1, descending }),
                insertionSort(rows, 1, descending),
                JSON.stringify({ rows, descending }),
            );
        }
    }
});

test("without a column rows stay in their order and are not changed", () => {
    const rows = [[3], [1], [2]];
    assert.deepEqual(sortedOrder(rows, null), [0, 1, 2]);
    sortedOrder(rows, { column: 0, descending: false });
    assert.deepEqual(rows, [[3], [1], [2]]);
});

test("numbers are compared as numbers and numbers within texts as well", () => {
    assert.ok(compareCells(9, 10) < 0);
    assert.ok(compareCells("rank 9", "rank 10") < 0);
    assert.ok(compareCells(1e9, "a") < 0);
    assert.ok(compareCells("a", null) < 0);
    assert.equal(compareCells(null, null), 0);
    assert.equal(compareCells(NaN, null), 0);
});

test("a filter keeps rows that hold all words, in their order", () => {
    const texts = ["matmul bf16 device", "all_reduce device", "matmul host", ""];
    assert.deepEqual(filteredOrder(texts, [2, 0, 1, 3], "MATMUL"), [2, 0]);
    assert.deepEqual(filteredOrder(texts, [0, 1, 2, 3], "device mat"), [0]);
    assert.deepEqual(filteredOrder(texts, [3, 2, 1, 0], "  "), [3, 2, 1, 0]);
    assert.deepEqual(filteredOrder(texts, [0, 1], "(.*"), []);
});

/** Reads separated text by its grammar, a character at a time. */
function readSeparated(text, separator) {
    const lines = [[]];
    let [at, value] = [0, ""];
    while (at < text.length) {
        if (text[at] === '"') {
            for (at++; text[at] !== '"' || text[at + 1] === '"'; at++) {
                value += text[at];
                at += text[at] === '"' ? 1 : 0;
            }
            at++;
        } else if (text[at] === separator || text.startsWith("\r\n", at)) {
            lines.at(-1).push(value);
            value = "";
            if (text[at] === "\r") {
                lines.push([]);
                at++;
            }
            at++;
        } else {
            value += text[at++];
        }
    }
    lines.pop();
    return lines;
}

test("separated text gives back what was written, whatever names hold", () => {
    const parts = [",", '"', "\n", "\r\n", "\t", "a", "b c", ";", "\u00e9"];
    const column = (title, unit) => ({ name: title, title, unit, search: false });
    const columns = [column("Name", "text"), column("Time", "ns"), column("n", "count")];
    for (let round = 0; round < 300; round++) {
        const name = "x" + Array.from({ length: random(8) }, () => parts[random(parts.length)]).join("");
        const rows = [
            [name, 1.5, null],
            ["y", -2, 3],
        ];
        for (const separator of [",", "\t"]) {
            assert.deepEqual(readSeparated(separated(columns, rows, [1, 0], separator), separator), [
                ["Name", "Time (ns)", "n"],
                ["y", "-2", "3"],
                [name, "1.5", ""],
            ]);
        }
    }
});

test("a name that a spreadsheet would run as a formula is kept from it, a negative number is not", () => {
    const columns = [{ name: "a", title: "a", unit: "text", search: false }];
    const lines = separated(columns, [["=1+1"], ["@x"], ["+y"], ["-z"], [-5]], [0, 1, 2, 3, 4], ",").split("\r\n");
    assert.deepEqual(lines.slice(1), ["'=1+1", "'@x", "'+y", "'-z", "-5", ""]);
});
