// The source over a server, with a server made here that cuts and writes its answers by docs/view-json.md from plain
// lists of events.

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";

import { Gone, makeClient, makeServed } from "../../web/source_served.js";
import { inList } from "../../web/rows.js";
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

const settle = () => new Promise((resolve) => setTimeout(resolve, 60));
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

test("one request brings all rows of a frame, and boxes cover what can be seen", async () => {
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
        await settle();
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

test("what was shown comes again without a request, and so does a screen on each side", async () => {
    const { asked, get } = server();
    const source = makeServed(timeline, get, failed);
    source.frame(rows, 20000, 30000, 10);
    await settle();
    asked.length = 0;
    for (const begin of [20000, 12000, 28000]) {
        source.frame(rows, begin, begin + 10000, 10);
        for (const row of [0, 2, 3]) assert.ok(source.boxes(row, begin, begin + 10000, 10) !== null);
    }
    assert.ok(asked.every((one) => Number(one.end) <= 20000 || Number(one.begin) >= 30000), "only what lies beyond is asked for");
});

test("coarser boxes stand in for finer ones until these have come", async () => {
    const { get, wait, go } = server();
    const source = makeServed(timeline, get, failed);
    source.frame(rows, 0, 64000, 64);
    assert.equal(source.boxes(0, 0, 64000, 64), null);
    await settle();
    const coarse = source.boxes(0, 10000, 14000, 64);
    assert.ok(coarse.to > coarse.from);
    wait();
    source.frame(rows, 10000, 14000, 4);
    const meanwhile = source.boxes(0, 10000, 14000, 4);
    assert.equal(meanwhile.to - meanwhile.from, coarse.to - coarse.from);
    go();
    await settle();
    const fine = source.boxes(0, 10000, 14000, 4);
    assert.ok(fine.to - fine.from > coarse.to - coarse.from);
});

test("a request that nobody waits for any more is ended", async () => {
    const { asked, get, wait, go } = server();
    const source = makeServed(timeline, get, failed);
    wait();
    source.frame(rows, 0, 64000, 64);
    source.frame(rows, 1000, 1400, 0.4);
    assert.equal(asked.length, 2);
    assert.ok(asked[0].signal.aborted && !asked[1].signal.aborted);
    go();
    await settle();
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

test("names are asked for together, once", async () => {
    const { asked, get } = server();
    const source = makeServed(timeline, get, failed);
    let changed = 0;
    source.changed = () => changed++;
    for (const name of [3, 1, 2, 7, 3]) assert.equal(source.name(name), "");
    await settle();
    assert.deepEqual(asked.map((one) => one.names), ["1-3,7"]);
    for (const name of [1, 2, 3, 7]) assert.equal(source.name(name), timeline.names.text[name]);
    assert.equal(changed, 1);
});

test("an answer that is damaged is told, and asked for no more at once", async () => {
    const told = [];
    let n = 0;
    const { get: good } = server();
    const get = async (...request) => (n++ === 0 ? new Response("not what was asked for") : good(...request));
    const source = makeServed(timeline, get, (error) => told.push(error.message));
    for (let i = 0; i < 20; i++) {
        source.frame(rows, 0, 1000, 1);
        await new Promise((resolve) => setTimeout(resolve, 1));
    }
    assert.deepEqual(told, ["The server's answer is damaged."]);
    assert.equal(n, 1);
    await new Promise((resolve) => setTimeout(resolve, 2300));
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

test("curves and what is held come from the document, also when it follows later, and counters from the server", async () => {
    const early = { ...timeline, names: null, n_arrows: 0, curves: [], counters: [{ name: "c", group: 0, unit: "", least: 0, most: 1, n: 1 }] };
    const { get } = server();
    const asked = [];
    const source = makeServed(early, async (path, query, signal) => {
        asked.push(path);
        if (path !== "curve") return get(path, query, signal);
        assert.equal(query.counter, 0);
        return new Response(JSON.stringify({ points: [[1, 2, 3, 4]] }));
    }, failed);
    assert.deepEqual(source.held(0, 15), []);

    // Of two curves: 3 points and 1; of 2 pieces that are held, one until 20.
    const reals = [10, 12, 20, 30, 5, 7, 0, 10, 20, 4, 1, 2, 3, 9];
    const transposed = (values) => {
        const bytes = new Uint8Array(Float64Array.from(values).buffer);
        return Uint8Array.from(bytes, (_, i) => bytes[(i % values.length) * 8 + Math.floor(i / values.length)]);
    };
    const columns = [reals.slice(0, 2), reals.slice(2, 4), reals.slice(4, 6), reals.slice(6, 10), reals.slice(10)].map(transposed);
    const data = deflateSync(Buffer.concat([...columns, Buffer.from(Uint32Array.from([0, 0, 0, 1]).buffer)])).toString("base64");
    const curve = (name, n) => ({ name, group: 0, unit: "MB", limit: null, steps: true, n });
    Object.assign(early, { curves: [curve("a", 3), curve("b", 1)], n_held: 2, n_points: 4, data, held_names: { text: ["x", "y"], type: [0, 0] } });
    let came = 0;
    source.changed = () => came++;
    assert.equal(source.curve(0, 0, 100, 1), null);
    await source.ready();
    assert.ok(came > 0, "the picture is told");
    const points = source.curve(0, 0, 100, 1);
    assert.deepEqual([[...points.time.slice(0, points.n)], [...points.last.slice(0, points.n)]], [[0, 10, 20], [1, 2, 3]]);
    assert.deepEqual(source.held(0, 15).map(({ name, mb }) => [name, mb]), [["y", 7], ["x", 5]]);
    assert.deepEqual(source.held(0, 25).map(({ name }) => name), ["y"]);
    assert.equal(source.curve(2, 0, 100, 1), null);
    await settle();
    assert.equal(source.curve(2, 0, 100, 1).last[0], 4);
    assert.deepEqual(asked, ["curve"]);
});
