// Tests collectives over ranks: they are found by any of their events, compared with a slow search through all of them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { makeCalls } from "../../web/calls.js";
import { randomOf } from "./random.js";

/** n collectives on random ones of 6 rows, at random times that are a row's own. */
function randomCalls(seed, n) {
    const random = randomOf(seed);
    const all = [];
    for (let number = 0; number < n; number++) {
        for (let row = 0; row < 6; row++) {
            if (random(3) === 0) continue;
            all.push({ number, row, begin: 1000 * random(500) + row * 7 + number / 1000, wait: random(4) === 0 ? NaN : random(900),
                last: random(2), group: random(2) * (4 + random(5)) });
        }
    }
    all.sort((a, b) => a.row - b.row || random(3) - 1);
    const column = (type, key) => type.from(all, (call) => call[key]);
    return { all, columns: { begin: column(Float64Array, "begin"), wait: column(Float64Array, "wait"), row: column(Uint32Array, "row"),
        number: column(Uint32Array, "number"), last: column(Uint32Array, "last"), group: column(Uint32Array, "group") } };
}

test("the calls of a collective are those of its number, by row, whichever of them is asked for", () => {
    for (let seed = 1; seed < 20; seed++) {
        const { all, columns } = randomCalls(seed, 40);
        const calls = makeCalls(columns);
        for (const one of all) {
            const same = all.filter(({ number }) => number === one.number);
            const found = calls.at(one.row, one.begin);
            assert.equal(found.of, Math.max(...same.map(({ group }) => group)));
            assert.deepEqual(found.calls, same.sort((a, b) => a.row - b.row).map(({ row, begin, wait, last }) =>
                ({ row, begin, wait: Number.isNaN(wait) ? null : wait, last: last === 1 })));
        }
    }
});

test("what is no call has none: another row, a time between two, one after the last", () => {
    const { all, columns } = randomCalls(3, 10);
    const calls = makeCalls(columns);
    const { row, begin } = all[0];
    for (const [at, time] of [[77, begin], [row, begin + 0.5], [row, 1e12], [row, -1]]) assert.equal(calls.at(at, time), null);
});
