// Tests the source over a server, with a server made here that cuts and writes its answers by docs/view-json.md from
// plain lists of events.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

import { Gone, makeClient, makeServed } from "../../web/source_served.js";
import { inList } from "../../web/rows.js";
import { makeClock } from "./clock.js";
import { randomOf, randomTimeline } from "./random.js";

const { timeline, events } = randomTimeline(4, [6000, 0, 900, 50]);
const rows = timeline.row_events.map((_, row) => row);
const ofRow = rows.map((row) => events.filter((event) => event.row === row));

/** Events of a row between two times, those shorter than the resolution joined as long as boxes stay short. */
function boxes(row, begin, end, resolution) {
    const out = [];
    for (const event of ofRow[row]) {
        if (event.end < begin || event.begin > end) continue;
        const last = out[out.length - 1];
        const short = event.end - event.begin < resolution;
        if (short && last?.short && event.end - last.begin <= resolution) {
            last.end = event.end;
            last.busy += event.end - event.begin;
            last.count++;
        } else {
            out.push({ ...event, busy: event.end - event.begin, count: 1, short });
        }
    }
    return out;
}

/** @param {any[][]} lists @param {number[]} numbers */
function bytes(lists, numbers) {
    const all = lists.flat();
    const out = Buffer.alloc(8 + 8 * lists.length + 37 * all.length);
    let at = out.writeUInt32LE(0x45564b31, 0);
    at = out.writeUInt32LE(lists.length, at);
    lists.forEach((list, i) => (at = out.writeUInt32LE(list.length, out.writeUInt32LE(numbers[i], at))));
    for (const member of ["begin", "end", "busy"]) for (const box of all) at = out.writeDoubleLE(box[member], at);
    for (const member of ["name", "count", "index"]) for (const box of all) at = out.writeUInt32LE(box[member], at);
    for (const box of all) at = out.writeUInt8(timeline.names.type[box.name], at);
    return out;
}

function server() {
    const asked = [];
    const held_back = [];
    const answer = {
        rows: (query) => {
            const wanted = rows.filter((row) => inList(query.rows, row));
            return bytes(wanted.map((row) => boxes(row, Number(query.begin), Number(query.end), Number(query.resolution))), wanted);
        },
        names: (query) => JSON.stringify({ texts: timeline.names.text.filter((_, name) => inList(query.names, name)) }),
    };
    const get = async (path, query, signal) => {
        asked.push({ path, ...query, signal });
        await new Promise((resolve) => (server_waits ? held_back.push(resolve) : setTimeout(resolve, 1)));
        if (signal?.aborted) throw new DOMException("ended", "AbortError");
        return new Response(answer[path](query));
    };
    let server_waits = false;
    return {
        asked, get,
        wait: () => (server_waits = true),
        go() {
            server_waits = false;
            for (const resolve of held_back.splice(0)) resolve();
        },
    };
}

const failed = (error) => assert.fail(error.message);

/** Indices of all events in the boxes of a row that can be seen. */
function covered(source, row, begin, end, resolution) {
    const found = source.boxes(row, begin, end, resolution);
    const out = new Set();
    for (let i = found.from; i < found.to; i++) {
        for (let k = 0; k < found.count[i]; k++) {
            const index = found.index[i] + k;
            assert.ok(!out.has(index), "no event is in two boxes");
            out.add(index);
        }
    }
    return out;
}

test("one request brings all rows of a frame, and boxes cover what can be seen", async (t) => {
    const clock = makeClock(t);
    const { asked, get } = server();
    const source = makeServed(timeline, get, failed);
    const random = randomOf(8);
    for (let i = 0; i < 60; i++) {
        const span = 10 ** (2 + random(4));
        const begin = random(timeline.end);
        const resolution = span / 1000;
        asked.length = 0;
        source.frame(rows, begin, begin + span, resolution);
        assert.ok(asked.length <= 1);
        await clock.pass(60);
        for (const row of rows) {
            const seen = ofRow[row].filter((event) => event.end > begin && event.begin < begin + span);
            if (ofRow[row].length === 0) {
                assert.equal(source.boxes(row, begin, begin + span, resolution), null);
                continue;
            }
            const found = covered(source, row, begin, begin + span, resolution);
            for (const event of seen) assert.ok(found.has(event.index), `event ${event.index} of row ${row}`);
        }
    }
});

