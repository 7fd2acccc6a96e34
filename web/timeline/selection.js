// The selection: the event's own times and flows, fetched once per selection, and the steps from one event to the next.
// Answers that come after another event was selected are dropped.

import { neighbourRow } from "./layout.js";

/** @typedef {ReturnType<typeof import("./pane.js").newPane>} Pane */
/** @typedef {{pane: Pane, row: number, index: number, details: import("../types").Details}} Chosen */

/** @param {import("../types").EventPlace | null} a @param {import("../types").EventPlace | null} b */
function samePlace(a, b) {
    return a === b || (a !== null && b !== null && a.row === b.row && a.index === b.index);
}

/**
 * @param {{changed: (chosen: Chosen | null) => void}} told  called when the details came
 */
export function newSelection(told) {
    /** @type {Chosen | null} */
    let chosen = null;
    /** @type {{pane: Pane, place: import("../types").EventPlace} | null} */
    let wanted = null;

    return {
        get chosen() {
            return chosen;
        },
        get pane() {
            return wanted?.pane ?? null;
        },

        /** Follow the selection of a pane. @param {Pane} pane */
        follow(pane) {
            const place = pane.selected;
            if (wanted !== null && wanted.pane === pane && samePlace(wanted.place, place)) {
                return;
            }
            if (place === null) {
                if (wanted?.pane === pane) {
                    wanted = chosen = null;
                    told.changed(null);
                }
                return;
            }
            const asked = (wanted = { pane, place: { ...place } });
            chosen = null;
            pane.source.details(place).then(
                (details) => {
                    if (wanted === asked) {
                        chosen = { pane, ...asked.place, details };
                        told.changed(chosen);
                    }
                },
                () => {
                    if (wanted === asked) {
                        wanted = null;
                    }
                },
            );
        },

        /** The event before or after in its row. @param {number} by 1 or -1 */
        step(by) {
            if (wanted === null) {
                return;
            }
            const { pane, place } = wanted,
                index = place.index + by;
            if (index >= 0 && index < pane.timeline.row_events[place.row]) {
                pane.select({ row: place.row, index });
            }
        },

        /** The event in the next row that has one at the middle of the selected one. @param {number} by 1 or -1
         *  @param {Pane} pane */
        async turn(by, pane) {
            if (chosen === null || chosen.pane !== pane) {
                return;
            }
            const from = chosen,
                { details } = from,
                source = pane.source;
            const begin = Math.max(details.begin, pane.context.state.view.begin);
            const end = Math.min(details.end, pane.context.state.view.end);
            const time = begin < end ? (begin + end) / 2 : (details.begin + details.end) / 2;
            for (
                let row = neighbourRow(pane.layout, from.row, source.row_track[from.row], by);
                row >= 0;
                row = neighbourRow(pane.layout, row, source.row_track[row], by)
            ) {
                const index = await source.at(row, time);
                if (chosen !== from) {
                    return;
                }
                if (index !== null) {
                    pane.select({ row, index });
                    return;
                }
            }
        },
    };
}

/**
 * The box of a row at a time, or the nearest one within `slack`.
 * @param {import("../types").Boxes | null} boxes @param {number} time @param {number} slack
 * @returns {number} -1: none
 */
export function boxAt(boxes, time, slack) {
    if (boxes === null) {
        return -1;
    }
    let low = boxes.from,
        high = boxes.to;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (boxes.begin[middle] <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const before = low - 1,
        after = low;
    if (before >= boxes.from && boxes.end[before] >= time) {
        return before;
    }
    const far_before = before >= boxes.from ? time - boxes.end[before] : Infinity;
    const far_after = after < boxes.to ? boxes.begin[after] - time : Infinity;
    if (Math.min(far_before, far_after) > slack) {
        return -1;
    }
    return far_before <= far_after ? before : after;
}
