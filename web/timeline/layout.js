// The positions of rows: groups with a header, tracks below them, depth rows inside a track, one after the other from 0
// down, in pixels of the page. A folded track is one line with its busiest adjacent rows, drawn thin; a folded group is
// only its header, which then shows the computing and communication of the group in one row. Positions are found by
// binary search; nothing is built per row, so tracks of thousands of rows cost nothing until they are scrolled to.

import { told } from "../texts.js";

const HEADER = 22; // of a group
export const GAP = 4; // below a track
const ROW = 18; // of a row, at least
const ROW_MOST = 44; // where there is room for more
const CURVE = 34; // of a curve among the tracks
const ON_DEVICE = new Set(["step", "overlap", "compute", "communication"]);
const FOLDED = 22; // of a folded track: all its rows
const FOLDED_ROWS = 10; // shown of it
const TALL = 32; // rows from which deep host tracks are folded by default
const MANY_TRACKS = 96; // from here on, groups after the first ones are folded
const OPEN_GROUPS = 4;
const MANY_GROUPS = 16; // with more ranks each is one row by default
const MOST_SUMMED = 8; // tracks of a class in the row of a folded group
const PINNED_SHARE = 0.5; // of the height, that pinned tracks may take
const DEEP = new Set(["host", "scope", "runtime", "other"]);
const FOR_STRIP = ["stage", "compute", "communication", "overlap", "step"]; // rows of a folded group, first found

/**
 * @typedef {object} Line
 * @property {"group" | "track" | "curve"} kind
 * @property {number} group
 * @property {number} track  through all groups; -1: a group's header, a curve
 * @property {number} curve  number of it; -1: none
 * @property {string} key  in view.folded
 * @property {string} name
 * @property {string} class
 * @property {number} y @property {number} height
 * @property {number} first_row @property {number} n_rows  shown in this line
 * @property {number} pitch  from row to row
 * @property {boolean} folds @property {boolean} folded
 * @property {boolean} indented
 * @property {boolean} pinned
 * @property {number[]} summary  rows that a folded group shows on top of each other, the last one on top
 */
/** @typedef {{lines: Line[], height: number, of_track: Int32Array, of_group: Int32Array, n_pinned: number,
 *  pinned_height: number}} Layout  the first n_pinned lines, which do not scroll */
/** @typedef {import("../types").Timeline} Timeline */

/** First row of each track, counted through all groups, and after them the number of rows. @param {Timeline} timeline
 *  */
export function firstRows(timeline) {
    const first = [0];
    for (const group of timeline.groups) {
        for (const track of group.tracks) {
            first.push(first[first.length - 1] + track.n_rows);
        }
    }
    return first;
}

/**
 * Keys of groups and tracks that are closed by default.
 * @param {Timeline} timeline @returns {Set<string>}
 */
export function defaultFolds(timeline) {
    const n_rows = timeline.groups.reduce(
        (sum, group) => sum + group.tracks.reduce((of, track) => of + track.n_rows, 0),
        0,
    );
    const n_tracks = timeline.groups.reduce((sum, group) => sum + group.tracks.length, 0);
    const folds = new Set();
    timeline.groups.forEach((group, at) => {
        const many = timeline.groups.length > MANY_GROUPS || (n_tracks > MANY_TRACKS && at >= OPEN_GROUPS);
        if (many && group.tracks.length > 1) {
            folds.add(String(at));
        }
        group.tracks.forEach((track, number) => {
            if (n_rows > TALL && track.n_rows > 2 && DEEP.has(track.class)) {
                folds.add(`${at}/${number}`);
            }
        });
    });
    return folds;
}

/**
 * Is it closed? The view lists the closed ones, and as "!key" those that are open although closed by default.
 * @param {string} key @param {string[]} folded @param {Set<string>} defaults
 */
export function isFolded(key, folded, defaults) {
    return folded.includes(key) || (defaults.has(key) && !folded.includes(`!${key}`));
}

/** view.folded with some keys closed or opened. @param {string[]} folded @param {Set<string>} defaults
 *  @param {string[]} keys @param {boolean} close */