test("what was shown comes again without a request, and so does a screen on each side", async (t) => {
    const clock = makeClock(t);
    const { asked, get } = server();
    const source = makeServed(timeline, get, failed);
    source.frame(rows, 20000, 30000, 10);
    await clock.pass(60);
    asked.length = 0;
    for (const begin of [20000, 12000, 28000]) {
        source.frame(rows, begin, begin + 10000, 10);
        for (const row of [0, 2, 3]) assert.ok(source.boxes(row, begin, begin + 10000, 10) !== null);
    }
    assert.ok(asked.every((one) => Number(one.end) <= 20000 || Number(one.begin) >= 30000), "only what lies beyond is asked for");
});

test("coarser boxes stand in for finer ones until these have come", async (t) => {
    const clock = makeClock(t);
    const { get, wait, go } = server();
    const source = makeServed(timeline, get, failed);
    source.frame(rows, 0, 64000, 64);
    assert.equal(source.boxes(0, 0, 64000, 64), null);
    await clock.pass(60);
    const coarse = source.boxes(0, 10000, 14000, 64);
    assert.ok(coarse.to > coarse.from);
    wait();
    source.frame(rows, 10000, 14000, 4);
    const meanwhile = source.boxes(0, 10000, 14000, 4);
    assert.equal(meanwhile.to - meanwhile.from, coarse.to - coarse.from);
    go();
    await clock.pass(60);
    const fine = source.boxes(0, 10000, 14000, 4);
    assert.ok(fine.to - fine.from > coarse.to - coarse.from);
});

test("a request that nobody waits for any more is ended", async (t) => {
    const clock = makeClock(t);
    const { asked, get, wait, go } = server();
    const source = makeServed(timeline, get, failed);
    wait();
    source.frame(rows, 0, 64000, 64);
    source.frame(rows, 1000, 1400, 0.4);
    assert.equal(asked.length, 2);
    assert.ok(asked[0].signal.aborted && !asked[1].signal.aborted);
    go();
    await clock.pass(60);
    assert.ok(source.boxes(0, 1000, 1400, 0.4) !== null);
});

test("for no rows nothing is asked", async () => {
    const { asked, get } = server();
    const source = makeServed(timeline, get, failed);
    source.frame([], 0, 1000, 1);
    assert.equal(source.arrows([], 0, 1000, 100).name.length, 0);
    assert.deepEqual(await source.sums([], 0, 1000, () => {}, new AbortController().signal), []);
    assert.equal(await source.find("a", [], true, { time: 0, row: 0, index: 0 }), null);
    assert.equal(asked.length, 0);
});

test("names are asked for together, once", async (t) => {
    const clock = makeClock(t);
    const { asked, get } = server();
    const source = makeServed(timeline, get, failed);
    let changed = 0;
    source.changed = () => changed++;
    for (const name of [3, 1, 2, 7, 3]) assert.equal(source.name(name), "");
    await clock.pass(60);
    assert.deepEqual(asked.map((one) => one.names), ["1-3,7"]);
    for (const name of [1, 2, 3, 7]) assert.equal(source.name(name), timeline.names.text[name]);
    assert.equal(changed, 1);
});

test("an answer that is damaged is told, and asked for no more at once", async (t) => {
    const clock = makeClock(t);
    const told = [];
    let n = 0;
    const { get: good } = server();
    const get = async (...request) => (n++ === 0 ? new Response("not what was asked for") : good(...request));
    const source = makeServed(timeline, get, (error) => told.push(error.message));
    for (let i = 0; i < 20; i++) {
        source.frame(rows, 0, 1000, 1);
        await clock.pass(1);
    }
    assert.deepEqual(told, ["The server's answer is damaged."]);
    assert.equal(n, 1);
    await clock.pass(2300);
    assert.ok(n > 1 && source.boxes(0, 0, 1000, 1) !== null, "later it is asked for again");
});

