// Tests held memory: sums and samples against adding up each item, the peak of a curve against all its points; and
// texts shortened in the middle against trying all lengths.

import assert from "node:assert/strict";
import { test } from "node:test";

import { peakOf, sampleHeld, sumsByType } from "../../web/tabs/held_sums.js";
import { shorten } from "../../web/tabs/shorten.js";
import { randomOf } from "./random.js";

const random = randomOf(9);

const randomItems = () =>
    Array.from({ length: random(30) }, () => {
        const begin = random(1000);
        return { group: 0, name: "x", type: random(4), begin, end: begin + 1 + random(400), mb: random(100) };
    });
const heldAt = (items) => (time) => items.filter((item) => item.begin <= time && time < item.end);

test("sums by type are those of adding up each item, largest first", () => {
    for (let round = 0; round < 200; round++) {
        const items = randomItems();
        const sums = sumsByType(items);
        for (let type = 0; type < 4; type++) {
            const of_type = items.filter((item) => item.type === type);
            const sum = sums.find((other) => other.type === type);
            assert.equal(sum?.n ?? 0, of_type.length);
            assert.equal(
                sum?.mb ?? 0,
                of_type.reduce((all, item) => all + item.mb, 0),
            );
        }
        sums.forEach((sum, i) => assert.ok(i === 0 || sums[i - 1].mb >= sum.mb));
    }
});

test("samples are what is held in the middle of each part, and types add up to the total", () => {
    for (let round = 0; round < 100; round++) {
        const items = randomItems();
        const n = 1 + random(40);
        const { types, mb, total } = sampleHeld(heldAt(items), 0, 1000, n);
        for (let i = 0; i < n; i++) {
            const held = heldAt(items)((1000 * (i + 0.5)) / n);
            assert.equal(
                total[i],
                held.reduce((all, item) => all + item.mb, 0),
            );
            for (const type of types)
                assert.equal(
                    mb.get(type)[i],
                    held.reduce((all, item) => all + (item.type === type ? item.mb : 0), 0),
                );
        }
        const largest = types.map((type) => Math.max(...mb.get(type)));
        largest.forEach((value, i) => assert.ok(i === 0 || largest[i - 1] >= value));
    }
});

/** Points of a curve in parts of a resolution, as a source gives them: each with least, most and last. */
function reduced(points) {
    return (begin, end, resolution) => {
        const first = Math.max(
            0,
            points.findLastIndex(([time]) => time <= begin),
        );
        const last = points.findIndex(([time]) => time > end);
        const parts = [];
        for (const [time, value] of points.slice(first, last < 0 ? points.length : last + 1)) {
            const part = parts.at(-1);
            if (part && time - part.time < resolution) {
                part.least = Math.min(part.least, value);
                part.most = Math.max(part.most, value);
                part.last = value;
            } else {
                parts.push({ time, least: value, most: value, last: value });
            }
        }
        const column = (name) => Float64Array.from(parts, (part) => part[name]);
        return {
            time: column("time"),
            least: column("least"),
            most: column("most"),
            last: column("last"),
            n: parts.length,
        };
    };
}

test("the peak of a curve is its highest point, however many points stand close together", () => {
    for (let round = 0; round < 200; round++) {
        const n = 2 + random(5000);
        let time = 0;
        const points = Array.from({ length: n }, () => [
            (time += 1 + random(random(20) === 0 ? 5000 : 3)),
            random(1e6) / 7,
        ]);
        const [begin, end] = [points[0][0], points[n - 1][0]];
        const highest = points.reduce((best, point) => (point[1] > best[1] ? point : best));
        assert.equal(peakOf(reduced(points), begin, end), highest[0], `round ${round}`);
    }
});

test("a curve without points, or whose points are on their way, has no peak", () => {
    assert.equal(
        peakOf(() => null, 0, 1),
        null,
    );
    assert.equal(peakOf(reduced([]), 0, 1), null);
});

test("a shortened text is the longest that fits and keeps both ends", () => {
    const kept = (letters, n) =>
        letters.slice(0, Math.ceil(n / 2)).join("") +
        "\u2026" +
        (n > 1 ? letters.slice(-Math.floor(n / 2)).join("") : "");
    for (let round = 0; round < 500; round++) {
        const letters = Array.from({ length: 2 + random(60) }, () => "abcdefgh\u{1F600}"[random(8)]);
        const text = letters.join("");
        const most = 3 + random(60);
        const fits = (part) => Array.from(part).length <= most;
        const short = shorten(text, fits);
        if (fits(text)) {
            assert.equal(short, text);
            continue;
        }
        const all = letters
            .map((_, i) => kept(letters, i))
            .slice(1)
            .filter(fits);
        assert.equal(short, all.at(-1));
    }
    assert.equal(
        shorten("\u{1F600}\u{1F601}\u{1F602}\u{1F603}\u{1F604}", (part) => Array.from(part).length <= 3),
        "\u{1F600}\u2026\u{1F604}",
    );
});
