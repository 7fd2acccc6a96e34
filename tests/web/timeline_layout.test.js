// Tests positions of rows: a hit finds the row at that place, folding closes the right rows, and the parts of the
// canvas tile it.
import { test } from "node:test";
import assert from "node:assert/strict";
import {
    busiestRows,
    defaultFolds,
    firstRows,
    isFolded,
    isHidden,
    layOut,
    moved,
    neighbourRow,
    placeOf,
    rowAt,
    withFolds,
} from "../../web/timeline/layout.js";
import { firstCurvesHeight, placeParts, regionAt } from "../../web/timeline/geometry.js";
import { coreOf, cut } from "../../web/timeline/labels.js";
import { thin } from "../../web/timeline/arrows.js";
import { rowsForOverview } from "../../web/timeline/overview.js";
import { boxAt } from "../../web/timeline/selection.js";

/** Groups of tracks, each given by its class and number of rows. */
function timelineOf(groups) {
    const n_rows = groups.flat().reduce((sum, [, n]) => sum + n, 0);
    return {
        row_events: Array.from({ length: n_rows }, (_, row) => 1 + ((row * 7) % 5)),
        groups: groups.map((tracks, at) => ({
            name: `Rank ${at}`,
            rank: at,
            stage: -1,
            tracks: tracks.map(([kind, n_rows], number) => ({
                name: `${kind} ${number}`,
                class: kind,
                n_rows,
                left_out: 0,
            })),
        })),
    };
}
const all = { folded: [], defaults: new Set(), height: 600, shows: () => true };
const rank = [
    ["step", 1],
    ["compute", 1],
    ["compute", 2],
    ["communication", 1],
    ["host", 14],
];

function rowTracks(timeline) {
    const first = firstRows(timeline),
        tracks = [];
    for (let track = 0; track + 1 < first.length; track++) {
        for (let row = first[track]; row < first[track + 1]; row++) {
            tracks[row] = track;
        }
    }
    return tracks;
}

test("a place is hit by the row that is drawn there, whatever is folded", () => {
    const timeline = timelineOf([rank, rank, [["host", 3]]]),
        tracks = rowTracks(timeline);
    for (const folded of [[], ["0/4"], ["0"], ["1", "0/2", "0/4"], ["0", "1", "2"]]) {
        const layout = layOut(timeline, { ...all, folded });
        let end = 0;
        for (const line of layout.lines) {
            assert.ok(line.y >= end, "lines stand below each other");
            end = line.y + line.height;
        }
        assert.ok(layout.height >= end);
        let exact = 0;
        tracks.forEach((track, row) => {
            const place = placeOf(layout, row, track);
            assert.notEqual(place, null);
            if (place.exact) {
                exact++;
                assert.equal(rowAt(layout, place.y).row, row);
                assert.equal(rowAt(layout, place.y + place.height - 0.01).row, row);
            }
        });
        assert.equal(
            exact,
            layout.lines.reduce((sum, line) => sum + line.n_rows, 0),
        );
    }
});

test("above, below and between rows there is nothing", () => {
    const layout = layOut(timelineOf([rank]), all);
    assert.deepEqual(rowAt(layout, -1), { line: -1, row: -1 });
    assert.equal(rowAt(layout, layout.height + 5).row, -1);
    assert.equal(rowAt(layout, 1).row, -1, "a header that is open has no row");
});

test("a folded deep track shows its busiest rows", () => {
    const events = [9, 1, 1, 5, 8, 7, 2, 9];
    for (let shown = 1; shown <= 7; shown++) {
        const sums = Array.from({ length: 7 - shown + 1 }, (_, at) =>
            events.slice(1 + at, 1 + at + shown).reduce((a, b) => a + b),
        );
        assert.equal(busiestRows(events, 1, 7, shown), 1 + sums.indexOf(Math.max(...sums)), `${shown} rows`);
    }
    const timeline = timelineOf([[["host", 20]]]);
    timeline.row_events = Array.from({ length: 20 }, (_, row) => row);
    const [line] = layOut(timeline, { ...all, folded: ["0/0"] }).lines;
    assert.deepEqual([line.first_row, line.n_rows], [10, 10]);
});

test("what the filter hides has no place, and a group without tracks no header", () => {
    const timeline = timelineOf([rank, rank]);
    const layout = layOut(timeline, { ...all, shows: (group, track) => group === 1 && track === 1 });
    assert.deepEqual(
        layout.lines.map((line) => line.key),
        ["1", "1/1"],
    );
    assert.equal(placeOf(layout, 0, 0), null);
    assert.equal(layout.of_group[0], -1);
});