test("the client says once that the server is gone, and passes on what it refuses", async () => {
    const told = [];
    const client = makeClient("http://127.0.0.1:1/", (message) => told.push(message));
    const real = globalThis.fetch;
    try {
        globalThis.fetch = async () => { throw new TypeError("refused"); };
        await assert.rejects(client("rows", { rows: "0" }), Gone);
        await assert.rejects(client("rows", { rows: "0" }), /does not answer/);
        assert.equal(told.length, 1);
        globalThis.fetch = async (address) => new Response(`no ${address}`, { status: 400 });
        await assert.rejects(client("find", { text: "a&b" }), /no http:\/\/127\.0\.0\.1:1\/find\?text=a%26b/);
    } finally {
        globalThis.fetch = real;
    }
});

/** 64 ranks of 100 rows, with an event or two a row; tracks of 7 rows, so that one lies across the 4096th row. */
function manyRows() {
    const random = randomOf(11);
    const n_rows = 6400;
    const tracks = Array.from({ length: Math.ceil(n_rows / 7) }, (_, i) => ({ name: `t${i}`, class: "host", n_rows: Math.min(7, n_rows - 7 * i), left_out: 0 }));
    const list = Array.from({ length: n_rows }, (_, row) =>
        Array.from({ length: 1 + random(2) }, (_, index) => ({ row, index, begin: 1000 * index + random(400), name: `n${random(3)}` })));
    for (const row of list) for (const event of row) event.end = event.begin + 1 + random(300);
    const groups = [{ name: "all", rank: 0, stage: 0, tracks }];
    const row_events = list.map((row) => row.length);
    return { timeline: { ...timeline, groups, row_events, names: null, data: null, curves: [], counters: [] }, list };
}

const inOrder = (a, b) => a.begin - b.begin || a.row - b.row || a.index - b.index;

test("searches and sums of more rows than a request may have are those of all rows", async () => {
    const many = manyRows();
    const all = many.timeline.row_events.map((_, row) => row);
    let most = 0;
    const rowsOf = (text) => {
        const wanted = text.split(",").flatMap((part) => {
            const [first, last] = part.split("-").map(Number);
            return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
        });
        most = Math.max(most, wanted.length);
        return wanted;
    };
    const totalsOf = (wanted, begin, end) => {
        const by = new Map();
        for (const event of wanted.flatMap((row) => many.list[row])) {
            if (event.end <= begin || event.begin >= end) continue;
            const track = Math.floor(event.row / 7);
            const known = by.get(`${track} ${event.name}`) ?? { name: event.name, type: 0, track, n: 0, total: 0 };
            known.n++;
            known.total += Math.min(event.end, end) - Math.max(event.begin, begin);
            by.set(`${track} ${event.name}`, known);
        }
        return [...by.values()];
    };
    const nextOf = (wanted, forward, from) => {
        const found = wanted.flatMap((row) => many.list[row]).filter((event) => event.name === "n1").sort(inOrder);
        const hit = forward ? found.find((event) => inOrder(event, from) > 0) : found.findLast((event) => inOrder(event, from) < 0);
        return hit === undefined ? null : { ...hit, names: 1 };
    };
    const get = async (path, query) => {
        const wanted = rowsOf(query.rows);
        const from = { begin: Number(query.time), row: Number(query.row), index: Number(query.index) };
        // Sums take two requests a part, as from a server that gives way.
        const half = path === "sums" && query.state === "";
        const answer = path === "find" ? nextOf(wanted, query.forward === 1, from)
            : half ? { done: false, state: "0123456789abcdef", covered: 0.5, totals: [] }
                : { done: true, state: null, covered: 1, totals: totalsOf(wanted, Number(query.begin), Number(query.end)) };
        return new Response(JSON.stringify(answer));
    };
    const source = makeServed(many.timeline, get, failed);
    const random = randomOf(12);
    for (let i = 0; i < 12; i++) {
        const forward = i % 2 === 0;
        const from = { time: random(1400), row: random(6400), index: 0 };
        assert.deepEqual(await source.find("n1", all, forward, from), nextOf(all, forward, { begin: from.time, row: from.row, index: 0 }));
    }
    assert.equal((await source.find("n1", all, true, { time: -Infinity, row: 0, index: 0 })).begin,
        Math.min(...many.list.flat().filter(({ name }) => name === "n1").map(({ begin }) => begin)));
    const order = (a, b) => a.track - b.track || (a.name < b.name ? -1 : 1);
    const told = [];
    const totals = await source.sums(all, 100, 1200, (share) => told.push(share), new AbortController().signal);
    assert.deepEqual(totals.sort(order), totalsOf(all, 100, 1200).sort(order));
    assert.deepEqual(told, [0.25, 0.75]);
    assert.equal(most, 4096);
});

