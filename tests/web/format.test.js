// Tests the formatting of numbers.

import assert from "node:assert/strict";
import { test } from "node:test";

import { format } from "../../web/format.js";
import { randomOf } from "./random.js";

/** Narrow spaces and signs as one types them. @param {string} text */
const plain = (text) => text.replace(/\u202f/g, " ").replace(/−/g, "-").replace(/µ/g, "u");

test("values have four digits or so, and their unit", () => {
    const cases = [
        [0, "ns", "0 ns"], [1, "ns", "1 ns"], [999.4, "ns", "999.4 ns"], [999.99, "ns", "1 us"], [1234, "ns", "1.234 us"],
        [12345678, "ns", "12.35 ms"], [999999999, "ns", "1 s"], [-2.5e9, "ns", "-2.5 s"], [12345e9, "ns", "12345 s"],
        [55931.2, "MB", "55 931 MB"], [12.3456, "MB", "12.35 MB"], [25, "%", "25 %"], [0.123456, "%", "0.123 %"],
        [0.0000118, "%", "< 0.001 %"], [-0.0001, "%", "-< 0.001 %"], [0, "%", "0 %"], [0.01157, "MB", "0.012 MB"], [1e-5, "MB", "< 0.001 MB"],
        [1234567, "count", "1 234 567"], [9999, "count", "9999"], [191.234, "GB/s", "191.2 GB/s"], [3.14159265, "time", "3.1416"],
        [1e20, "", "1.0000e+20"], [1.5, "", "1.5"], [7, "text", "7"],
    ];
    for (const [value, unit, text] of cases) assert.equal(plain(format.value(value, unit)), text.replace("12345 s", "12 345 s"));
});

test("nothing and texts", () => {
    assert.equal(format.value(null, "ns"), "–");
    assert.equal(format.value(NaN, "MB"), "–");
    assert.equal(format.value("<b>", "MB"), "<b>");
});

test("times on an axis have as many digits as tell neighbours apart", () => {
    const cases = [
        [12345678, "ns", 1, "12.345 678 ms"], [12345678, "ns", 1000, "12.346 ms"], [0, "ns", 1, "0 ns"], [1.5e9, "ns", 1e6, "1.500 s"],
        [5, "ns", 0.01, "5.00 ns"], [42.123, null, 0.1, "42.1"], [12345.6, null, 1, "12 346"], [-1500, "ns", 100, "-1.5 us"],
    ];
    for (const [value, unit, resolution, text] of cases) assert.equal(plain(format.time(value, unit, resolution)), text);
});

test("a random time is never off by more than its resolution", () => {
    const random = randomOf(5);
    const factors = { s: 1e9, ms: 1e6, us: 1e3, ns: 1 };
    for (let i = 0; i < 2000; i++) {
        const value = random(2 ** 31) * 10 ** (random(4) - 1);
        const resolution = 10 ** random(7);
        const text = plain(format.time(value, "ns", resolution));
        const [, digits, unit] = /^([-\d. ]+) (\w+)$/.exec(text);
        assert.ok(Math.abs(Number(digits.replaceAll(" ", "")) * factors[unit] - value) <= resolution / 2 + 1e-6 * value, text);
    }
});
