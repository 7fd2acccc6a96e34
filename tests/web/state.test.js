// Tests the view in the address: the written state is read back, and any other text is tolerated.

import assert from "node:assert/strict";
import { test } from "node:test";

import { decodeView, encodeView, firstView, makeState } from "../../web/state.js";
import { makeClock } from "./clock.js";
import { randomOf, randomTimeline } from "./random.js";

const { timeline } = randomTimeline(1, [500, 30, 8]);
const doc = {
    runs: [
        { name: "a plan", timeline },
        { name: "b&c=d#~", timeline: { ...timeline, end: 5 * timeline.end } },
        { name: "no times", timeline: null },
    ],
};

test("a page that was just opened has nothing in its address", () => {
    assert.equal(encodeView(firstView(doc), doc), "");
    assert.deepEqual(decodeView("", doc), firstView(doc));
});

test("every member of a view comes back", () => {
    const view = {
        ...firstView(doc, 1),
        tab: "my own & other",
        begin: 12.25,
        end: 1800.5,
        top: 140,
        selected: { row: 1, index: 29 },
        range: [20.5, 99.75],
        area: [0],
        pinned: ["0/0"],
        hidden: ["1", "0/3"],
        order: ["1", "0"],
        pointer: 77.25,
        marks: [{ time: 5, name: "a~b" }, { time: 6.5, name: "" }],
        query: "<b>&=#%",
        filter: { rank: "0-7", stage: "1,4", track: "comm", name: "100%" },
        folded: ["0", "0/3", "!1/2"],
        compare: null,
        theme: "dark",
        arrows: false,
    };
    const text = encodeView(view, doc);
    assert.deepEqual(decodeView(`#${text}`, doc), view);
    assert.match(text, /^[\x21-\x7e]*$/);
});

test("random stretches come back to a hundredth of a pixel", () => {
    const random = randomOf(3);
    for (let i = 0; i < 500; i++) {
        const begin = random(timeline.end) + random(1e9) / 1e9;
        const span = 10 ** (random(9) - 4);
        const view = { ...firstView(doc), begin, end: begin + span };
        const read = decodeView(encodeView(view, doc), doc);
        assert.ok(Math.abs(read.begin - begin) <= span / 1e5 + 1e-9 && Math.abs(read.end - view.end) <= span / 1e5 + 1e-9);
    }
});

test("addresses that fit nothing leave the defaults", () => {
    const first = firstView(doc);
    const damaged = [
        "t=1", "t=5~1", "t=a~b", "t=1~2~3", "t=NaN~Infinity", "t=1e400~2e400", "t=99999999999~999999999999", "event=1", "event=99.0",
        "event=1.30", "event=-1.-1", "range=3", "range=3~3", "at=x", "mark=", "mark=~", "mark=x~y", "theme=pink", "folded=../..", "run=none",
        "compare=none", "top=-5", "%", "%E0%A4%A", "&&&==", "t=0x10~0x20", "__proto__=1", "top=1e999",
    ];
    for (const text of damaged) assert.deepEqual(decodeView(text, doc), first, text);
});

test("random bytes never break the reading, and give a view that fits the document", () => {
    const random = randomOf(11);
    const pieces = ["t=", "~", "event=", ".", "mark=", "&", "range=", "-", "9", "1e9", "%", "run=", "a+plan", "b%26c%3Dd%23~", "folded=", "/", "\u{1f600}"];
    for (let i = 0; i < 3000; i++) {
        let text = "";
        for (let k = random(12); k >= 0; k--) text += pieces[random(pieces.length)];
        const view = decodeView(text, doc);
        assert.ok(view.begin < view.end && Number.isFinite(view.end - view.begin) && view.top >= 0, text);
        assert.ok(view.run < doc.runs.length && (view.selected === null || view.selected.row < 3), text);
        assert.deepEqual(decodeView(encodeView(view, doc), doc).marks, view.marks, text);
    }
});

test("a run without a timeline has a view too", () => {
    const view = decodeView("run=no+times&event=0.0", doc);
    assert.equal(view.run, 2);
    assert.equal(view.selected, null);
    assert.ok(view.begin < view.end);
});

test("listeners hear what changed, once, and not what stayed the same", async (t) => {
    const clock = makeClock(t);
    const written = [];
    const state = makeState(doc, "", (hash) => written.push(hash));
    const heard = [];
    const end = state.on(["begin", "end"], (changed) => heard.push([...changed].join()));
    state.on(["theme"], () => heard.push("paint"));
    state.set({ begin: 1, end: 2, top: 0 });
    state.set({ begin: 1 });
    state.set({ selected: { row: 0, index: 0 } });
    state.set({ theme: "auto" });
    end();
    state.set({ begin: 1.5 });
    assert.deepEqual(heard, ["begin,end", "paint"]);
    await clock.pass(400);
    assert.ok(written.length >= 1 && written.length <= 2, "the address is written rarely");
    assert.deepEqual(decodeView(written[written.length - 1], doc), state.view);
});
