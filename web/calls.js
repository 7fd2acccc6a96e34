// Collectives on all their ranks: the events of each, the waiting time of each rank, and the last rank. A document has
// them for pages from a file and from a server alike.

import { firstFrom } from "./blocks.js";

/** @typedef {import("./types").Calls} Calls */

/** Numbers of calls by a key, each list in their order. @param {Uint32Array} keys */
function listsBy(keys) {
    /** @type {Map<number, number[]>} */
    const lists = new Map();
    keys.forEach((key, call) => {
        const list = lists.get(key);
        if (list === undefined) lists.set(key, [call]);
        else list.push(call);
    });
    return lists;
}

/** @param {import("./document.js").Columns["calls"]} columns */
export function makeCalls(columns) {
    /** @type {{ rows: Map<number, { begin: Float64Array, call: number[] }>, numbers: Map<number, number[]> } | null} */
    let sorted = null;

    /** Made on first use. */
    function sort() {
        const rows = new Map();
        for (const [row, calls] of listsBy(columns.row)) {
            calls.sort((a, b) => columns.begin[a] - columns.begin[b]);
            rows.set(row, { begin: Float64Array.from(calls, (call) => columns.begin[call]), call: calls });
        }
        return { rows, numbers: listsBy(columns.number) };
    }

    return {
        /**
         * The calls of the collective with this start in a row, by row; null where there is none.
         * @param {number} row @param {number} begin @returns {Calls | null}
         */
        at(row, begin) {
            sorted ??= sort();
            const of_row = sorted.rows.get(row);
            const at = of_row === undefined ? -1 : firstFrom(of_row.begin, begin);
            if (of_row === undefined || at >= of_row.begin.length || of_row.begin[at] !== begin) return null;
            const number = columns.number[of_row.call[at]];
            const calls = (sorted.numbers.get(number) ?? []).map((call) => ({
                row: columns.row[call],
                begin: columns.begin[call],
                wait: Number.isNaN(columns.wait[call]) ? null : columns.wait[call],
                last: columns.last[call] === 1,
                group: columns.group[call],
            }));
            const of = calls.reduce((most, call) => Math.max(most, call.group), 0);
            return { of, calls: calls.sort((a, b) => a.row - b.row).map(({ group, ...call }) => call) };
        },
    };
}
