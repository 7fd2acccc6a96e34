// Tests maps of allocations without their pictures: columns read back, totals and rasters against looking at every
// pixel and every block, colours of edges.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeMap, framesOf, liveAt, sumsByType, totalsOf } from "../../web/memory/block_map.js";
import { NOTHING, RESERVED, columnTimes, paint, rasterPlaced, rasterStacked } from "../../web/memory/raster.js";
import { fractionsOf } from "./random.js";

/** Columns as the document has them. */
function packed(reals, numbers) {
    const parts = reals.map((column) => {
        const plain = new Uint8Array(Float64Array.from(column).buffer);
        const out = new Uint8Array(plain.length);
        for (let i = 0; i < column.length; i++) for (let b = 0; b < 8; b++) out[b * column.length + i] = plain[8 * i + b];
        return out;
    });
    return new Uint8Array(Buffer.concat([...parts, ...numbers.map((column) => new Uint8Array(Uint32Array.from(column).buffer))]));
}

/** A random map: with addresses, slots of 8 bytes with consecutive blocks. */
function random(seed, addresses) {
    const next = fractionsOf(seed);
    const whole = (most) => Math.floor(next() * most);
    const blocks = [];
    for (let slot = 0; slot < 6; slot++) {
        for (let at = whole(20); at < 95; ) {
            const length = 1 + whole(30);
            blocks.push({
                begin: blocks.length % 7 === 3 && at < 10 ? NaN : at, end: at + length > 90 ? NaN : at + length,
                bytes: 1 + whole(8), place: 8 * slot, site: whole(3),
            });
            at += length + whole(10);
        }
    }
    blocks.sort((a, b) => (Number.isNaN(a.begin) ? -1 : a.begin) - (Number.isNaN(b.begin) ? -1 : b.begin));
    const of = (name) => blocks.map((block) => block[name]);
    const segments = [[NaN, 10], [NaN, 60], [24, 24], [0, 24]]; // begins, ends, bytes, places
    const bytes = packed([of("begin"), of("end"), of("bytes"), of("place"), ...segments], [of("site"), of("site")]);
    const raw = {
        id: "map-0", title: "made", addresses, ticked: false, length: 100, height: 48, peak_at: 0, peak: 48, n_all: blocks.length,
        n: blocks.length, n_segments: 2, sites: [["a", 18], ["b", 19], ["c", 18]], stacks: [[0, 1], [1]], frames: ["f", "g"], data: "",
    };
    return decodeMap(raw, bytes);
}

test("a map is read back, and one of another length is refused", () => {
    const map = random(1, true);
    assert.equal(map.begin.length, map.n);
    assert.ok(map.begin.every((value) => value === -Infinity || value >= 0));
    assert.deepEqual([...map.segments.begin], [-Infinity, 10]);
    assert.deepEqual([...map.segments.end], [Infinity, 60]);
    const with_stack = map.stack.findIndex((stack) => stack === 1);
    assert.deepEqual(framesOf(map, with_stack), ["f", "g"]);
    assert.deepEqual(framesOf(map, map.stack.findIndex((stack) => stack === 0)), []);
    assert.throws(() => decodeMap({ ...map, n: 1, n_segments: 0, id: "", data: "" }, new Uint8Array(41)), /41 bytes, 40 were expected/);
});

test("totals are what counting at every time says", () => {
    for (let seed = 1; seed <= 40; seed++) {
        const map = random(seed, false);
        const { time, bytes } = totalsOf(map);
        for (let at = 0; at <= 120; at += 0.5) {
            const want = liveAt(map, at).reduce((sum, i) => sum + map.bytes[i], 0);
            let k = -1;
            while (k + 1 < time.length && time[k + 1] <= at) k++;
            assert.equal(bytes[k], want, `seed ${seed} at ${at}`);
        }
        const sums = sumsByType(map, liveAt(map, 50));
        assert.equal(sums.reduce((sum, { bytes: of }) => sum + of, 0), liveAt(map, 50).reduce((sum, i) => sum + map.bytes[i], 0));
    }
});

test("with addresses a pixel shows what is at its middle, and no block vanishes for being small", () => {
    for (let seed = 1; seed <= 40; seed++) {
        const map = random(seed, true);
        // Two pixels for each unit of time and of memory: every block is at least two wide and high.
        const seen = { begin: 5, end: 85, low: 4, high: 44 };
        const [width, height] = [160, 80];
        const pick = rasterPlaced(map, seen, width, height);
        for (let y = 0; y < height; y++)
            for (let x = 0; x < width; x++) {
                const [time, place] = [5 + (x + 0.5) / 2, 44 - (y + 0.5) / 2];
                const there = (of, i) => of.begin[i] <= time && time < of.end[i] && of.place[i] <= place && place < of.place[i] + of.bytes[i];
                let want = map.begin.findIndex((_, i) => there(map, i));
                if (want < 0) want = [0, 1].some((i) => there(map.segments, i)) ? RESERVED : NOTHING;
                assert.equal(pick[y * width + x], want, `seed ${seed} at ${x}, ${y}`);
            }
    }
    const tiny = random(7, true);
    const pick = rasterPlaced(tiny, { begin: 0, end: 1e6, low: 0, high: 1e6 }, 10, 10);
    assert.ok(pick[90] >= 0, "all of them are in the lowest pixel on the left");
});

test("without addresses a column shows the time at which most is there", () => {
    for (let seed = 1; seed <= 40; seed++) {
        const map = random(seed, false);
        const totals = totalsOf(map);
        const seen = { begin: 0, end: 100, low: 0, high: 60 };
        const [width, height] = [25, 60];
        const times = columnTimes(totals, seen, width);
        const pick = rasterStacked(map, totals, seen, width, height);
        const totalAt = (time) => liveAt(map, time).reduce((sum, i) => sum + map.bytes[i], 0);
        for (let x = 0; x < width; x++) {
            const most = Math.max(...Array.from({ length: 40 }, (_, k) => totalAt(4 * x + k / 10)));
            assert.equal(totalAt(times[x]), most, `seed ${seed}, column ${x}`);
            const stack = liveAt(map, times[x]).flatMap((i) => Array(map.bytes[i]).fill(i));
            for (let y = 0; y < height; y++) assert.equal(pick[(height - 1 - y) * width + x], stack[y] ?? NOTHING);
        }
    }
});

test("blocks have an edge where there is room for it", () => {
    const pick = Int32Array.from([0, 0, 0, 1, 1, 1, 2, NOTHING, RESERVED, 3, 3, 3]);
    const pixels = new Uint32Array(12);
    paint(pick, 12, pixels, { of: (i) => 10 + i, edge: (color) => 100 + color, nothing: 1, reserved: 2, selected: 7 }, 3);
    assert.deepEqual([...pixels], [10, 10, 10, 111, 11, 11, 12, 1, 2, 7, 7, 7]);
});
