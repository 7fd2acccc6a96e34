// Tests the links of rows to the timeline, over columns in the page: the event found has that begin and name.

import assert from "node:assert/strict";
import { test } from "node:test";

import { eventOf, readPlace, stretchOf } from "../../web/place.js";
import { makeEmbedded } from "../../web/source_embedded.js";
import { randomTimeline } from "./random.js";

const { timeline, columns, events } = randomTimeline(5, [300, 40, 0, 900]);
const source = makeEmbedded(timeline, columns, async () => "");
const nameOf = (event) => timeline.names.text[event.name];
const groupOf = (event) => source.row_group[event.row];

test("a place that the timeline does not have is none", () => {
    assert.equal(readPlace(null, timeline), null);
    assert.equal(readPlace(undefined, timeline), null);
    assert.equal(readPlace([0, 1, 2, null], null), null);
    assert.equal(readPlace([2, 1, 2, null], timeline), null);
    assert.equal(readPlace([-1, 1, 2, null], timeline), null);
    assert.deepEqual(readPlace([1, null, 2, "a"], timeline), { group: 1, begin: null, end: null, name: "a" });
    assert.deepEqual(readPlace([1, 9, 2, "a"], timeline), { group: 1, begin: 9, end: 9, name: "a" });
});

test("every event that lasts is found by its group, begin and name", async () => {
    for (const event of events.filter((one) => one.end > one.begin)) {
        const place = { group: groupOf(event), begin: event.begin, end: event.end, name: nameOf(event) };
        const found = await eventOf(source, place);
        const same = events.find((one) => one.row === found.row && one.index === found.index);
        assert.equal(groupOf(same), place.group);
        assert.equal(nameOf(same), place.name);
        assert.ok(Math.abs(same.begin - place.begin) <= 1);
    }
});

test("a time without a name, and one whose name nothing has, lead to what runs then", async () => {
    const event = events.find((one) => one.row === 0 && one.end - one.begin > 20);
    for (const name of [null, "no such name", ""]) {
        const found = await eventOf(source, { group: 0, begin: event.begin + 5, end: event.begin + 6, name });
        assert.deepEqual(found, { row: 0, index: event.index });
    }
    assert.equal(await eventOf(source, { group: 0, begin: timeline.end + 1e6, end: timeline.end + 1e6, name: null }), null);
});

test("a name alone leads to the first event that is called so, before those whose names only contain it", async () => {
    const found = await eventOf(source, { group: 1, begin: null, end: null, name: "Add2" });
    const named = events.filter((event) => groupOf(event) === 1 && nameOf(event) === "Add2");
    const first = named.reduce((least, event) => (event.begin < least.begin ? event : least));
    assert.deepEqual(found, { row: first.row, index: first.index });
    assert.equal(await eventOf(source, { group: 1, begin: null, end: null, name: null }), null);
});

test("the stretch around a place holds it, lies in the timeline and leaves room", () => {
    const all = { begin: 0, end: 1e9, unit: "ns" };
    assert.deepEqual(stretchOf({ group: 0, begin: null, end: null, name: null }, all), { begin: 0, end: 1e9 });
    for (const [begin, end, name] of [[0, 10, "a"], [5e8, 5e8, null], [9e8, 1e9, null], [1e9 - 3, 1e9, "b"], [100, 8e8, "c"], [7, 7, "d"]]) {
        const shown = stretchOf({ group: 0, begin, end, name }, all);
        assert.ok(shown.begin >= 0 && shown.end <= 1e9 + 1e-6 && shown.end > shown.begin);
        assert.ok(shown.begin <= begin && shown.end >= end);
        assert.ok(end === begin || (end - begin) / (shown.end - shown.begin) <= (name === null ? 0.8 : 0.81));
    }
});
