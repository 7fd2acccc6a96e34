// Tests curves: values at a time and per pixel against a walk over all points, and the part painted above the limit.
import { test } from "node:test";
import assert from "node:assert/strict";
import { fractionsOf } from "./random.js";
import { columnsOf, extremes, lanesOf, paintCurve, rangeOf, scaleOfLane, valueAt } from "../../web/timeline/curves.js";

function pointsOf(list) {
    const column = (at) => Float64Array.from(list, (point) => point[at]);
    return { time: column(0), least: column(1), most: column(2), last: column(3), n: list.length };
}

function somePoints(seed, n) {
    const next = fractionsOf(seed);
    let time = 100 * next();
    return pointsOf(
        Array.from({ length: n }, () => {
            time += next() < 0.3 ? 20 * next() : next();
            const last = 100 * next();
            return [time, last - 10 * next(), last + 10 * next(), last];
        }),
    );
}

test("the value at a time is that of the point before, or on the line between two", () => {
    const points = pointsOf([
        [10, 1, 1, 1],
        [20, 5, 5, 5],
    ]);
    assert.deepEqual(
        [5, 10, 15, 20, 99].map((time) => valueAt(points, true, time)),
        [null, 1, 1, 5, 5],
    );
    assert.deepEqual(
        [5, 10, 15, 20, 99].map((time) => valueAt(points, false, time)),
        [null, 1, 3, 5, null],
    );
});

test("least and most per pixel are those of everything a step curve is in it", () => {
    for (let seed = 1; seed <= 30; seed++) {
        const points = somePoints(seed, 80),
            width = 60;
        const time = { begin: 60, scale: 0.3, end: 240 };
        const least = new Float64Array(width),
            most = new Float64Array(width);
        columnsOf(points, true, time, least, most);
        for (let x = 0; x < width; x++) {
            const from = time.begin + x / time.scale,
                until = time.begin + (x + 1) / time.scale;
            let low = Infinity,
                high = -Infinity;
            for (let i = 0; i < points.n; i++) {
                const inside = points.time[i] < until && points.time[i] > from - 1e-9;
                const before = points.time[i] <= from && (i + 1 === points.n || points.time[i + 1] > from);
                if (inside) {
                    [low, high] = [Math.min(low, points.least[i]), Math.max(high, points.most[i])];
                }
                if (before) {
                    [low, high] = [Math.min(low, points.last[i]), Math.max(high, points.last[i])];
                }
            }
            const none = low === Infinity || from > time.end;
            assert.equal(Number.isNaN(least[x]), none, `seed ${seed}, pixel ${x}`);
            assert.ok(
                none || (Math.abs(least[x] - low) < 1e-9 && Math.abs(most[x] - high) < 1e-9),
                `seed ${seed}, pixel ${x}`,
            );
        }
    }
});

test("a line between two far points goes straight through the picture", () => {
    const points = pointsOf([
            [0, 0, 0, 0],
            [100, 50, 50, 50],
        ]),
        least = new Float64Array(100),
        most = new Float64Array(100);
    columnsOf(points, false, { begin: 0, scale: 1, end: 100 }, least, most);
    for (let x = 0; x < 99; x++) {
        assert.ok(Math.abs(least[x] - x / 2) < 1e-9 && Math.abs(most[x] - (x + 1) / 2) < 1e-9, `pixel ${x}`);
    }
});

test("what is above the limit has the colour of alarm, what is below has not, and the limit is dashed", () => {
    const lane = { curve: 0, name: "", group: 0, unit: "MB", limit: 50, steps: true, least: 0, most: 80 };
    const points = pointsOf([
            [0, 80, 80, 80],
            [10, 20, 20, 20],
        ]),
        width = 20,
        height = 60;
    const pixels = new Uint32Array(width * height),
        look = { line: 1, fill: 2, alarm: 3, limit: 4 };
    paintCurve(pixels, width, 0, height, lane, points, { begin: 0, scale: 1, end: 15 }, look, 1);
    const at = (x, value) => pixels[Math.round(scaleOfLane(lane, height, 1)(value)) * width + x];
    assert.equal(at(5, 65), 3);
    assert.equal(at(5, 30), 2);
    assert.equal(at(12, 20), 1);
    assert.equal(at(12, 65), 0);
    assert.equal(at(12, 10), 2);
    assert.equal(at(18, 10), 0, "it ends where the timeline does");
    const limits = Array.from({ length: width }, (_, x) => at(x, 50));
    assert.ok(limits.includes(4) && limits.some((pixel) => pixel !== 4));
    paintCurve(pixels, width, -40, height, lane, points, { begin: 0, scale: 1, end: 15 }, look, 1);
    paintCurve(pixels, width, 40, height, lane, points, { begin: 0, scale: 1, end: 15 }, look, 1);
});

test("lanes are the curves and then the counters; their range holds the limit", () => {
    const lanes = lanesOf({
        curves: [{ name: "a", group: 0, unit: "MB", limit: 90, steps: true, n: 2 }],
        counters: [{ name: "b", group: 1, unit: "", least: -4, most: 7, n: 3 }],
    });
    assert.deepEqual(
        lanes.map((lane) => lane.curve),
        [0, 1],
    );
    assert.ok(rangeOf(lanes[0])[1] > 90 && rangeOf(lanes[0])[0] === 0);
    assert.ok(rangeOf(lanes[1])[0] === -4 && rangeOf(lanes[1])[1] > 7);
    assert.deepEqual(
        extremes(
            pointsOf([
                [0, 1, 5, 2],
                [1, -3, 2, 0],
            ]),
        ),
        [-3, 5],
    );
});