export function withFolds(folded, defaults, keys, close) {
    const list = new Set(folded);
    for (const key of keys) {
        list.delete(key);
        list.delete(`!${key}`);
        if (close !== defaults.has(key)) {
            list.add(close ? key : `!${key}`);
        }
    }
    return [...list];
}

/** @param {Timeline["groups"][number]["tracks"]} tracks @param {number[]} shown numbers of tracks */
function stripTrack(tracks, shown) {
    for (const kind of FOR_STRIP) {
        const found = shown.find((number) => tracks[number].class === kind);
        if (found !== undefined) {
            return found;
        }
    }
    return shown[0];
}

/**
 * Rows that sum a group up: its communication, and over it its computing, so that only exposed communication is
 * visible; where it has neither, the row of its strip.
 * @param {Timeline["groups"][number]["tracks"]} tracks @param {number[]} shown numbers of tracks
 * @param {(number: number) => number} first  row of a track @param {number} strip
 */
function summaryRows(tracks, shown, first, strip) {
    const of = (kind) => shown.filter((number) => tracks[number].class === kind).slice(0, MOST_SUMMED).map(first);
    const rows = [...of("communication"), ...of("compute")];
    return rows.length > 0 ? rows : [strip];
}

/**
 * First of `shown` adjacent rows with the most events: deep stacks begin with rows that are one event long, which show
 * nothing when folded.
 * @param {number[]} row_events @param {number} first @param {number} n_rows @param {number} shown
 */
export function busiestRows(row_events, first, n_rows, shown) {
    let sum = 0;
    for (let row = first; row < first + shown; row++) {
        sum += row_events[row];
    }
    let best = first,
        most = sum;
    for (let row = first + 1; row + shown <= first + n_rows; row++) {
        sum += row_events[row + shown - 1] - row_events[row - 1];
        if (sum > most) {
            [best, most] = [row, sum];
        }
    }
    return best;
}

/**
 * Height of a row when all that pass the filter share `height` pixels.
 * @param {Timeline} timeline @param {number} height @param {(group: number, track: number) => boolean} shows
 */
function rowHeight(timeline, height, shows) {
    let n = 0;
    let between = 8;
    timeline.groups.forEach((group, at) => {
        const shown = group.tracks.filter((track, number) => track.n_rows > 0 && shows(at, number));
        between += (group.tracks.length > 1 && shown.length > 0 ? HEADER : 0) + GAP * shown.length;
        n += shown.reduce((sum, track) => sum + track.n_rows, 0);
    });
    return Math.max(ROW, Math.min(ROW_MOST, Math.floor((height - between) / Math.max(1, n))));
}

/** Is a track, or its group, among the keys that are hidden? @param {string[]} hidden @param {number} group
 *  @param {number} track  of the group */
export function isHidden(hidden, group, track) {
    return hidden.length > 0 && (hidden.includes(String(group)) || hidden.includes(`${group}/${track}`));
}

/** The numbers below n, those with keys in an order first, in that order. @param {number} n
 *  @param {(number: number) => string} keyOf @param {string[]} order */
function permuted(n, keyOf, order) {
    const numbers = Array.from({ length: n }, (_, number) => number);
    if (order.length === 0) {
        return numbers;
    }
    const place = new Map(order.map((key, at) => [key, at]));
    const at = (number) => place.get(keyOf(number)) ?? order.length + number;
    return numbers.sort((a, b) => at(a) - at(b));
}

/** Keys of the siblings of a line: of all groups, or of all tracks of its group, in their order.
 *  @param {Timeline} timeline @param {string} key @param {string[]} order */
function siblings(timeline, key, order) {
    const [group, track] = key.split("/");
    return track === undefined
        ? permuted(timeline.groups.length, String, order).map(String)
        : permuted(timeline.groups[Number(group)].tracks.length, (number) => `${group}/${number}`, order).map(
              (number) => `${group}/${number}`,
          );
}

/**
 * The order after a group or a track was moved beyond the next shown one.
 * @param {Timeline} timeline @param {string[]} order @param {string} key @param {number} by 1 or -1
 * @param {(key: string) => boolean} shows
 */
