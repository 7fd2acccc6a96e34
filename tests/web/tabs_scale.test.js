// Tests scales of charts: ticks against the definition of round numbers, places and colours against their formulas.

import assert from "node:assert/strict";
import { test } from "node:test";

import { colorScale, digitsOf, niceTicks, placeOf, tickText } from "../../web/tabs/scale.js";
import { fractionsOf } from "./random.js";

test("ticks are multiples of 1, 2 or 5 times a power of ten and waste less than a step at each end", () => {
    const random = fractionsOf(7);
    for (let i = 0; i < 3000; i++) {
        const size = 10 ** (random() * 24 - 9);
        const low = (random() - 0.5) * size;
        const high = low + random() * size + size * 1e-6;
        const about = 2 + Math.floor(random() * 9);
        const { ticks, step } = niceTicks(low, high, about);
        const text = `${low} to ${high} in ${about}: step ${step}`;
        assert.match(step.toExponential(6), /^[125]\.0+e/, text);
        assert.ok(ticks[0] <= low + step * 1e-6 && ticks[0] > low - step, text);
        assert.ok(ticks.at(-1) >= high - step * 1e-6 && ticks.at(-1) < high + step, text);
        assert.ok(
            step >= ((high - low) / about) * (1 - 1e-9) && step <= ((2.5 * (high - low)) / about) * (1 + 1e-9),
            text,
        );
        ticks.forEach((tick, j) => assert.ok(Math.abs(tick / step - Math.round(ticks[0] / step) - j) < 1e-5, text));
    }
});

test("ticks of a few ranges are those a person would draw", () => {
    assert.deepEqual(niceTicks(0, 1, 5).ticks, [0, 0.2, 0.4, 0.6, 0.8, 1]);
    assert.deepEqual(niceTicks(0, 97, 5).ticks, [0, 20, 40, 60, 80, 100]);
    assert.deepEqual(niceTicks(-3, 7, 5).ticks, [-4, -2, 0, 2, 4, 6, 8]);
    assert.deepEqual(niceTicks(0, 0.3, 3).ticks, [0, 0.1, 0.2, 0.3]);
    assert.deepEqual(niceTicks(1, 3, 8, 1).ticks, [1, 2, 3]);
});

test("a range that is empty, turned round or no number still gets ticks", () => {
    assert.deepEqual(niceTicks(0, 0, 2).ticks, [0, 0.5, 1]);
    assert.deepEqual(niceTicks(10, 0, 2).ticks, [0, 5, 10]);
    assert.ok(niceTicks(NaN, NaN, 4).ticks.length > 1);
    assert.ok(niceTicks(-Infinity, Infinity, 4).ticks.length > 1);
    const { ticks } = niceTicks(5, 5, 4);
    assert.ok(ticks[0] <= 5 && ticks.at(-1) > 5);
});

test("the texts of neighbouring ticks differ and the unit fits the largest", () => {
    const random = fractionsOf(11);
    for (let i = 0; i < 500; i++) {
        const high = 10 ** (random() * 12);
        const { ticks, step } = niceTicks(0, high, 6);
        const { text } = tickText("ns", high, step);
        const texts = ticks.map(text);
        assert.equal(new Set(texts).size, texts.length, `${high}: ${texts}`);
    }
    assert.equal(tickText("ns", 2e9, 5e8).suffix, "s");
    assert.equal(tickText("ns", 2e9, 5e8).text(5e8), "0.5");
    assert.equal(tickText("ns", 2e6, 5e5).suffix, "ms");
    assert.equal(tickText("ns", 900, 200).suffix, "ns");
    assert.equal(tickText("time", 20, 5).suffix, "");
    assert.equal(tickText("MB", 65536, 20000).text(40000), "40\u202f000");
    assert.equal(tickText("%", 3, 1).text(-2), "\u22122");
});

test("digits are as many as tell values apart", () => {
    for (let digits = 0; digits < 9; digits++) {
        for (const lead of [1, 2, 5]) assert.equal(digitsOf(lead * 10 ** -digits), digits);
    }
    assert.equal(digitsOf(2.5), 1);
    assert.equal(digitsOf(1000), 0);
    assert.equal(digitsOf(0), 0);
});

test("a linear scale of colours is the share of the way from 0 to the most", () => {
    const scale = colorScale([4, 1, 8, 2], false);
    for (const value of [0, 1, 2, 4, 8]) assert.equal(scale.of(value), value / 8);
    assert.equal(scale.of(9), 1);
    assert.equal(scale.of(-1), 0);
    assert.equal(scale.at(0.25), 2);
    assert.equal(colorScale([-4, 4], false).of(0), 0.5);
});

test("a logarithmic scale goes by factors, and back", () => {
    for (const least of [1, 5, 0.002]) {
        const scale = colorScale([least, 1000 * least, 0, 10 * least], true);
        assert.equal(scale.of(least), 0);
        assert.equal(scale.of(1000 * least), 1);
        assert.ok(Math.abs(scale.of(10 * least) - 1 / 3) < 1e-12);
        assert.equal(scale.of(0), 0);
        for (const factor of [1, 7, 99, 1000]) {
            assert.ok(Math.abs(scale.at(scale.of(factor * least)) / (factor * least) - 1) < 1e-12);
        }
    }
});

test("a scale of colours grows with the value, and one value or none does no harm", () => {
    const random = fractionsOf(5);
    const values = Array.from({ length: 200 }, () => random() * 1e6);
    for (const logarithmic of [false, true]) {
        const scale = colorScale(values, logarithmic);
        const shares = [...values].sort((a, b) => a - b).map(scale.of);
        shares.forEach((share, i) => assert.ok(share >= 0 && share <= 1 && (i === 0 || share >= shares[i - 1])));
        assert.equal(shares.at(-1), 1);
        for (const few of [[], [3], [0, 0]]) {
            const small = colorScale(few, logarithmic);
            assert.ok(Number.isFinite(small.of(3)) && Number.isFinite(small.at(1)) && small.high > small.low);
        }
    }
});

test("the place of a value goes beyond its ends and an empty range has all at 0", () => {
    assert.equal(placeOf(15, 10, 20), 0.5);
    assert.equal(placeOf(30, 10, 20), 2);
    assert.equal(placeOf(5, 5, 5), 0);
});
