// Tests colours: the conversion against published values, contrast against WCAG's formula, and shades by text.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { fromOklch, luminance, makeColors, n_shades } from "../../web/colors.js";
import { roles, types } from "./roles.js";

const name = (number) => `operator ${number % 100}`;

/** @param {number} pixel */
const bytes = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

test("OKLCH of the primary colours and of greys gives their bytes", () => {
    assert.deepEqual(fromOklch(1, 0, 0), [255, 255, 255]);
    assert.deepEqual(fromOklch(0, 0, 0), [0, 0, 0]);
    assert.deepEqual(fromOklch(0.6279553606, 0.2576833077, 29.2338802854), [255, 0, 0]);
    assert.deepEqual(fromOklch(0.8664396115, 0.2948272403, 142.4953388878), [0, 255, 0]);
    assert.deepEqual(fromOklch(0.4520137184, 0.3132143717, 264.0520206381), [0, 0, 255]);
});

test("every type of the document has colours, apart from the background and with legible text, in light and dark", () => {
    assert.equal(types.length, 28);
    for (const dark of [false, true]) {
        const colors = makeColors(roles, name);
        colors.setDark(dark);
        const ground = luminance(dark ? [0x16, 0x19, 0x1e] : [255, 255, 255]);
        types.forEach((type, number) => {
            for (let i = 0; i < 100; i++) {
                const shade = luminance(bytes(colors.pixel(number, i)));
                assert.ok(type === "idle" || contrast(shade, ground) >= 1.6, `${type} on the background`);
                const ink = colors.ink(number, i) === "#000" ? 0 : 1;
                assert.ok(contrast(shade, ink) >= 4.5, `text on ${type}`);
            }
        });
    }
});

test("colours that stand beside each other differ in lightness or far in hue", () => {
    const colors = makeColors(roles, () => "");
    const of = (type) => luminance(bytes(colors.pixel(types.indexOf(type), 0)));
    for (const [a, b] of [["forward", "backward"], ["backward", "backward for weights"], ["forward", "recompute"],
        ["all computing", "all communication"], ["all communication", "communication not overlapped"], ["gradients", "activations"],
        ["parameters", "gradients"], ["optimizer states", "activations"]]) {
        assert.ok(contrast(of(a), of(b)) >= 1.2, `${a} and ${b}`);
    }
});

test("a text has one shade whatever its number, and plain until it came", () => {
    const colors = makeColors(roles, name);
    for (let i = 0; i < 100; i++) assert.equal(colors.pixel(1, i), colors.pixel(1, i + 100000));
    assert.equal(new Set(Array.from({ length: 100 }, (_, i) => colors.pixel(1, i))).size, n_shades);
    const texts = new Map();
    const late = makeColors(roles, (number) => texts.get(number) ?? "");
    const before = late.pixel(1, 7);
    texts.set(7, "operator 3");
    assert.equal(late.pixel(1, 7), colors.pixel(1, 3));
    assert.equal(before, makeColors(roles, () => "").pixel(1, 12));
    assert.equal(typeof colors.pixel(200, 5), "number");
});

test("roles of the page are those of the pictures, in light and dark, and chunks too", () => {
    const canvas = readFileSync(new URL("../golden/timeline_small.svg", import.meta.url), "utf8");
    const [light, dark] = canvas.split("@media (prefers-color-scheme:dark)");
    const colors = makeColors(roles, () => "");
    for (const [text, is_dark] of [[light, false], [dark, true]]) {
        colors.setDark(is_dark);
        const rules = Object.fromEntries([...text.matchAll(/\.([fb]\d|static|activation)\{fill:#([0-9a-f]{6})\}/g)].map((match) => [match[1], match[2]]));
        const of = (css) => [...css.matchAll(/\d+/g)].map((match) => Number(match[0]).toString(16).padStart(2, "0")).join("");
        const n = Object.keys(rules).filter((name) => name.startsWith("f")).length;
        for (let chunk = 0; chunk < n; chunk++) {
            if (n > 1 && chunk > 0 && chunk < n - 1) continue; // the page has shades for eight chunks
            assert.equal(rules[`f${chunk}`], of(colors.chunk(types.indexOf("forward"), chunk, n)));
            assert.equal(rules[`b${chunk}`], of(colors.chunk(types.indexOf("backward"), chunk, n)));
        }
        assert.equal(rules.static, of(colors.type(types.indexOf("parameters"))));
        assert.equal(rules.activation, of(colors.type(types.indexOf("activations"))));
    }
});
