// Tests zooming and moving of the timeline: fixed positions and clamping.
import { test } from "node:test";
import assert from "node:assert/strict";
import { fractionsOf } from "./random.js";
import {
    askedStretch,
    clampStretch,
    everything,
    fit,
    limitsOf,
    moveBy,
    reveal,
    zoomAt,
} from "../../web/timeline/scale.js";

const HOUR = 3.6e12;
const limits = { begin: 0, end: HOUR, least: 1 };

test("zooming keeps the time under the pointer where it is", () => {
    const next = fractionsOf(1);
    for (let n = 0; n < 2000; n++) {
        const span = 10 ** (1 + next() * 11.5);
        const stretch = clampStretch(HOUR * (0.1 + 0.8 * next()), span, limits);
        const share = next();
        const time = stretch[0] + share * (stretch[1] - stretch[0]);
        const zoomed = zoomAt(stretch, time, 0.5 + 0.5 * next(), limits);
        if (time < HOUR * 0.02 || time > HOUR * 0.98) {
            continue; // clamped at the ends
        }
        const after = (time - zoomed[0]) / (zoomed[1] - zoomed[0]);
        assert.ok(Math.abs(after - share) < 1e-3 + 0.002 / (zoomed[1] - zoomed[0]), `${share} became ${after}`);
    }
});

test("zooming in and out again a thousand times ends where it began", () => {
    let stretch = [1e12, 1.001e12];
    for (let n = 0; n < 1000; n++) {
        stretch = zoomAt(stretch, 1.0004e12, n % 2 === 0 ? 0.7 : 1 / 0.7, limits);
    }
    assert.ok(Math.abs(stretch[0] - 1e12) < 1 && Math.abs(stretch[1] - 1.001e12) < 1, String(stretch));
});

test("the closest zoom is one nanosecond, the widest everything with its margins", () => {
    let stretch = everything(limits);
    for (let n = 0; n < 200; n++) {
        stretch = zoomAt(stretch, 1.5e12, 0.6, limits);
    }
    assert.ok(Math.abs(stretch[1] - stretch[0] - 1) < 1e-3);
    assert.ok(stretch[0] <= 1.5e12 && stretch[1] >= 1.5e12);
    for (let n = 0; n < 200; n++) {
        stretch = zoomAt(stretch, 1.5e12, 1.7, limits);
    }
    const all = clampStretch(-Infinity, Infinity, limits);
    assert.ok(Math.abs(stretch[0] - all[0]) < 1 && Math.abs(stretch[1] - all[1]) < 1);
    assert.deepEqual(everything(limits), [0, HOUR]);
    assert.ok(all[0] < 0 && all[1] > HOUR && all[1] - all[0] < HOUR * 1.1);
});

test("moving ends at the borders and keeps the zoom", () => {
    for (const by of [-1e15, 1e15]) {
        const moved = moveBy([1e12, 1.1e12], by, limits);
        assert.ok(Math.abs(moved[1] - moved[0] - 1e11) < 1);
        assert.ok(moved[0] >= -1e11 * 0.021 && moved[1] <= HOUR + 1e11 * 0.021);
    }
});

test("fitting shows the whole event, revealing does not move what is in sight", () => {
    const shown = fit(5e11, 6e11, limits);
    assert.ok(shown[0] < 5e11 && shown[1] > 6e11 && shown[1] - shown[0] < 2e11);
    const instant = fit(5e11, 5e11, limits);
    assert.ok(instant[0] < 5e11 && instant[1] > 5e11 && instant[1] - instant[0] <= 10);
    assert.deepEqual(reveal([100, 200], 120, 140, limits), [100, 200]);
    const moved = reveal([100, 200], 400, 410, limits);
    assert.ok(moved[0] < 400 && moved[1] > 410 && Math.abs(moved[1] - moved[0] - 100) < 1e-9);
    const long = reveal([100, 200], 400, 900, limits);
    assert.ok(long[0] < 400 && long[1] > 400);
});

test("a timeline without length can still be shown", () => {
    const empty = limitsOf([{ begin: 5, end: 5, unit: null }]);
    const shown = everything(empty);
    assert.ok(shown[0] <= 5 && shown[1] >= 6 && Number.isFinite(shown[0]));
    const both = limitsOf([
        { begin: 0, end: 10, unit: "ns" },
        { begin: -5, end: 7, unit: "ns" },
    ]);
    assert.deepEqual(both, { begin: -5, end: 10, least: 1 });
});

test("what is asked for holds what is shown, and stays the same while the picture moves a little", () => {
    const next = fractionsOf(3);
    for (let n = 0; n < 500; n++) {
        const span = 10 ** (3 * next() + 1),
            begin = 1e9 * next();
        const asked = new Set();
        for (let pixel = 0; pixel < 60; pixel++) {
            const at = begin + (pixel * span) / 1000;
            const { begin: from, end: to, resolution } = askedStretch(at, at + span, 1000);
            assert.ok(from <= at && to >= at + span * (1 - 1e-9), `${from} ${at} ${at + span} ${to}`);
            assert.ok(to - from <= span * 1.51);
            assert.ok(Math.abs(resolution - span / 1000) <= 1e-5 * resolution);
            asked.add(`${from} ${to} ${resolution}`);
        }
        assert.ok(asked.size <= 3, `${asked.size} different ones`);
    }
});
