// Tests the painter of rows against one that checks every box for every pixel.
import { test } from "node:test";
import assert from "node:assert/strict";
import { fractionsOf } from "./random.js";
import { DIM, LEAST, MARKED, WIDE, copyLine, fullness, mix, newLiner, paintLine } from "../../web/timeline/raster.js";

const GROUND = 0xff101820,
    MARK = 0xff2040ff;

/** Boxes in order that do not overlap: some of many pixels, many of a part of one. */
function someBoxes(next, n, counted) {
    const begin = new Float64Array(n),
        end = new Float64Array(n),
        name = new Uint32Array(n),
        type = new Uint8Array(n);
    const count = new Uint32Array(n).fill(1),
        busy = new Float64Array(n);
    let time = -50 * next();
    for (let i = 0; i < n; i++) {
        begin[i] = time;
        end[i] = time + (next() < 0.2 ? 30 * next() : next() < 0.1 ? 0 : 2 * next());
        count[i] = counted && next() < 0.5 ? 2 + Math.floor(next() * 9) : 1;
        busy[i] = count[i] > 1 ? (end[i] - begin[i]) * next() : end[i] - begin[i];
        name[i] = Math.floor(next() * 7);
        type[i] = Math.floor(next() * 3);
        time = end[i] + (next() < 0.5 ? 0 : 3 * next());
    }
    return {
        from: 0,
        to: n,
        begin,
        end,
        name,
        type,
        count: counted ? count : null,
        busy: counted ? busy : null,
        index: null,
    };
}

const look = {
    color: (type, name) => (0xff000000 | ((40 * name + 11) << 16) | ((80 * type + 7) << 8) | (255 - 30 * name)) >>> 0,
    flags: (name) => (name === 3 ? MARKED : name === 4 ? DIM : 0),
    mark: MARK,
};

/** One pixel from first principles: a wide box wins, else the weighted mean over the ground. */
function pixelByHand(boxes, x, begin, scale, width) {
    let weight = 0,
        red = 0,
        green = 0,
        blue = 0,
        wide = null,
        marked = false;
    for (let i = boxes.from; i < boxes.to; i++) {
        const x0 = (boxes.begin[i] - begin) * scale,
            x1 = (boxes.end[i] - begin) * scale;
        const color = look.color(boxes.type[i], boxes.name[i]),
            full = fullness(boxes, i);
        if (x0 >= width || (x1 <= 0 && x0 < 0)) {
            continue;
        }
        if (x1 - x0 >= WIDE) {
            if (x >= Math.round(x0) && x < Math.round(x1) - 1) {
                wide = full < 1 ? mix(color, GROUND, LEAST + (1 - LEAST) * full) : color;
                marked ||= look.flags(boxes.name[i]) === MARKED;
            }
            continue;
        }
        const first = Math.max(0, Math.floor(x0));
        const touches = x === first || (x > first && x < x1);
        if (touches) {
            const part = Math.max(1 / 64, (Math.min(x1, x + 1) - Math.max(x0, x)) * full);
            weight += part;
            red += part * (color & 255);
            green += part * ((color >> 8) & 255);
            blue += part * ((color >> 16) & 255);
            marked ||= look.flags(boxes.name[i]) === MARKED;
        }
    }
    const mean =
        weight > 0
            ? (0xff000000 | ((blue / weight + 0.5) << 16) | ((green / weight + 0.5) << 8) | (red / weight + 0.5)) >>> 0
            : 0;
    const color = wide ?? (weight > 0 ? mix(mean, GROUND, LEAST + (1 - LEAST) * Math.min(1, weight)) : GROUND);
    return { color, marked };
}

/** Largest difference of a channel. */
function apart(a, b) {
    return Math.max(...[0, 8, 16, 24].map((shift) => Math.abs(((a >>> shift) & 255) - ((b >>> shift) & 255))));
}

test("every pixel of random rows is what a slow painter says", () => {
    for (let seed = 1; seed <= 60; seed++) {
        const next = fractionsOf(seed),
            width = 50 + Math.floor(next() * 200);
        const boxes = someBoxes(next, 120, seed % 2 === 0);
        const begin = 40 * next() - 10,
            scale = 0.2 + 3 * next();
        const liner = newLiner(width),
            ground = new Uint32Array(width).fill(GROUND);
        for (let again = 0; again < 2; again++) {
            // nothing is left over from the frame before
            paintLine(liner, boxes, begin, scale, ground, look);
        }
        for (let x = 0; x < width; x++) {
            const hand = pixelByHand(boxes, x, begin, scale, width);
            assert.ok(
                apart(liner.body[x], hand.color) <= 2,
                `seed ${seed}, pixel ${x}: ${liner.body[x].toString(16)}, not ${hand.color.toString(16)}`,
            );
            if (liner.any_marked) {
                assert.equal(liner.edge[x] === MARK, hand.marked, `seed ${seed}, pixel ${x}`);
            }
        }
    }
});

test("a lone event shorter than a pixel is seen, and events that fill a pixel are as strong as one that does", () => {
    const ground = new Uint32Array(10).fill(0xff000000),
        liner = newLiner(10);
    const white = { color: () => 0xffffffff, flags: () => 0, mark: 0 };
    const one = {
        from: 0,
        to: 1,
        begin: Float64Array.of(4.5),
        end: Float64Array.of(4.5),
        name: new Uint32Array(1),
        type: new Uint8Array(1),
        count: null,
        busy: null,
        index: null,
    };
    paintLine(liner, one, 0, 1, ground, white);
    assert.ok((liner.body[4] & 255) >= LEAST * 255 - 1);
    assert.deepEqual([...liner.body].filter((pixel) => pixel !== 0xff000000).length, 1);
    const n = 100;
    const many = {
        ...one,
        to: n,
        begin: Float64Array.from({ length: n }, (_, i) => 4 + i / n),
        end: Float64Array.from({ length: n }, (_, i) => 4 + (i + 1) / n),
        name: new Uint32Array(n),
        type: new Uint8Array(n),
    };
    paintLine(liner, many, 0, 1, ground, white);
    assert.ok((liner.body[4] & 255) >= 254);
});

test("copying clips to the picture and rims what is marked", () => {
    const liner = newLiner(4);
    liner.body.fill(7);
    liner.edge.fill(9);
    liner.any_marked = true;
    const pixels = new Uint32Array(4 * 6);
    copyLine(liner, pixels, 6, -3, 3, 1);
    assert.deepEqual(
        [0, 1, 2, 3].map((y) => pixels[y * 4]),
        [7, 7, 9, 0],
    );
    copyLine(liner, pixels, 6, 4, 9, 2);
    assert.deepEqual(
        [4, 5].map((y) => pixels[y * 4 + 3]),
        [9, 9],
    );
});