export function moved(timeline, order, key, by, shows) {
    const keys = siblings(timeline, key, order);
    const from = keys.indexOf(key);
    let to = from + by;
    while (to >= 0 && to < keys.length && !shows(keys[to])) {
        to += by;
    }
    if (from < 0 || to < 0 || to >= keys.length) {
        return order;
    }
    keys.splice(from, 1);
    keys.splice(to, 0, key);
    return [...order.filter((other) => !keys.includes(other)), ...keys];
}

/**
 * Positions of all shown parts.
 * @param {Timeline} timeline
 * @param {{folded: string[], defaults: Set<string>, height: number, pinned?: string[], order?: string[], shows: (group:
 *          number, track: number) => boolean, shows_curve?: (group: number, key: string, name: string) => boolean}}
 *          options  height: of the picture; shows: track of a group; order: keys of groups and tracks that are not in
 *          the timeline's order
 * @returns {Layout}
 */
export function layOut(timeline, options) {
    const first = firstRows(timeline);
    const row = rowHeight(timeline, options.height, options.shows);
    const { pinned = [], order = [] } = options;
    /** @type {Line[]} */
    const lines = [];
    const of_track = new Int32Array(first.length - 1).fill(-1);
    const of_group = new Int32Array(timeline.groups.length).fill(-1);
    const base_of = [0];
    for (const group of timeline.groups) {
        base_of.push(base_of[base_of.length - 1] + group.tracks.length);
    }
    let y = 0;
    const plain = timeline.groups.every((group) => group.tracks.length <= 1);
    const isShown = (at, number) =>
        timeline.groups[at]?.tracks[number]?.n_rows > 0 && options.shows(at, number) === true;

    /** @param {number} at @param {number} number @param {boolean} on_top */
    function addTrack(at, number, on_top) {
        const group = timeline.groups[at],
            track = group.tracks[number],
            base = base_of[at],
            key = `${at}/${number}`;
        const folded = track.n_rows > 1 && isFolded(key, options.folded, options.defaults);
        const n_rows = folded ? Math.min(track.n_rows, FOLDED_ROWS) : track.n_rows;
        const pitch = folded ? Math.max(2, Math.floor(FOLDED / n_rows)) : row;
        const height = folded ? FOLDED : Math.max(ROW, n_rows * pitch);
        if (on_top && options.height > 0 && y + height > PINNED_SHARE * options.height) {
            return;
        }
        of_track[base + number] = lines.length;
        lines.push({
            kind: "track",
            group: at,
            track: base + number,
            key,
            name: plain ? told(group.name) : on_top ? `${told(group.name)}: ${told(track.name.replace(/^.* \/ /s, ""))}` : told(track.name),
            class: track.class,
            y,
            height,
            first_row: busiestRows(timeline.row_events, first[base + number], track.n_rows, n_rows),
            n_rows,
            pitch,
            folds: track.n_rows > 1,
            folded,
            indented: !plain && !on_top,
            pinned: on_top,
            summary: [],
            curve: -1,
        });
        y += height + GAP;
    }

    /** Curves among a group's tracks. @param {number} at */
    function addCurves(at) {
        (timeline.curves ?? []).forEach((curve, number) => {
            const key = `${at}/c${number}`;
            if (!curve.track || curve.group !== at || options.height === 0 || !(options.shows_curve?.(at, key, curve.name) ?? true)) {
                return;
            }
            lines.push({ kind: "curve", group: at, track: -1, curve: number, key, name: told(curve.name), class: "curve", y, height: CURVE, first_row: 0,
                n_rows: 0, pitch: CURVE, folds: false, folded: false, indented: true, pinned: false, summary: [] });
            y += CURVE + GAP;
        });
    }

    for (const key of new Set(pinned)) {
        const [at, number] = key.split("/").map(Number);
        if (isShown(at, number)) {
            addTrack(at, number, true);
        }
    }
    const n_pinned = lines.length,
        pinned_height = y;
    for (const at of permuted(timeline.groups.length, String, order)) {
        const group = timeline.groups[at],
            base = base_of[at];
        const shown = permuted(group.tracks.length, (number) => `${at}/${number}`, order).filter(
            (number) => isShown(at, number) && of_track[base + number] < 0,
        );
        if (shown.length === 0) {
            continue;
        }
        const closed = !plain && isFolded(String(at), options.folded, options.defaults);
        of_group[at] = lines.length;
        if (!plain) {
            const strip = base + stripTrack(group.tracks, shown);
            lines.push({
                kind: "group",
                group: at,
                track: -1,
                key: String(at),
                name: told(group.name),
                class: "",
                y,
                height: HEADER,
                first_row: first[strip],
                n_rows: closed ? Math.min(1, first[strip + 1] - first[strip]) : 0,
                pitch: HEADER - 2,
                folds: true,
                folded: closed,
                indented: false,
                pinned: false,
                curve: -1,
                summary: closed ? summaryRows(group.tracks, shown, (number) => first[base + number], first[strip]) : [],
            });
            y += HEADER + (closed ? 1 : 2);
        }
        if (closed) {
            for (const number of shown) {
                of_track[base + number] = of_group[at];
            }
            continue;
        }
        const last = shown.findLastIndex((number) => ON_DEVICE.has(group.tracks[number].class));
        shown.forEach((number, place) => {
            addTrack(at, number, false);
            if (place === last) {
                addCurves(at);
            }
        });
        y += plain ? 0 : GAP;
    }
    // A group with all tracks pinned is placed where the first of them is.
    timeline.groups.forEach((group, at) => {
        const on_top = of_group[at] < 0 ? group.tracks.findIndex((_, number) => of_track[base_of[at] + number] >= 0) : -1;
        if (on_top >= 0) {
            of_group[at] = of_track[base_of[at] + on_top];
        }
    });
    return { lines, height: y, of_track, of_group, n_pinned, pinned_height };
}

