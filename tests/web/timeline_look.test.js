// Tests colours of boxes by name: the boxes that the search marks, those that it and the filter dim, and that a name
// that is not loaded yet is requested again.
import { test } from "node:test";
import assert from "node:assert/strict";
import { newLook } from "../../web/timeline/look.js";
import { forXml } from "../../web/timeline/svg_picture.js";
import { DIM, MARKED } from "../../web/timeline/raster.js";

const FULL = 0xff4080c0;
const GROUND = 0xff000000;

function lookOf(names, query, only) {
    const asked = [];
    const look = newLook({
        name: (name) => names[name] ?? "",
        pixel: (type, name) => {
            asked.push([type, name]);
            return FULL;
        },
        ground: GROUND,
        mark: 1,
        query,
        only,
    });
    return { look, asked };
}

test("the search marks what contains it in any case, and dims the rest", () => {
    const { look } = lookOf(["MatMul", "aten::matmul", "Add"], "matmul", "");
    assert.deepEqual([0, 1, 2].map(look.flags), [MARKED, MARKED, DIM]);
    assert.equal(look.color(1, 0), FULL);
    assert.notEqual(look.color(1, 2), FULL);
    assert.deepEqual([0, 1, 2].map(look.flags), [MARKED, MARKED, DIM], "also when it is asked again");
});

test("the filter of names dims without marking, and both work together", () => {
    const { look } = lookOf(["MatMul", "Add", "MatAdd"], "add", "mat");
    assert.deepEqual([0, 1, 2].map(look.flags), [DIM, MARKED | DIM, MARKED]);
    const { look: plain } = lookOf(["MatMul"], "", "");
    assert.equal(plain.flags(0), 0);
});

test("colours are asked for once for each name and type, beyond the first thousand too", () => {
    const names = Array.from({ length: 5000 }, (_, at) => `name ${at}`);
    const { look, asked } = lookOf(names, "", "");
    for (let again = 0; again < 3; again++) {
        for (let name = 0; name < names.length; name += 7) {
            assert.equal(look.color(3, name), FULL);
        }
    }
    assert.equal(asked.length, Math.ceil(names.length / 7));
    look.color(4, 7);
    assert.deepEqual(asked[asked.length - 1], [4, 7]);
});

test("a name that is still on its way is not remembered", () => {
    const names = [""];
    const { look } = lookOf(names, "conv", "");
    assert.equal(look.flags(0), DIM);
    look.color(1, 0);
    names[0] = "Conv2d";
    assert.equal(look.flags(0), MARKED);
    assert.equal(look.color(1, 0), FULL);
});

test("texts of a saved picture have nothing that XML forbids, and all else as it was", () => {
    assert.equal(forXml("a\u0000b\ud800c\uffff\u001f"), "a\ufffdb\ufffdc\ufffd\ufffd");
    for (const text of ["<img src=x>", "line\nbreak\ttab", "\ud83d\ude80 \u4e2d", "&amp;"]) assert.equal(forXml(text), text);
});
