// Tests the source over columns against slow answers to the same queries, on random rows of up to some ten thousand
// events.

import assert from "node:assert/strict";
import { test } from "node:test";

import { countMatches, nextMatches } from "../../web/matches.js";
import { makeEmbedded, readDetails } from "../../web/source_embedded.js";
import { randomOf, randomTimeline } from "./random.js";

const { timeline, columns, events } = randomTimeline(42, [20000, 1, 0, 700, 64, 5000]);
const lines = async (number) => (number % 3 === 0 ? JSON.stringify({ number, layer: `layer ${number}` }) : "");
const source = makeEmbedded(timeline, columns, lines);
const rows = timeline.row_events.map((_, row) => row);
const ofRow = rows.map((row) => events.filter((event) => event.row === row));
const type = (event) => timeline.names.type[event.name];

/** Boxes of a row as objects. */
function boxesOf(row, begin, end, resolution) {
    const boxes = source.boxes(row, begin, end, resolution);
    const out = [];
    for (let i = boxes.from; i < boxes.to; i++) {
        out.push({
            begin: boxes.begin[i], end: boxes.end[i], name: boxes.name[i], type: boxes.type[i], count: boxes.count?.[i] ?? 1,
            busy: boxes.busy?.[i] ?? boxes.end[i] - boxes.begin[i], index: boxes.index?.[i] ?? i,
        });
    }
    return out;
}

/** Directly by the rule, event by event: consecutive events of a cell that are shorter than it share a box. */
function slowBoxes(list, resolution) {
    const out = [];
    let cell = null;
    for (const event of list) {
        const length = event.end - event.begin;
        const here = Math.floor(event.begin / resolution);
        const last = out[out.length - 1];
        if (length < resolution && cell === here) {
            last.end = event.end;
            last.count++;
            last.busy += length;
            if (length > last.longest.end - last.longest.begin) last.longest = event;
        } else {
            out.push({ begin: event.begin, end: event.end, count: 1, busy: length, index: event.index, longest: event });
            cell = length < resolution ? here : null;
        }
    }
    return out.map(({ longest, ...box }) => ({ ...box, name: longest.name, type: type(longest) }));
}

test("boxes at any zoom are those of the rule, event by event", () => {
    for (const row of rows) {
        for (const resolution of [0.5, 3, 17, 100, 1000, 4096.5, 30000, 1e6, 1e9]) {
            const boxes = boxesOf(row, -1, timeline.end + 1, resolution);
            if (ofRow[row].length < 64) {
                assert.deepEqual(boxes.map((box) => box.index), ofRow[row].map((event) => event.index));
                continue;
            }
            const slow = slowBoxes(ofRow[row], resolution);
            assert.equal(boxes.length, slow.length);
            boxes.forEach((box, i) => assert.deepEqual({ ...box }, { ...slow[i] }));
        }
    }
});

test("boxes of any stretch cover exactly the events that can be seen", () => {
    const random = randomOf(9);
    for (let i = 0; i < 400; i++) {
        const row = rows[random(rows.length)];
        const span = 10 ** (1 + random(5));
        const begin = random(timeline.end);
        const resolution = span / (10 + random(1000));
        const seen = ofRow[row].filter((event) => event.end > begin && event.begin < begin + span);
        const boxes = boxesOf(row, begin, begin + span, resolution);
        let next = boxes[0]?.index ?? 0;
        for (const box of boxes) {
            assert.equal(box.index, next, "boxes follow each other without a gap");
            next += box.count;
            const part = ofRow[row].slice(box.index, box.index + box.count);
            assert.equal(box.begin, part[0].begin);
            assert.equal(box.end, part[part.length - 1].end);
            assert.equal(box.busy, part.reduce((sum, event) => sum + event.end - event.begin, 0));
            assert.ok(box.count === 1 || box.end - box.begin <= 2 * resolution);
        }
        if (seen.length > 0) {
            assert.ok(boxes[0].index <= seen[0].index && next > seen[seen.length - 1].index, "nothing that is seen is left out");
        }
    }
});

test("boxes do not change while the picture moves", () => {
    const at = (begin) => new Map(boxesOf(0, begin, begin + 400000, 500).map((box) => [box.index, JSON.stringify(box)]));
    const [first, second] = [at(10000), at(10370)];
    const both = [...second.keys()].filter((index) => first.has(index));
    assert.ok(both.length > 100);
    for (const index of both) assert.equal(first.get(index), second.get(index));
    const inner = [...second.keys()].filter((index) => ofRow[0][index].begin > 11500 && ofRow[0][index].begin < 409000);
    for (const index of inner) assert.ok(first.has(index), "no other boxes than before");
});