/** Index of the last line that begins at or above y; -1 above all. O(log n). @param {Layout} layout @param {number} y
 *  */
export function lineAt(layout, y) {
    let low = 0,
        high = layout.lines.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (layout.lines[middle].y <= y) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - 1;
}

/** The line and row at y (-1: none). @param {Layout} layout @param {number} y */
export function rowAt(layout, y) {
    const at = lineAt(layout, y);
    if (at < 0 || y >= layout.lines[at].y + layout.lines[at].height) {
        return { line: -1, row: -1 };
    }
    const line = layout.lines[at],
        number = Math.floor((y - line.y) / line.pitch);
    return { line: at, row: number >= 0 && number < line.n_rows ? line.first_row + number : -1 };
}

/**
 * The place of a row, or of the line into which it is folded; null when that is hidden.
 * @param {Layout} layout @param {number} row @param {number} track  of the row
 * @returns {{y: number, height: number, exact: boolean} | null}
 */
export function placeOf(layout, row, track) {
    const at = layout.of_track[track];
    if (at === undefined || at < 0) {
        return null;
    }
    const line = layout.lines[at],
        number = row - line.first_row;
    if (number < 0 || number >= line.n_rows) {
        return { y: line.y, height: line.height, exact: false };
    }
    return { y: line.y + number * line.pitch, height: line.pitch, exact: true };
}

/** Rows in order of their place, those of folded groups left out: the one after or before `row`; -1: none.
 *  @param {Layout} layout @param {number} row @param {number} track @param {number} by 1 or -1 */
export function neighbourRow(layout, row, track, by) {
    let at = layout.of_track[track] ?? -1;
    if (at < 0) {
        return -1;
    }
    const line = layout.lines[at],
        next = row + by;
    if (next >= line.first_row && next < line.first_row + line.n_rows) {
        return next;
    }
    for (at += by; at >= 0 && at < layout.lines.length; at += by) {
        const other = layout.lines[at];
        if (other.n_rows > 0) {
            return by > 0 ? other.first_row : other.first_row + other.n_rows - 1;
        }
    }
    return -1;
}
