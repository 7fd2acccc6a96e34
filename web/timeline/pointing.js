// Finds the target under the pointer: the box of a row, its event, and the text of the tip.

import { valueAt } from "./curves.js";
import { boxAt } from "./selection.js";
import { say, told } from "../texts.js";

const NEAR = 4; // pixels from which on an event counts as hit
const SNAP = 8; // pixels from which on an edge of a block draws a mark to it

/** @typedef {import("./model.js").Pane} Pane */

/** @param {import("./model.js").Model} it */
export function newPointing(it) {
    const { view, format, tip } = it;
    const { paneAt, perPixel, timeAt, duration, moment } = it;

    /** The box at a place of the page. @param {number} x @param {number} y */
    function hit(x, y) {
        const pane = paneAt(y);
        if (pane === null || x < it.parts.gutter) {
            return null;
        }
        const { line, row } = pane.rowAt(y);
        if (row < 0) {
            return null;
        }
        const time = timeAt(x);
        const { summary } = pane.layout.lines[line];
        // The topmost counts first; then the nearest.
        const rows = summary.length > 0 ? [...summary].reverse() : [row];
        for (const slack of [0, NEAR * perPixel()]) {
            for (const one of rows) {
                const boxes = pane.boxesOf(one, view);
                const at = boxAt(boxes, time, slack);
                if (at >= 0 && boxes !== null) {
                    return { pane, row: one, boxes, at, time };
                }
            }
        }
        return null;
    }

    /** The start or end of the box at a place, where that is near; null. @param {number} x @param {number} y */
    function edgeAt(x, y) {
        const found = hit(x, y);
        if (found === null) {
            return null;
        }
        const ends = [found.boxes.begin[found.at], found.boxes.end[found.at]];
        const far = (time) => Math.abs(time - found.time);
        const nearest = far(ends[0]) <= far(ends[1]) ? ends[0] : ends[1];
        return far(nearest) <= SNAP * perPixel() ? nearest : null;
    }

    /** @param {number} x @param {number} y @returns {Promise<{pane: Pane, row: number, index: number} | null>} */
    async function eventAt(x, y) {
        const found = hit(x, y);
        if (found === null) {
            return null;
        }
        const { pane, row, boxes, at, time } = found;
        if (boxes.count === null || boxes.count[at] === 1) {
            return { pane, row, index: boxes.index === null ? at : boxes.index[at] };
        }
        const first = /** @type {Uint32Array} */ (boxes.index)[at];
        const within = Math.max(boxes.begin[at], Math.min(time, boxes.end[at]));
        return { pane, row, index: (await pane.source.at(row, within)) ?? first };
    }

    function hover() {
        const found = it.over === null ? null : hit(it.over.x, it.over.y);
        const pane = it.over === null ? null : paneAt(it.over.y);
        it.hovered = it.over !== null && pane !== null && it.over.x < it.parts.gutter ? pane.rowAt(it.over.y).line : -1;
        if (it.over === null || found === null) {
            const under = pane === null || it.over === null ? undefined : pane.layout.lines[pane.rowAt(it.over.y).line];
            const line = pane !== null && it.hovered >= 0 ? pane.layout.lines[it.hovered] : under?.kind === "curve" ? under : null;
            if (it.over !== null && pane !== null && line !== null) {
                tip.show(it.over.x, it.over.y, line.name, lineTexts(pane, line));
            } else {
                tip.hide();
            }
            return;
        }
        const { boxes, at } = found,
            begin = boxes.begin[at],
            end = boxes.end[at];
        const count = boxes.count === null ? 1 : boxes.count[at];
        const name = found.pane.source.name(boxes.name[at]) || "\u2026";
        if (count > 1) {
            const busy = boxes.busy === null || !(end > begin) ? 1 : Math.min(1, boxes.busy[at] / (end - begin));
            tip.show(it.over.x, it.over.y, say("{0} events", format.value(count, "count")), [
                say("{0} of {1} filled", format.value(100 * busy, "%"), duration(end - begin)),
                say("longest: {0}", name),
            ]);
        } else {
            tip.show(it.over.x, it.over.y, name, [duration(end - begin), say("begins at {0}", moment(begin, perPixel()))]);
        }
    }

    /** @param {Pane} pane @param {import("./layout.js").Line} line */
    function lineTexts(pane, line) {
        if (line.kind === "curve") {
            return curveTexts(pane, line);
        }
        const texts = line.kind === "track" ? [told(pane.timeline.groups[line.group].name)] : [];
        const left_out = line.kind === "track" ? pane.tracks[line.track].left_out : 0;
        if (left_out > 0) {
            texts.push(say("{0} events could not be nested and are left out", format.value(left_out, "count")));
        }
        if (line.folds) {
            texts.push(line.folded ? say("Click to open") : say("Click to close"));
        }
        if (pane.arranges) {
            texts.push(say("Right click: pin, hide, move"));
        }
        return texts;
    }

    /** The value of a curve among the rows at the pointer, and its extremes. @param {Pane} pane
     *  @param {import("./layout.js").Line} line */
    function curveTexts(pane, line) {
        const lane = pane.laneOf(line);
        const unit = /** @type {import("../types").Unit} */ (lane.unit);
        const points = pane.source.curve(line.curve, view.begin, view.end, perPixel());
        const value = points === null || it.over === null || it.over.x < it.parts.gutter ? null : valueAt(points, lane.steps, timeAt(it.over.x));
        return [
            told(pane.timeline.groups[line.group].name),
            ...(value === null ? [] : [say("{0} here", format.value(value, unit))]),
            say("{0} to {1}", format.value(lane.least, unit), format.value(lane.most, unit)),
        ];
    }

    return { edgeAt, eventAt, hover };
}
