// Tests lists of numbers, as in filters and addresses, and the rows that a filter shows.

import assert from "node:assert/strict";
import { test } from "node:test";

import { asList, fromList, inList, passes, placeRows, rangeRows } from "../../web/rows.js";
import { gather, ordered } from "../../web/side/sums.js";
import { stretchFor } from "../../web/reveal.js";
import { randomOf, randomTimeline } from "./random.js";

test("a list that is written has the numbers that were put in", () => {
    const random = randomOf(2);
    for (let i = 0; i < 300; i++) {
        const numbers = Array.from({ length: 60 }, (_, number) => number).filter(() => random(3) > 0);
        const text = asList(numbers);
        for (let number = 0; number < 60; number++) {
            if (numbers.length > 0) assert.equal(inList(text, number), numbers.includes(number), `${number} in ${text}`);
        }
    }
    assert.equal(asList([3, 4, 5, 9]), "3-5,9");
});

test("an empty list has everything, and what is no list has nothing", () => {
    assert.ok(inList(" ", 7));
    for (const text of ["x", "7x", "-", "8-3", ",", "7.0"]) assert.ok(!inList(text, 7), text);
    assert.ok(inList(" 1 , 5 - 9", 7));
});

test("rows are placed in their tracks and groups", () => {
    const { timeline } = randomTimeline(1, [1, 1, 1, 1, 1]);
    const { row_track, row_group, row_depth } = placeRows(timeline);
    assert.deepEqual([[...row_track], [...row_group], [...row_depth]], [[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 1, 2, 0, 1]]);
});

test("a filter takes ranks, stages and a part of a track's name or its class", () => {
    const group = { rank: 3, stage: 1 };
    const track = { name: "Stream 17", class: "compute" };
    const filter = (change) => ({ rank: "", stage: "", track: "", name: "", ...change });
    assert.ok(passes(filter({}), group, track));
    assert.ok(passes(filter({ rank: "2-3", stage: "1", track: "stream" }), group, track));
    assert.ok(passes(filter({ track: "compute" }), group, track));
    assert.ok(!passes(filter({ track: "comp" }), group, track));
    assert.ok(!passes(filter({ rank: "4" }), group, track));
});

test("totals are put together by what they are grouped by, and sorted", () => {
    const totals = [
        { name: "a", type: 0, track: 0, n: 2, total: 10 },
        { name: "b", type: 1, track: 0, n: 1, total: 30 },
        { name: "a", type: 0, track: 1, n: 3, total: 5 },
    ];
    const lines = gather(totals, (total) => ({ key: total.name, label: total.name, type: total.type }));
    assert.deepEqual(ordered(lines, { key: "total", descending: true }).map((line) => [line.label, line.n, line.total, line.average]),
        [["b", 1, 30, 30], ["a", 5, 15, 3]]);
    assert.deepEqual(ordered(lines, { key: "label", descending: false }).map((line) => line.label), ["a", "b"]);
});

test("what is revealed is in the picture and wide enough, and the picture stays where it can", () => {
    const random = randomOf(6);
    const whole = { begin: 0, end: 1e6 };
    for (let i = 0; i < 2000; i++) {
        const begin = random(1e6);
        const shown = { begin, end: begin + 1 + random(1e5) };
        const at = random(1e6);
        const event = { begin: at, end: Math.min(whole.end, at + random(10 ** (1 + random(5)))) };
        const stretch = stretchFor(shown, event, whole, 1);
        assert.ok(stretch.begin <= event.begin && stretch.end >= event.end);
        assert.ok(event.end - event.begin >= (stretch.end - stretch.begin) / 401 || stretch.end - stretch.begin <= 1.0001);
        if (event.begin >= shown.begin && event.end <= shown.end && event.end - event.begin > (shown.end - shown.begin) / 100
            && event.end - event.begin < 0.8 * (shown.end - shown.begin)) assert.deepEqual(stretch, shown);
    }
});

test("a list of numbers comes back as it was written, and what is none is null", () => {
    for (const list of [[0], [1, 2, 3], [0, 2, 4, 5, 6, 99]]) assert.deepEqual(fromList(asList(list), 100), list);
    for (const text of ["", "a", "1,,2", "5-", "-1", "100", "0-100", "1e3", "9999999999"]) assert.equal(fromList(text, 100), null);
});

test("the rows of a range are those of its tracks that the filter shows", () => {
    const timeline = { groups: [{ rank: 0, stage: 0, tracks: [{ name: "a", class: "host" }, { name: "b", class: "host" }] },
        { rank: 1, stage: 0, tracks: [{ name: "c", class: "host" }] }] };
    const source = { timeline, row_track: [0, 0, 1, 2, 2] };
    const filter = { rank: "", stage: "", track: "", name: "" };
    assert.deepEqual(rangeRows(source, { filter, area: null }), [0, 1, 2, 3, 4]);
    assert.deepEqual(rangeRows(source, { filter, area: [1, 2] }), [2, 3, 4]);
    assert.deepEqual(rangeRows(source, { filter: { ...filter, rank: "0" }, area: [1, 2] }), [2]);
});