test("sums are those of all events one by one", async () => {
    const random = randomOf(13);
    for (let i = 0; i < 40; i++) {
        const begin = random(timeline.end);
        const end = begin + 1 + random(i < 20 ? 3000 : timeline.end);
        const wanted = rows.filter(() => random(3) > 0);
        const slow = new Map();
        for (const event of events) {
            const overlaps = event.begin < end && (event.end > begin || event.begin >= begin);
            if (!wanted.includes(event.row) || !overlaps) continue;
            const key = `${timeline.names.text[event.name]} ${type(event)} ${event.row < 3 ? 0 : 1}`;
            const sum = slow.get(key) ?? [0, 0];
            slow.set(key, [sum[0] + 1, sum[1] + Math.min(event.end, end) - Math.max(event.begin, begin)]);
        }
        const totals = await source.sums(wanted, begin, end, () => {}, new AbortController().signal);
        const found = new Map(totals.map((total) => [`${total.name} ${total.type} ${total.track}`, [total.n, total.total]]));
        assert.deepEqual(new Map([...found].sort()), new Map([...slow].sort()));
    }
});

/** Order of a search: begin, row, index. */
const order = (a, b) => a.begin - b.begin || a.row - b.row || a.index - b.index;

test("a search goes through all matches in order, forward and back", async () => {
    for (const [text, wanted] of [["add", rows], ["SOFT", [0, 3]], ["2", [1, 4, 5]]]) {
        const matches = events
            .filter((event) => wanted.includes(event.row) && timeline.names.text[event.name].toLowerCase().includes(text.toLowerCase()))
            .sort(order);
        let from = { time: -Infinity, row: 0, index: 0 };
        for (const match of matches.slice(0, 1500)) {
            const hit = await source.find(text, wanted, true, from);
            assert.deepEqual([hit.row, hit.index], [match.row, match.index]);
            from = { time: hit.begin, row: hit.row, index: hit.index };
        }
        from = { time: Infinity, row: 99, index: 0 };
        for (const match of matches.slice(-1500).reverse()) {
            const hit = await source.find(text, wanted, false, from);
            assert.deepEqual([hit.row, hit.index], [match.row, match.index]);
            from = { time: hit.begin, row: hit.row, index: hit.index };
        }
    }
    assert.equal(await source.find("not there", rows, true, { time: -1, row: 0, index: 0 }), null);
    assert.equal((await source.find("add", rows, true, { time: -1, row: 0, index: 0 })).names, 4);
});

test("the event at a time is the one that is there", async () => {
    const random = randomOf(17);
    for (let i = 0; i < 2000; i++) {
        const row = rows[random(rows.length)];
        const time = random(timeline.end);
        const index = await source.at(row, time);
        const inside = ofRow[row].filter((event) => event.begin <= time && time < event.end);
        const touching = ofRow[row].filter((event) => event.begin <= time && time <= event.end);
        if (inside.length > 0) assert.equal(index, inside[0].index);
        else if (touching.length > 0) assert.ok(touching.some((event) => event.index === index));
        else assert.equal(index, null);
    }
});

test("arrows are all that reach into the stretch and touch the rows, up to the limit", () => {
    const random = randomOf(19);
    const { from_time, to_time, from_row, to_row } = columns.arrows;
    for (let i = 0; i < 200; i++) {
        const begin = random(timeline.end);
        const end = begin + random(20000);
        const wanted = rows.filter(() => random(2) > 0);
        const slow = [...from_time.keys()].filter((at) =>
            Math.min(from_time[at], to_time[at]) <= end && Math.max(from_time[at], to_time[at]) >= begin &&
            (wanted.includes(from_row[at]) || wanted.includes(to_row[at])));
        const found = source.arrows(wanted, begin, end, 1000);
        const text = (list) => list.sort().join();
        assert.ok(found.all);
        assert.equal(text(found.from_time.map((time, at) => `${time}-${found.to_time[at]}`)), text(slow.map((at) => `${from_time[at]}-${to_time[at]}`)));
        const few = source.arrows(wanted, begin, end, 3);
        assert.equal(few.all, slow.length <= 3);
        assert.equal(few.name.length, Math.min(3, slow.length));
    }
});

test("details come with their line, and flows lead to the event at the other end", async () => {
    for (const event of events.slice(0, 300)) {
        const details = await source.details(event);
        assert.equal(details.begin, event.begin);
        assert.equal(details.name, timeline.names.text[event.name]);
        if (event.index % 3 === 0) assert.equal(details.layer, `layer ${event.index}`);
        else assert.equal(details.args, null);
        for (const flow of details.flows.filter((one) => one.row >= 0)) {
            const other = ofRow[flow.row][flow.index];
            assert.deepEqual([flow.begin, flow.end], [other.begin, other.end]);
        }
    }
    const all = await Promise.all(events.map((event) => source.details(event)));
    assert.ok(all.some((details) => details.flows.length > 0));
});

