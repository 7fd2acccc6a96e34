// Events in the page itself: flat columns, a tree of sums a row (blocks.js), and binary searches in them. All data is
// available at once; only sums over a range pause for the page now and then.

import { makeArrowList, noArrows } from "./arrow_list.js";
import { fillRoom, firstAfter, firstFrom, makeRoom, makeRow } from "./blocks.js";
import { makeCalls } from "./calls.js";
import { lineReader, inflate, readColumns } from "./document.js";
import { makeFixed } from "./fixed.js";
import { allTracks, placeRows } from "./rows.js";

/** @typedef {import("./types").Timeline} Timeline */
/** @typedef {import("./types").Source} Source */
/** @typedef {import("./types").Details} Details */
/** @typedef {import("./document.js").Columns} Columns */

const turn_ms = 8; // of sums, before the page may draw
const events_per_look = 4096; // between checks of the clock
const most_flows = 256;
const most_listed = 1 << 20; // events from which a list of the longest is made

/** @param {string} text */
const lower = (text) => text.toLowerCase();

/** Lets the page draw. */
const giveWay = () => new Promise((resolve) => setTimeout(resolve, 0));

/**
 * The content of a line of details: an object's `args`, `layer` and `text` where it has them, else all of it is
 * arguments.
 * @param {string} line
 * @returns {Pick<Details, "args" | "text" | "layer">}
 */
export function readDetails(line) {
    if (line === "") return { args: null, text: null, layer: "" };
    let value;
    try {
        value = JSON.parse(line);
    } catch {
        return { args: null, text: line, layer: "" };
    }
    if (value === null || typeof value !== "object" || Array.isArray(value)) return { args: null, text: line, layer: "" };
    const layer = [value.layer, value.args?.layer].find((text) => typeof text === "string") ?? "";
    return { args: value, text: null, layer };
}

/**
 * A source over columns.
 * @param {Timeline} timeline
 * @param {Columns} columns
 * @param {(number: number) => Promise<string>} line  of an event's details, by the event's number
 * @returns {Source}
 */
