// The results of a search: the number of matching events, and the matches one after the other.

/** @typedef {import("./types").Source} Source */
/** @typedef {import("./types").EventSeen} EventSeen */

const most_totals = 65536; // limit of a server: beyond, the count is a lower bound

/**
 * Number of events of some rows with a text in their names.
 * @param {Source} source @param {number[]} rows @param {string} text @param {AbortSignal} signal
 * @returns {Promise<{ n: number, all: boolean }>} all: it is not more
 */
export async function countMatches(source, rows, text, signal) {
    const { begin, end } = source.timeline;
    const wanted = text.toLowerCase();
    const totals = await source.sums(rows, begin - 1, end + 1, () => {}, signal);
    const n = totals.reduce((sum, total) => sum + (total.name.toLowerCase().includes(wanted) ? total.n : 0), 0);
    return { n, all: totals.length < most_totals };
}

/**
 * The next matches in order of time, at most `most`, after `after` (null: from the first on).
 * @param {Source} source @param {number[]} rows @param {string} text @param {EventSeen | null} after
 * @param {number} most @param {AbortSignal} signal
 */
export async function nextMatches(source, rows, text, after, most, signal) {
    /** @type {EventSeen[]} */
    const found = [];
    let from = after === null ? { time: -Infinity, row: 0, index: 0 } : { time: after.begin, row: after.row, index: after.index };
    while (found.length < most && !signal.aborted) {
        const hit = await source.find(text, rows, true, from);
        if (hit === null) break;
        found.push(hit);
        from = { time: hit.begin, row: hit.row, index: hit.index };
    }
    signal.throwIfAborted();
    return found;
}