test("tracks without rows are not shown", () => {
    const layout = layOut(
        timelineOf([
            [
                ["host", 0],
                ["compute", 1],
            ],
            [["host", 0]],
        ]),
        all,
    );
    assert.deepEqual(
        layout.lines.map((line) => line.key),
        ["0", "0/1"],
    );
});

test("groups of one track each have no headers", () => {
    const layout = layOut(timelineOf([[["stage", 1]], [["stage", 1]]]), all);
    assert.deepEqual(
        layout.lines.map((line) => [line.kind, line.name]),
        [
            ["track", "Rank 0"],
            ["track", "Rank 1"],
        ],
    );
});

test("rows grow into the room there is, within bounds", () => {
    const timeline = timelineOf([[["stage", 1]], [["stage", 1]]]);
    const pitches = [50, 90, 2000].map((height) => layOut(timeline, { ...all, height }).lines[0].pitch);
    assert.ok(pitches[0] === 18 && pitches[1] > 18 && pitches[2] > pitches[1] && pitches[2] < 60, String(pitches));
});

test("deep host tracks are closed where there are many rows, and can be opened", () => {
    const few = timelineOf([rank]),
        many = timelineOf([rank, rank, rank]);
    assert.equal(defaultFolds(few).size, 0);
    const defaults = defaultFolds(many);
    assert.deepEqual([...defaults].sort(), ["0/4", "1/4", "2/4"]);
    let folded = [];
    assert.ok(isFolded("1/4", folded, defaults));
    folded = withFolds(folded, defaults, ["1/4"], false);
    assert.ok(!isFolded("1/4", folded, defaults) && isFolded("0/4", folded, defaults));
    folded = withFolds(folded, defaults, ["0"], true);
    assert.ok(isFolded("0", folded, defaults));
    folded = withFolds(withFolds(folded, defaults, ["1/4"], true), defaults, ["0"], false);
    assert.deepEqual(folded, []);
});

test("neighbours go through all rows in sight in order, and back", () => {
    const timeline = timelineOf([rank, rank]),
        tracks = rowTracks(timeline);
    const layout = layOut(timeline, { ...all, folded: ["0/4"] });
    const seen = [0];
    for (let row = 0; (row = neighbourRow(layout, row, tracks[row], 1)) >= 0;) {
        seen.push(row);
    }
    const shown = layout.lines.flatMap((line) => Array.from({ length: line.n_rows }, (_, i) => line.first_row + i));
    assert.deepEqual(seen, shown);
    const back = [seen[seen.length - 1]];
    for (let row = back[0]; (row = neighbourRow(layout, row, tracks[row], -1)) >= 0;) {
        back.push(row);
    }
    assert.deepEqual(back.reverse(), shown);
});

test("the parts of the canvas tile its height, and each place is one of them", () => {
    for (const [height, n_panes, n_lanes, curves] of [
        [720, 1, 0, 0],
        [720, 1, 8, 200],
        [720, 2, 4, 132],
        [300, 1, 9, 900],
    ]) {
        const parts = placeParts({ width: 1280, height, n_panes, n_lanes, steps: true, curves });
        const order = [parts.overview, parts.axis, parts.steps, parts.rows, parts.split, parts.curves];
        let at = 0;
        for (const part of order) {
            assert.equal(part.y, at);
            at += part.height;
        }
        assert.equal(at, height);
        assert.ok(parts.rows.height >= 80);
        for (let y = 0; y < height; y++) {
            assert.notEqual(regionAt(parts, 600, y), "nothing");
        }
        assert.equal(regionAt(parts, 10, parts.rows.y + 1), "names");
    }
    assert.equal(firstCurvesHeight(720, 0), 0);
    assert.ok(firstCurvesHeight(720, 1) < firstCurvesHeight(720, 9) && firstCurvesHeight(720, 9) < 300);
});

test("labels are cut to what fits", () => {
    assert.equal(cut("MatMul", 6), "MatMul");
    assert.equal(cut("MatMulV3", 5), "MatM\u2026");
    assert.equal(cut("MatMulV3", 2), "");
    assert.equal(cut("F10", 2), "");
    assert.equal(cut("B10\u00b72", 4), "");
    assert.equal(cut("F1", 2), "F1");
});

test("of C++ names the last part is kept where the whole does not fit", () => {
    for (const [text, core] of [
        [
            "void at::native::(anonymous namespace)::copy_kernel<float, std::array<char*, 2> >(int, float)",
            "copy_kernel",
        ],
        ["aten::convolution_backward", "convolution_backward"],
        ["train.py(15): forward", "train.py(15): forward"],
        ["void gemm<a::b>(x)", "gemm"],
        ["a::", "a::"],
        ["", ""],
    ]) {
        assert.equal(coreOf(text), core);
    }
});