test("an arrow between blocks that follow each other at once leaves at an end and reaches a begin", async () => {
    // Two stages, blocks of 0.1 from 0 on and from 0.1 on: sums of tenths are not exact.
    const n = 50;
    const begin = [...Array(n).keys()].flatMap((i) => [i / 10]).concat([...Array(n).keys()].map((i) => (i + 1) / 10));
    const arrows = {
        from_time: Float64Array.from({ length: n }, (_, i) => (i + 1) / 10), to_time: Float64Array.from({ length: n }, (_, i) => (i + 1) / 10),
        from_row: new Uint32Array(n), to_row: new Uint32Array(n).fill(1), name: new Uint32Array(n),
    };
    const track = { name: "blocks", class: "stage", n_rows: 1, left_out: 0 };
    const groups = [0, 1].map((stage) => ({ name: `stage ${stage}`, rank: -1, stage, tracks: [track] }));
    const blocks = { ...timeline, begin: 0, end: 5.1, groups, row_events: [n, n], n_events: 2 * n, n_arrows: n };
    const duration = Float64Array.from(begin, (time, i) => (i % n) / 10 + (i < n ? 1 : 2) / 10 - time);
    const made = makeEmbedded(blocks, { ...columns, begin: Float64Array.from(begin), duration, name: new Uint32Array(2 * n), arrows }, lines);
    for (let index = 0; index < n; index++) {
        const [from, to] = await Promise.all([made.details({ row: 0, index }), made.details({ row: 1, index })]);
        assert.deepEqual(from.flows.map((flow) => [flow.outgoing, flow.row, flow.index]), [[true, 1, index]]);
        assert.deepEqual(to.flows.map((flow) => [flow.outgoing, flow.row, flow.index]), [[false, 0, index]]);
    }
});

test("a line that is no object of JSON is shown as it stands", () => {
    assert.deepEqual(readDetails("{broken"), { args: null, text: "{broken", layer: "" });
    assert.deepEqual(readDetails("[1]"), { args: null, text: "[1]", layer: "" });
    assert.deepEqual(readDetails(""), { args: null, text: null, layer: "" });
});

test("a curve keeps its least, most and last value per pixel", () => {
    const random = randomOf(23);
    const time = Float64Array.from({ length: 5000 }, (_, i) => 10 * i + random(10));
    const value = Float64Array.from({ length: 5000 }, () => random(1000));
    const one = { name: "memory", group: 0, unit: "MB", limit: null, steps: true, n: 5000 };
    const curved = makeEmbedded({ ...timeline, curves: [one], n_points: 5000 }, { ...columns, points: { time, value } }, lines);
    for (const [begin, end, resolution] of [[0, 50000, 500], [12345, 30000, 77], [100, 110, 1]]) {
        const points = curved.curve(0, begin, end, resolution);
        const inside = [...time.keys()].filter((i) => time[i] > begin && time[i] < end);
        assert.ok(points.n <= (end - begin) / resolution + 4);
        if (inside.length > 2) {
            const least = Math.min(...inside.map((i) => value[i]));
            const most = Math.max(...inside.map((i) => value[i]));
            assert.ok(Math.min(...points.least.slice(0, points.n)) <= least);
            assert.ok(Math.max(...points.most.slice(0, points.n)) >= most);
        }
        // At the beginning of each pixel the value follows from all points before it.
        for (let i = 1; i < points.n; i++) {
            const before = time.findLastIndex((t) => t < points.time[i]);
            assert.equal(points.last[i - 1], value[before]);
        }
    }
    assert.equal(curved.curve(1, 0, 10, 1), null);
});

test("the list of a stretch has the longest events that reach into it, longest first", async () => {
    const signal = new AbortController().signal;
    for (const [begin, end, limit] of [[-1, timeline.end + 1, 1e6], [1000, 9000, 50], [500, 500, 10], [4000, 60000, 7]]) {
        const wanted = rows.filter((row) => row !== 1);
        const inside = events.filter((event) => event.row !== 1 && event.begin < end && (event.begin >= begin || event.end > begin));
        const longest = inside.sort((a, b) => b.end - b.begin - (a.end - a.begin) || a.begin - b.begin || a.row - b.row).slice(0, limit);
        const found = await source.events(wanted, begin, end, limit, signal);
        assert.equal(found.all, inside.length <= limit);
        assert.deepEqual(found.events.map(({ begin: from, end: to }) => [from, to]), longest.map((event) => [event.begin, event.end]));
        found.events.forEach(({ row, index, name }) => {
            const event = ofRow[row][index];
            assert.equal(name, timeline.names.text[event.name]);
        });
    }
});

test("matches are counted, and come in order of time without a gap from one page to the next", async () => {
    const signal = new AbortController().signal;
    const wanted = rows.filter((row) => row !== 3);
    const matching = events.filter((event) => event.row !== 3 && timeline.names.text[event.name].toLowerCase().includes("add"));
    assert.deepEqual(await countMatches(source, wanted, "aDD", signal), { n: matching.length, all: true });
    const order = matching.sort((a, b) => a.begin - b.begin || a.row - b.row || a.index - b.index).map(({ row, index }) => [row, index]);
    let found = [];
    for (const most of [1, 7, 100]) found = [...found, ...(await nextMatches(source, wanted, "add", found.at(-1) ?? null, most, signal))];
    assert.deepEqual(found.map(({ row, index }) => [row, index]), order.slice(0, 108));
    assert.deepEqual(await nextMatches(source, wanted, "no such name", null, 5, signal), []);
});
