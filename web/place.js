// Leads from a row of a table or from a finding to its place in the timeline: the stretch of time, the event there, and
// its rank or stage. The event is searched when the link is used, by its name and start; without a name it is the event
// that runs at that time, computing before the host.

import { foldsOf } from "./reveal.js";
import { allTracks, passes } from "./rows.js";
import { defaultFolds, isHidden, layOut, withFolds } from "./timeline/layout.js";
import { say, told } from "./texts.js";

/** @typedef {import("./types").Context} Context */
/** @typedef {import("./types").Timeline} Timeline */
/** @typedef {{ group: number, begin: number | null, end: number | null, name: string | null }} Place */

const event_share = 1 / 8; // of the picture, for an event
const window_share = 1 / 1.3;
const moment_share = 1 / 100; // of the timeline, shown around a point in time
const most_looks = 64; // events of the same start or of a longer name, before the search ends without a result
const most_rows = 24; // events requested to find the one that runs at a time
/** Tracks in the order of the search. */
const classes = ["stage", "compute", "communication", "step", "scope", "overlap", "host", "runtime", "other"];

/** Distance of times that count as one. @param {Timeline} timeline */
const slack = (timeline) => (timeline.unit === "ns" ? 1 : (timeline.end - timeline.begin) * 1e-9);

/**
 * A place as the document writes it; null where this timeline has none.
 * @param {import("./types").RawPlace | null | undefined} raw @param {Timeline | null} timeline
 * @returns {Place | null}
 */
export function readPlace(raw, timeline) {
    if (!raw || timeline === null) return null;
    const [group, begin, end, name] = raw;
    if (!(group >= 0 && group < timeline.groups.length)) return null;
    const known = begin !== null && end !== null;
    return { group, begin: known ? begin : null, end: known ? Math.max(begin, end) : null, name };
}

/**
 * The stretch of time that shows a place: all of it for a rank, room on both sides of a window, and the surroundings of
 * an event.
 * @param {Place} place @param {Timeline} timeline
 */
export function stretchOf(place, timeline) {
    const whole = timeline.end - timeline.begin;
    if (place.begin === null || place.end === null || !(whole > 0)) return { begin: timeline.begin, end: timeline.end };
    const length = place.end - place.begin;
    const share = place.name === null ? window_share : event_share;
    const span = Math.min(whole, length > 0 ? Math.max(length / share, 10 * slack(timeline)) : whole * moment_share);
    const middle = place.begin + length / 2;
    const begin = Math.max(timeline.begin, Math.min(timeline.end - span, middle - span / 2));
    return { begin, end: begin + span };
}

/** The label of the link to a place. @param {Context} context @param {Place} place */
export function placeWords(context, place) {
    const timeline = /** @type {Timeline} */ (context.run.timeline);
    const group = told(timeline.groups[place.group].name);
    if (place.begin === null) return group;
    const resolution = Math.max(slack(timeline), ((place.end ?? place.begin) - place.begin) / 100);
    return say("{0}, at {1}", group, context.format.time(place.begin - timeline.begin, timeline.unit, resolution));
}

/** Rows of a group, the most informative ones first. @param {import("./types").Source} source @param {number} group */
function rowsOf(source, group) {
    const tracks = allTracks(source.timeline);
    /** @type {number[]} */
    const rows = [];
    source.row_group.forEach((of, row) => {
        if (of === group && source.timeline.row_events[row] > 0) rows.push(row);
    });
    const order = (/** @type {number} */ row) => {
        const at = classes.indexOf(tracks[source.row_track[row]].class);
        return at < 0 ? classes.length : at;
    };
    return { ascending: [...rows], ordered: rows.sort((a, b) => order(a) - order(b) || a - b) };
}

/**
 * The event of a place; null where there is none.
 * @param {import("./types").Source} source @param {Place} place
 * @returns {Promise<import("./types").EventPlace | null>}
 */
export async function eventOf(source, place) {
    const { begin, name } = place;
    const near = slack(source.timeline);
    const rows = rowsOf(source, place.group);
    /** @type {import("./types").EventPlace | null} */
    let similar = null; // whose name only contains the requested one
    let from = { time: begin === null ? -Infinity : begin - 2 * near, row: 0, index: 0 };
    for (let looks = 0; name !== null && name !== "" && looks < most_looks; looks++) {
        const hit = await source.find(name, rows.ascending, true, from);
        if (hit === null || (begin !== null && hit.begin > begin + near)) break;
        const here = { row: hit.row, index: hit.index };
        if (begin === null || hit.begin >= begin - near) {
            if (hit.name === name) return here;
            similar ??= here;
        }
        from = { time: hit.begin, ...here };
    }
    if (similar !== null || begin === null) return similar;
    for (const row of rows.ordered.slice(0, most_rows)) {
        const index = await source.at(row, begin);
        if (index !== null) return { row, index };
    }
    return null;
}

/**
 * The scroll position that puts a group at the top. Where rows are higher than their minimum, all of them are in sight,
 * and nothing scrolls.
 * @param {Timeline} timeline @param {number} group
 * @param {import("./types").View} view
 */
function topOf(timeline, group, { folded, filter, pinned, order, hidden }) {
    const shows = (/** @type {number} */ at, /** @type {number} */ track) =>
        passes(filter, timeline.groups[at], timeline.groups[at].tracks[track]) && (at === group || !isHidden(hidden, at, track));
    const { lines, pinned_height } = layOut(timeline, { folded, defaults: defaultFolds(timeline), height: 0, pinned, order, shows });
    const line = lines.find((one) => one.group === group && !one.pinned);
    return line === undefined ? 0 : line.y - pinned_height;
}

/**
 * Go to a place: the timeline opens at its time, with its rank in sight and its event selected. A stretch without an
 * event of its own becomes the range, so that its sums are shown.
 * @param {Context} context @param {Place} place
 */
export async function showPlace(context, place) {
    const { state, source } = context;
    const timeline = /** @type {Timeline} */ (context.run.timeline);
    const { view } = state;
    const group = timeline.groups[place.group];
    const hidden = !group.tracks.some((track) => passes(view.filter, group, track));
    const defaults = defaultFolds(timeline);
    const run = view.run;
    const window = place.begin !== null && place.end !== null && place.end > place.begin && place.name === null;
    const filter = hidden ? { rank: "", stage: "", track: "", name: "" } : view.filter;
    const folded = withFolds(view.folded, defaults, [String(place.group)], false);
    state.set({
        tab: "timeline",
        ...stretchOf(place, timeline),
        hidden: view.hidden.filter((key) => key !== String(place.group)),
        top: topOf(timeline, place.group, { ...view, folded, filter }),
        range: window ? [/** @type {number} */ (place.begin), /** @type {number} */ (place.end)] : null,
        area: null,
        pointer: place.begin,
        selected: null,
        filter,
        folded,
    });
    if (source === null) return;
    const event = await eventOf(source, place);
    if (event === null || view.run !== run || view.tab !== "timeline") return;
    const track = allTracks(timeline)[source.row_track[event.row]];
    // The place of a name without a time is found by its event.
    const { begin, end } = place.begin === null && place.name !== null ? await source.details(event) : { begin: null, end: null };
    const keys = foldsOf(source, event.row);
    state.set({
        hidden: view.hidden.filter((key) => !keys.includes(key)),
        ...(begin === null ? {} : stretchOf({ ...place, begin, end }, timeline)),
        filter: passes(view.filter, group, track) ? view.filter : { ...view.filter, track: "" },
        folded: withFolds(view.folded, defaults, keys, false),
        selected: event,
    });
}
