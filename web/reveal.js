// Moves the shown stretch so that a place can be seen: no further and no closer than needed.

import { allTracks, passes } from "./rows.js";
import { defaultFolds, withFolds } from "./timeline/layout.js";

/** @typedef {import("./types").State} State */

const least_share = 1 / 400; // of the picture, below which an event is too narrow to be visible
const good_share = 1 / 20; // its room then
const most_share = 0.8;

/**
 * The stretch in which an event is visible: the current one where it is.
 * @param {{ begin: number, end: number }} shown
 * @param {{ begin: number, end: number }} event
 * @param {{ begin: number, end: number }} whole
 * @param {number} least  shortest stretch
 */
export function stretchFor(shown, event, whole, least) {
    const duration = event.end - event.begin;
    let span = shown.end - shown.begin;
    if (duration > most_share * span) span = Math.min(duration / most_share, Math.max(span, whole.end - whole.begin));
    else if (duration < least_share * span) span = Math.max(duration / good_share, least);
    const inside = event.begin >= shown.begin && event.end <= shown.end;
    if (inside && span >= shown.end - shown.begin) return { begin: shown.begin, end: shown.end };
    // In the middle, but not beyond the data.
    const middle = (event.begin + event.end) / 2;
    const begin = Math.max(whole.begin, Math.min(middle - span / 2, whole.end - span));
    return { begin, end: begin + span };
}

/**
 * Keys of a row's group and track, as listed in folds.
 * @param {import("./types").Source} source @param {number} row
 */
export function foldsOf(source, row) {
    const group = source.row_group[row];
    const before = source.timeline.groups.slice(0, group).reduce((sum, { tracks }) => sum + tracks.length, 0);
    return [String(group), `${group}/${source.row_track[row] - before}`];
}

/**
 * Show an event, and select it. A filter that hides its row is cleared, and its folded track is opened; the timeline
 * scrolls to the selected event.
 * @param {State} state
 * @param {import("./types").Source} source
 * @param {{ row: number, index: number, begin: number, end: number }} event
 */
export function reveal(state, source, event) {
    const { timeline, row_track } = source;
    const track = allTracks(timeline)[row_track[event.row]];
    const hidden = !passes(state.view.filter, timeline.groups[track.group], track);
    const filter = hidden ? { ...state.view.filter, rank: "", stage: "", track: "" } : state.view.filter;
    const { begin, end } = state.view;
    const least = Math.min(end - begin, timeline.unit === "ns" ? 1000 : (timeline.end - timeline.begin) / 1e4);
    const stretch = stretchFor({ begin, end }, event, timeline, least);
    const folded = withFolds(state.view.folded, defaultFolds(timeline), foldsOf(source, event.row), false);
    const keys = foldsOf(source, event.row);
    const shown = state.view.hidden.filter((key) => !keys.includes(key));
    state.set({ ...stretch, filter, folded, hidden: shown, selected: { row: event.row, index: event.index } });
}

/**
 * Show a point in time.
 * @param {State} state
 * @param {number} time
 */
export function revealTime(state, time) {
    const { begin, end } = state.view;
    const half = (end - begin) / 2;
    const inside = time >= begin && time <= end;
    state.set(inside ? { pointer: time } : { begin: time - half, end: time + half, pointer: time });
}
