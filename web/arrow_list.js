// The arrows in a document: those of a stretch of time by their earlier end, in blocks that are skipped at once, and
// those of a row.

/** @typedef {import("./types").Timeline} Timeline */
/** @typedef {import("./document.js").Columns["arrows"]} Columns */
/** @typedef {import("./types").Arrows} Arrows */

/** Number of arrows skipped at once when all of them end before the shown stretch. */
const arrow_block = 64;

/** @returns {Arrows} */
export const noArrows = () => ({ all: true, from_row: [], from_time: [], to_row: [], to_time: [], name: [] });

/** Arrows in order of their earlier time, with the latest time of each block. @param {Columns} arrows */
function sortArrows(arrows) {
    const n = arrows.from_time.length;
    const early = Float64Array.from(arrows.from_time, (time, i) => Math.min(time, arrows.to_time[i]));
    const late = Float64Array.from(arrows.from_time, (time, i) => Math.max(time, arrows.to_time[i]));
    const order = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => early[a] - early[b] || a - b);
    const latest = new Float64Array(Math.ceil(n / arrow_block)).fill(-Infinity);
    order.forEach((arrow, i) => {
        const block = Math.floor(i / arrow_block);
        latest[block] = Math.max(latest[block], late[arrow]);
    });
    return { early: early.map((_, i) => early[order[i]]), late, order, latest };
}

/** Numbers of arrows by a row at one of their ends. @param {Uint32Array} rows @param {number} n_rows */
function byRow(rows, n_rows) {
    /** @type {number[][]} */
    const lists = Array.from({ length: n_rows }, () => []);
    rows.forEach((row, arrow) => lists[row]?.push(arrow));
    return lists;
}

/**
 * @param {Timeline} timeline
 * @param {Columns} arrows
 */
export function makeArrowList(timeline, arrows) {
    const n_rows = timeline.row_events.length;
    const sorted = sortArrows(arrows);
    /** @type {{ from: number[][], to: number[][] } | null} */
    let of_row = null;

    const nameOf = (/** @type {number} */ arrow) => timeline.arrow_names[arrows.name[arrow]] ?? "";

    return {
        n: arrows.from_time.length,

        /**
         * Those of a row that leave it or come to it: the times of both ends, and the row of the other one.
         * @param {number} row @param {boolean} outgoing
         */
        at(row, outgoing) {
            of_row ??= { from: byRow(arrows.from_row, n_rows), to: byRow(arrows.to_row, n_rows) };
            const [here, there, there_row] = outgoing
                ? [arrows.from_time, arrows.to_time, arrows.to_row]
                : [arrows.to_time, arrows.from_time, arrows.from_row];
            return (outgoing ? of_row.from : of_row.to)[row].map((arrow) =>
                ({ here: here[arrow], there: there[arrow], row: there_row[arrow], name: nameOf(arrow) }));
        },

        /**
         * Add those between two times with an end in one of the rows; `out.all` is false when `limit` left some out.
         * @param {Arrows} out @param {number[]} wanted @param {number} begin @param {number} end @param {number} limit
         */
        addTo(out, wanted, begin, end, limit) {
            const shown = new Uint8Array(n_rows);
            for (const row of wanted) shown[row] = 1;
            for (let i = 0; i < sorted.early.length && sorted.early[i] <= end; i++) {
                if (i % arrow_block === 0 && sorted.latest[i / arrow_block] < begin) {
                    i += arrow_block - 1;
                    continue;
                }
                const arrow = sorted.order[i];
                if (sorted.late[arrow] < begin || !(shown[arrows.from_row[arrow]] || shown[arrows.to_row[arrow]])) continue;
                if (out.name.length >= limit) {
                    out.all = false;
                    return out;
                }
                out.from_row.push(arrows.from_row[arrow]);
                out.from_time.push(arrows.from_time[arrow]);
                out.to_row.push(arrows.to_row[arrow]);
                out.to_time.push(arrows.to_time[arrow]);
                out.name.push(nameOf(arrow));
            }
            return out;
        },
    };
}