export function makeEmbedded(timeline, columns, line) {
    const names = timeline.names ?? { text: [], type: [] };
    const type_of = Uint8Array.from(names.type);
    const places = placeRows(timeline);
    const n_rows = timeline.row_events.length;
    const end = columns.begin.map((begin, i) => begin + columns.duration[i]);
    const starts = new Uint32Array(n_rows + 1);
    timeline.row_events.forEach((n, row) => (starts[row + 1] = starts[row] + n));
    const rows = timeline.row_events.map((n, row) => {
        const cut = (/** @type {any} */ column) => column.subarray(starts[row], starts[row] + n);
        return makeRow(cut(columns.begin), cut(end), cut(columns.name), type_of);
    });
    const boxes_of = rows.map((row) => {
        const type = new Uint8Array(0);
        return { room: makeRoom(), every: null, type, first: -1, last: -1, resolution: 0, row };
    });
    /** @type {Map<number, Uint8Array>} types of a row's events, made when it is first drawn event by event */
    const types = new Map();
    const arrows = makeArrowList(timeline, columns.arrows);
    const calls = makeCalls(columns.calls);
    const fixed = makeFixed(timeline, columns);
    const tracks = allTracks(timeline);
    const ends_of_blocks = Array.from(places.row_track, (track) => tracks[track].class === "stage");
    const lower_names = names.text.map(lower);
    let searched = { text: "", matches: new Uint8Array(0), names: 0 };

    /** @param {number} row */
    function typesOf(row) {
        const known = types.get(row);
        if (known !== undefined) return known;
        const made = Uint8Array.from(rows[row].name, (name) => type_of[name]);
        types.set(row, made);
        return made;
    }

    /** @param {number} row @param {number} index @returns {import("./types").EventSeen} */
    function seen(row, index) {
        const { begin, end: ends, name } = rows[row];
        return { row, index, begin: begin[index], end: ends[index], name: names.text[name[index]] ?? "" };
    }

    /** The event of a row at a time, or one with its start or end there. @param {number} row @param {number} time */
    function indexAt(row, time) {
        if (row >= n_rows) return null;
        const { begin, end: ends } = rows[row];
        const i = firstAfter(ends, time);
        if (i < begin.length && begin[i] <= time) return i;
        return i > 0 && ends[i - 1] === time ? i - 1 : null;
    }

    /**
     * The event that an arrow leaves or reaches. In traces it is the one around that time. Blocks of a simulation
     * follow each other directly; there an arrow leaves at a block's end and reaches another's start, up to rounding.
     * @param {number} row @param {number} time @param {boolean} leaves
     */
    function arrowEnd(row, time, leaves) {
        if (row >= n_rows || !ends_of_blocks[row]) return indexAt(row, time);
        const near = 1e-9 * (timeline.end - timeline.begin);
        const { begin, end: ends } = rows[row];
        const i = leaves ? firstAfter(ends, time - near) : firstFrom(begin, time - near);
        const fits = i < begin.length && (leaves ? begin[i] < time - near : begin[i] <= time + near);
        return fits ? i : indexAt(row, time);
    }

    /** @param {number} row @param {number} index @returns {import("./types").Flow[]} */
    function flows(row, index) {
        /** @type {import("./types").Flow[]} */
        const found = [];
        for (const outgoing of [true, false]) {
            for (const arrow of arrows.at(row, outgoing)) {
                if (found.length >= most_flows) break;
                if (arrowEnd(row, arrow.here, outgoing) !== index) continue;
                const other = arrowEnd(arrow.row, arrow.there, !outgoing);
                const nothing = { row: -1, index: 0, begin: arrow.there, end: arrow.there, name: "" };
                const event = other === null ? nothing : seen(arrow.row, other);
                found.push({ ...event, outgoing, name: arrow.name, event: event.name });
            }
        }
        return found;
    }

    /** The names that contain a text, cached from the last call. @param {string} text */
    function matching(text) {
        if (searched.text !== text || searched.matches.length !== lower_names.length) {
            const wanted = lower(text);
            const matches = Uint8Array.from(lower_names, (name) => (name.includes(wanted) ? 1 : 0));
            searched = { text, matches, names: matches.reduce((sum, one) => sum + one, 0) };
        }
        return searched;
    }

    /** The first match of a row after a place; -1. @param {number} row @param {number} first @param {number} until */
    function nextMatch(row, first, until) {
        const { begin, name } = rows[row];
        for (let i = first; i < name.length && begin[i] <= until; i++) if (searched.matches[name[i]]) return i;
        return -1;
    }

    /** The last match of a row before a place; -1. @param {number} row @param {number} last @param {number} until */
    function previousMatch(row, last, until) {
        const { begin, name } = rows[row];
        for (let i = last; i >= 0 && begin[i] >= until; i--) if (searched.matches[name[i]]) return i;
        return -1;
    }

    /**
     * Index of the first event of a row after (time, row, index) in order of (begin, row, index).
     * @param {number} row @param {{ time: number, row: number, index: number }} from
     */
    function after(row, from) {
        const { begin } = rows[row];
        let i = firstFrom(begin, from.time);
        while (i < begin.length && begin[i] === from.time && (row < from.row || (row === from.row && i <= from.index))) i++;
        return i;
    }

    /** Index of the last event of a row before that place. @param {number} row @param {any} from */
    function before(row, from) {
        const { begin } = rows[row];
        let i = firstFrom(begin, from.time);
        while (i < begin.length && begin[i] === from.time && (row < from.row || (row === from.row && i < from.index))) i++;
        return i - 1;
    }

    return {
        timeline,
        ...places,
        changed: null,
        frame() {},

        boxes(row, begin, end_time, resolution) {
            const kept = boxes_of[row];
            const { begin: begins, end: ends, name } = kept.row;
            let first = firstAfter(ends, begin);
            let last = Math.max(first, firstFrom(begins, end_time));
            // Few events: each is its own box, and nothing is copied. (Those of zero length at the left edge are not seen.)
            if (last - first < 64) {
                const whole = { begin: begins, end: ends, name, type: typesOf(row), count: null, busy: null, index: null };
                return { from: first, to: last, ...whole };
            }
            // Whole cells, so that boxes at the edges stay the same while the picture moves.
            first = Math.min(first, firstFrom(begins, Math.floor(begin / resolution) * resolution));
            last = firstFrom(begins, Math.ceil(end_time / resolution) * resolution);
            if (kept.first !== first || kept.last !== last || kept.resolution !== resolution) {
                kept.room = fillRoom(kept.row, first, last, resolution, kept.room);
                Object.assign(kept, { first, last, resolution });
            }
            const { n, ...room } = kept.room;
            return { from: 0, to: n, ...room };
        },

        name: (name) => names.text[name] ?? "",

        async details(place) {
            const event = seen(place.row, place.index);
            const number = starts[place.row] + place.index;
            const { args, text, layer } = readDetails(await line(number));
            const type = type_of[columns.name[number]];
            const shared = { flows: flows(place.row, place.index), calls: calls.at(place.row, event.begin) };
            return { name: event.name, type, begin: event.begin, end: event.end, layer, args, text, ...shared };
        },

        at: async (row, time) => indexAt(row, time),

        async find(text, wanted, forward, from) {
            const { names: n_names } = matching(text);
            if (text === "" || n_names === 0) return null;
            let best = null;
            for (const row of wanted) {
                const { begin } = rows[row];
                const i = forward
                    ? nextMatch(row, after(row, from), best?.begin ?? Infinity)
                    : previousMatch(row, before(row, from), best?.begin ?? -Infinity);
                if (i < 0) continue;
                const ahead = best === null ? 1 : forward ? best.begin - begin[i] : begin[i] - best.begin;
                const tie = ahead === 0 && best !== null && (forward ? row < best.row : row > best.row);
                if (ahead > 0 || tie) best = seen(row, i);
            }
            return best === null ? null : { ...best, names: n_names };
        },

        async sums(wanted, begin, end_time, progress, signal) {
            const by_track = new Map();
            let turn = performance.now();
            for (let at = 0; at < wanted.length; at++) {
                const row = rows[wanted[at]];
                const track = places.row_track[wanted[at]];
                if (!by_track.has(track)) {
                    by_track.set(track, { n: new Uint32Array(type_of.length), total: new Float64Array(type_of.length) });
                }
                const { n, total } = by_track.get(track);
                const last = firstFrom(row.begin, end_time);
                // An event without duration counts where its start is within the stretch.
                const first = Math.min(firstAfter(row.end, begin), firstFrom(row.begin, begin));
                for (let i = first; i < last; i++) {
                    n[row.name[i]]++;
                    total[row.name[i]] += Math.min(row.end[i], end_time) - Math.max(row.begin[i], begin);
                    if (i % events_per_look === 0 && performance.now() - turn > turn_ms) {
                        progress(at / wanted.length);
                        await giveWay();
                        signal.throwIfAborted();
                        turn = performance.now();
                    }
                }
            }
            /** @type {import("./types").Total[]} */
            const totals = [];
            for (const [track, { n, total }] of by_track) {
                for (let name = 0; name < type_of.length; name++) {
                    if (n[name] > 0) totals.push({ name: names.text[name], type: type_of[name], track, n: n[name], total: total[name] });
                }
            }
            return totals;
        },

        async events(wanted, begin, end_time, limit, signal) {
            /** @type {{ row: number, index: number, length: number }[]} */
            let longest = [];
            let n = 0;
            const shorten = () => {
                longest.sort((a, b) => b.length - a.length || rows[a.row].begin[a.index] - rows[b.row].begin[b.index] || a.row - b.row);
                longest = longest.slice(0, limit);
            };
            let turn = performance.now();
            for (const at of wanted) {
                const { begin: begins, end: ends } = rows[at];
                const last = firstFrom(begins, end_time);
                for (let i = Math.min(firstAfter(ends, begin), firstFrom(begins, begin)); i < last && n < most_listed; i++, n++) {
                    longest.push({ row: at, index: i, length: ends[i] - begins[i] });
                    if (longest.length >= 4 * limit) shorten();
                    if (n % events_per_look === 0 && performance.now() - turn > turn_ms) {
                        await giveWay();
                        signal.throwIfAborted();
                        turn = performance.now();
                    }
                }
            }
            shorten();
            return { all: n <= limit && n < most_listed, events: longest.map(({ row, index }) => seen(row, index)) };
        },

        arrows: (wanted, begin, end_time, limit) => arrows.addTo(noArrows(), wanted, begin, end_time, limit),

        curve: (curve, begin, end_time, resolution) =>
            curve < fixed.n_curves ? fixed.curve(curve, begin, end_time, resolution) : null,
        held: fixed.held,
    };
}

/**
 * The source of a timeline with events in the document.
 * @param {Timeline} timeline
 */
export async function openEmbedded(timeline) {
    const columns = await readColumns(timeline);
    /** @type {Promise<(number: number) => string> | null} */
    let lines = null;
    return makeEmbedded(timeline, columns, async (number) => {
        const args = timeline.args;
        if (args === null) return "";
        lines ??= inflate(args).then(lineReader);
        return (await lines)(number);
    });
}