test("what the document has comes into the timeline that is shown, and counters keep their curves", async (t) => {
    const clock = makeClock(t);
    const plain = (values) => Buffer.from(Float64Array.from(values).buffer);
    const transposed = (values) => {
        const bytes_ = plain(values);
        return Buffer.from(bytes_.map((_, i) => bytes_[(i % values.length) * 8 + Math.floor(i / values.length)]));
    };
    const numbers = (values) => Buffer.from(Uint32Array.from(values).buffer);
    // An arrow from row 0 to row 2, a block of held memory, a curve of three points.
    const data = deflateSync(Buffer.concat([...[[20], [70], [10], [90], [64]].map(transposed), transposed([0, 50, 80]),
        transposed([1, 7, 3]), ...[[0], [2], [0], [1], [0]].map(numbers)])).toString("base64");
    const early = { ...timeline, names: null, data: null, steps: [], curves: [], n_held: 0, n_points: 0, n_arrows: 0, arrow_names: [],
        counters: [{ name: "c", group: 0, unit: "", least: 5, most: 5, n: 1 }] };
    const asked = [];
    const events_there = [{ name: "send", begin: 15, end: 30 }, null, { name: "receive", begin: 40, end: 71 }];
    const answers = {
        curve: () => ({ points: [[0, 5, 5, 5]] }),
        arrows: () => ({ all: true, arrows: [[3, 1, 3, 2, "launch"]] }),
        event: ({ row }) => ({ ...events_there[row], type: 0, layer: "", args: null, text: null, flows: [] }),
        at: ({ row, time }) => (row === 2 && Number(time) === 70 ? { index: 4 } : row === 0 ? { index: 7 } : null),
    };
    const get = async (path, query) => (asked.push({ path, ...query }), new Response(JSON.stringify(answers[path](query))));
    const source = makeServed(early, get, failed);
    assert.equal(source.curve(0, 0, 100, 1), null);
    await clock.pass(60);
    assert.equal(source.curve(0, 0, 100, 1).most[0], 5, "the counter");
    const all = { ...early, steps: [{ name: "1", group: 0, begin: 0, end: 50 }], n_held: 1, n_points: 3, data,
        curves: [{ name: "memory", group: 1, unit: "MB", limit: 9, steps: true, n: 3 }], held_names: { text: ["block"], type: [2] },
        n_arrows: 1, arrow_names: ["transfer"] };
    await source.complete(all);
    assert.equal(source.timeline, early);
    assert.deepEqual([early.steps.length, early.curves[0].limit], [1, 9]);
    assert.deepEqual([...source.curve(0, 0, 100, 1).last.subarray(0, 3)], [1, 7, 3]);
    assert.equal(source.curve(1, 0, 100, 1).most[0], 5, "the counter is the second curve now, without another request");
    assert.equal(asked.filter(({ path }) => path === "curve").length, 1);
    assert.deepEqual(source.held(1, 40), [{ group: 1, name: "block", type: 2, begin: 10, end: 90, mb: 64 }]);
    assert.deepEqual(source.held(1, 90), []);

    source.arrows([0, 2, 3], 0, 100, 10);
    await clock.pass(60);
    const seen = source.arrows([0, 2, 3], 0, 100, 10);
    assert.deepEqual([seen.all, seen.from_row, seen.to_row, seen.name], [true, [3, 0], [3, 2], ["launch", "transfer"]]);
    assert.deepEqual(source.arrows([0, 2, 3], 0, 100, 10).name.length, 2, "asking again adds nothing");
    assert.deepEqual(source.arrows([0, 2, 3], 0, 100, 1).all, false, "the limit holds for both");
    await clock.pass(60);
    assert.deepEqual((await source.details({ row: 2, index: 4 })).flows,
        [{ outgoing: false, name: "transfer", row: 0, index: 7, begin: 15, end: 30, event: "send" }]);
    assert.deepEqual((await source.details({ row: 0, index: 7 })).flows,
        [{ outgoing: true, name: "transfer", row: 2, index: 4, begin: 40, end: 71, event: "receive" }]);
});
