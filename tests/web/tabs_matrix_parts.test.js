// Tests cells of a matrix by step, operation and transport against adding up part by part.

import assert from "node:assert/strict";
import { test } from "node:test";

import { cellsOf, choicesOf, kinds } from "../../web/tabs/matrix_parts.js";
import { randomOf } from "./random.js";

const steps = ["step1", "step2"];
const operations = ["allreduce", "send", ""];
const transports = ["HCCS"];

function randomMatrix(seed) {
    const random = randomOf(seed);
    const parts = [];
    for (let i = 0; i < 60; i++) {
        parts.push([random(4), random(4), steps[random(2)], operations[random(3)], transports[0], random(100), random(10)]);
    }
    return { id: "m", title: "", unit: "MB", labels: ["a", "b", "c", "d"], cells: [[0, 0, 1, "given"]], parts };
}

const none = { step: "", operation: "", transport: "" };

test("cells of a choice are the sums of the parts that fit", () => {
    for (let seed = 1; seed < 10; seed++) {
        for (const [unit, value] of [["MB", (mb) => mb], ["ns", (_, ms) => 1e6 * ms], ["GB/s", (mb, ms) => mb / ms]]) {
            const matrix = { ...randomMatrix(seed), unit };
            for (const chosen of [{ step: "step1" }, { operation: "send" }, { step: "step2", operation: "allreduce" }, { step: "no" }]) {
                const found = cellsOf(matrix, { ...none, ...chosen });
                for (let row = 0; row < 4; row++) {
                    for (let column = 0; column < 4; column++) {
                        const fit = matrix.parts.filter((part) => part[0] === row && part[1] === column &&
                            (chosen.step ?? part[2]) === part[2] && (chosen.operation ?? part[3]) === part[3]);
                        const sum = (at) => fit.reduce((all, part) => all + part[at], 0);
                        const expected = value(sum(5), sum(6));
                        const cell = found.find((one) => one[0] === row && one[1] === column);
                        if (fit.length === 0 || !Number.isFinite(expected)) assert.equal(cell, undefined);
                        else assert.ok(Math.abs(cell[2] - expected) < 1e-9 * Math.max(1, expected));
                    }
                }
            }
        }
    }
});

test("all of it is the matrix itself, and what has one value only is no choice", () => {
    const matrix = randomMatrix(3);
    assert.equal(cellsOf(matrix, none), matrix.cells);
    assert.deepEqual(choicesOf(matrix).map(({ kind }) => kind), ["step", "operation"]);
    const plain = { ...matrix, parts: undefined };
    assert.deepEqual(choicesOf(plain), []);
    assert.equal(cellsOf(plain, { ...none, step: "step1" }), plain.cells);
    assert.deepEqual(kinds, ["step", "operation", "transport"]);
});
