// Tests ticks of the time axis: their steps, their places, and that neighbours are distinguishable.
import { test } from "node:test";
import assert from "node:assert/strict";
import { absoluteText, niceStep, ticksOf } from "../../web/timeline/axis.js";

test("steps are the least of 1, 2, 5 times a power of ten", () => {
    for (const [least, step] of [
        [1, 1],
        [1.01, 2],
        [2, 2],
        [3, 5],
        [5, 5],
        [5.1, 10],
        [99, 100],
        [0.3, 0.5],
        [7e8, 1e9],
    ]) {
        assert.ok(Math.abs(niceStep(least) - step) < step * 1e-9, `${least}: ${niceStep(least)}`);
    }
});

test("at every zoom, ticks are multiples of the step, apart, in the picture, and all named differently", () => {
    for (let power = 0; power <= 13; power += 0.25) {
        for (const begin of [0, 12_345.5, 98_765_432_109.25, 7.2e12]) {
            const span = 10 ** power;
            const axis = { begin, end: begin + span, width: 1000, apart: 90, unit: "ns", zero: 0, origin: null };
            const { step, ticks, minor, first } = ticksOf(axis);
            assert.ok(ticks.length >= 4 - 1 && ticks.length <= 12, `${span}: ${ticks.length}`);
            assert.ok((step / span) * 1000 >= 90 * (1 - 1e-9));
            for (const tick of ticks) {
                const times = tick.time / step;
                assert.ok(
                    Math.abs(times - Math.round(times)) < 1e-3 + 0.002 / step,
                    `${tick.time} is no multiple of ${step}`,
                );
                assert.ok(tick.time >= begin - step * 1e-6 && tick.time <= begin + span + step * 1e-6);
                assert.ok(tick.label.length <= 12, tick.label);
            }
            assert.equal(new Set(ticks.map((tick) => tick.label)).size, ticks.length);
            assert.ok(Math.abs(step / minor - Math.round(step / minor)) < 1e-9 && first >= begin - minor * 1e-3);
        }
    }
});

test("labels say what they are", () => {
    const of = (begin, end, unit = "ns", origin = null) =>
        ticksOf({ begin, end, width: 500, apart: 90, unit, zero: 0, origin });
    assert.deepEqual(
        of(0, 5e6).ticks.map((tick) => tick.label),
        ["0 ms", "1 ms", "2 ms", "3 ms", "4 ms", "5 ms"],
    );
    assert.deepEqual(
        of(0, 4).ticks.map((tick) => tick.label),
        ["0 ns", "1 ns", "2 ns", "3 ns", "4 ns"],
    );
    assert.deepEqual(
        of(0, 2, null).ticks.map((tick) => tick.label),
        ["0.0", "0.5", "1.0", "1.5", "2.0"],
    );
    const deep = of(12_345_678_000, 12_345_678_400);
    assert.match(deep.base, / s$/);
    assert.ok(deep.ticks.every((tick) => tick.label.startsWith("+")));
});

test("absolute times are exact beyond what a double holds", () => {
    const origin = "1767225600123456789"; // 2026-01-01 00:00:00.123 456 789
    assert.equal(absoluteText(BigInt(origin)), "2026-01-01 00:00:00.123 456 789 UTC");
    assert.equal(absoluteText(1_500_000_000n), "1.500 000 000 s");
    const axis = ticksOf({ begin: 211, end: 311, width: 1000, apart: 90, unit: "ns", zero: 0, origin });
    assert.equal(axis.base, "2026-01-01 00:00:00.123 457 000 UTC");
    assert.equal(axis.ticks[0].time, 211);
    assert.equal(axis.ticks[0].label, "+0 ns");
});