test("the overview has the rows with most events, and never more than it has room for", () => {
    const timeline = timelineOf([rank, rank]);
    timeline.row_events = [...rowTracks(timeline).keys()].map((row) => row);
    assert.deepEqual(rowsForOverview(timeline), [3, 4, 18, 22, 23, 37]);
    const many = timelineOf(Array.from({ length: 64 }, () => rank));
    many.row_events = rowTracks(many).map(() => 1);
    const rows = rowsForOverview(many);
    assert.ok(rows.length === 12 && rows.every((row) => row % 19 === 1), String(rows));
    assert.deepEqual(rowsForOverview(timelineOf([[]])), []);
});

test("arrows on the same pixels are drawn once, and never more than asked for", () => {
    const bow = (x) => ({ x0: x, y0: 0, x1: x + 50, y1: 90 });
    assert.equal(thin([bow(1), bow(1.2), bow(100)], 10).length, 2);
    const kept = thin(
        Array.from({ length: 900 }, (_, i) => bow(i * 20)),
        30,
    );
    assert.equal(kept.length, 30);
    assert.ok(kept[29].x0 > 17000, "spread over all");
});

test("the box at a time is the one a walk over all finds", () => {
    const begin = Float64Array.of(0, 10, 10.5, 30),
        end = Float64Array.of(4, 10.5, 20, 30);
    const boxes = { from: 0, to: 4, begin, end };
    for (let time = -5; time < 40; time += 0.25) {
        let best = -1,
            least = 2;
        for (let i = 0; i < 4; i++) {
            const far = Math.max(0, begin[i] - time, time - end[i]);
            if (far < least || (far === least && (far === 0 || best < 0))) {
                [best, least] = [i, far];
            }
        }
        assert.equal(boxAt(boxes, time, 2), best, `at ${time}`);
    }
    assert.equal(boxAt(null, 3, 1), -1);
});

test("a pinned track stands above all others, once, and what is hidden has no place", () => {
    const timeline = timelineOf([rank, rank, rank]);
    const shows = (group, track) => !isHidden(["2", "0/1"], group, track);
    const layout = layOut(timeline, { ...all, shows, pinned: ["1/4", "2/0", "0/2", "9/9", "1/4"] });
    assert.deepEqual([layout.n_pinned, layout.lines.slice(0, 2).map((line) => line.key)], [2, ["1/4", "0/2"]]);
    assert.equal(layout.pinned_height, layout.lines[2].y);
    const keys = layout.lines.map((line) => line.key);
    assert.equal(new Set(keys).size, keys.length);
    assert.ok(!keys.some((key) => key.startsWith("2") || key === "0/1"));
    for (let i = 1; i < layout.lines.length; i++) assert.ok(layout.lines[i].y >= layout.lines[i - 1].y + layout.lines[i - 1].height);
    layout.lines.forEach((line, at) => line.track >= 0 && assert.equal(layout.of_track[line.track], at));
});

test("pinned tracks leave room for the others", () => {
    const timeline = timelineOf([rank, rank]);
    const every = rank.map((_, number) => `0/${number}`);
    const layout = layOut(timeline, { ...all, height: 200, pinned: every });
    assert.ok(layout.n_pinned > 0 && layout.n_pinned < every.length && layout.pinned_height <= 110);
    assert.ok(layout.lines.some((line) => line.key === "0/4" && !line.pinned));
});

test("groups and tracks move beyond the next one that is shown, and back", () => {
    const timeline = timelineOf([rank, rank, rank]);
    const shows = (key) => key !== "1" && key !== "0/1";
    const names = (order) => layOut(timeline, { ...all, order }).lines.map((line) => line.key);
    const down = moved(timeline, [], "0", 1, shows);
    assert.deepEqual(names(down).filter((key) => !key.includes("/")), ["1", "2", "0"]);
    const back = moved(timeline, down, "0", -1, shows);
    assert.deepEqual(names(back).filter((key) => !key.includes("/")), ["1", "0", "2"]);
    const track = moved(timeline, down, "0/0", 1, shows);
    assert.deepEqual(names(track).filter((key) => key.startsWith("0/")), ["0/1", "0/2", "0/0", "0/3", "0/4"]);
    assert.deepEqual(names(track).filter((key) => !key.includes("/")), ["1", "2", "0"]);
    assert.deepEqual(moved(timeline, [], "0", -1, shows), []);
    assert.deepEqual(moved(timeline, [], "2/4", 1, shows), []);
});

test("of more than 16 ranks each is one row at first", () => {
    for (const [n, closed] of [[16, 0], [17, 17], [200, 200]]) {
        const folds = defaultFolds(timelineOf(Array.from({ length: n }, () => rank.slice(0, 3))));
        assert.equal([...folds].filter((key) => !key.includes("/")).length, closed);
    }
});
