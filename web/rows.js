// The groups and tracks of a timeline's rows: rows are numbered through all groups and tracks, in order.

/** @typedef {import("./types").Timeline} Timeline */

/**
 * Of each row: the number of its track (through all groups), its group, its depth within the track.
 * @param {Timeline} timeline
 */
export function placeRows(timeline) {
    const n_rows = timeline.row_events.length;
    const row_track = new Uint32Array(n_rows);
    const row_group = new Uint32Array(n_rows);
    const row_depth = new Uint32Array(n_rows);
    let row = 0;
    let track = 0;
    timeline.groups.forEach((group, number) => {
        for (const { n_rows: depth } of group.tracks) {
            for (let i = 0; i < depth && row < n_rows; i++, row++) {
                row_track[row] = track;
                row_group[row] = number;
                row_depth[row] = i;
            }
            track++;
        }
    });
    return { row_track, row_group, row_depth };
}

/**
 * Tracks of all groups, by the numbers of row_track.
 * @param {Timeline} timeline
 */
export function allTracks(timeline) {
    return timeline.groups.flatMap((group, number) => group.tracks.map((track) => ({ ...track, group: number })));
}

/**
 * Does a filter accept a group and a track of it? Rank and stage are numbers or lists ("3", "0-7", "1,4"); a track is
 * accepted by a part of its name or by its class.
 * @param {import("./types").View["filter"]} filter
 * @param {{ rank: number, stage: number }} group
 * @param {{ name: string, class: string }} track
 */
export function passes(filter, group, track) {
    const wanted = filter.track.trim().toLowerCase();
    return (
        inList(filter.rank, group.rank) &&
        inList(filter.stage, group.stage) &&
        (wanted === "" || track.class === wanted || track.name.toLowerCase().includes(wanted))
    );
}

/**
 * Is a number in a list like "1,4-6"? An empty one contains everything; invalid text contains nothing.
 * @param {string} list
 * @param {number} number
 */
export function inList(list, number) {
    if (list.trim() === "") return true;
    return list.split(",").some((part) => {
        const [, first, last] = /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(part) ?? [];
        return first !== undefined && number >= Number(first) && number <= Number(last ?? first);
    });
}

/**
 * Rows that pass a filter, in order.
 * @param {import("./types").Source} source
 * @param {import("./types").View["filter"]} filter
 */
export function filteredRows(source, filter) {
    const tracks = allTracks(source.timeline);
    const shown = tracks.map((track) => passes(filter, source.timeline.groups[track.group], track));
    /** @type {number[]} */
    const rows = [];
    source.row_track.forEach((track, row) => {
        if (shown[track]) rows.push(row);
    });
    return rows;
}

/**
 * Rows of a range: those that pass the filter, of its tracks where it has some.
 * @param {import("./types").Source} source @param {import("./types").View} view
 */
export function rangeRows(source, view) {
    const hidden = new Set(view.hidden);
    const keys = source.timeline.groups.flatMap((group, at) => group.tracks.map((_, number) => [String(at), `${at}/${number}`]));
    const out = keys.map((of) => of.some((key) => hidden.has(key)));
    const rows = filteredRows(source, view.filter).filter((row) => !out[source.row_track[row]]);
    if (view.area === null) return rows;
    const tracks = new Set(view.area);
    return rows.filter((row) => tracks.has(source.row_track[row]));
}

/**
 * The numbers of a list as asList() writes it, ascending and below `limit`; null where it is invalid.
 * @param {string} text @param {number} limit
 */
export function fromList(text, limit) {
    /** @type {Set<number>} */
    const numbers = new Set();
    for (const part of text.split(",")) {
        const [, first, last] = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part) ?? [];
        if (first === undefined || Number(last ?? first) >= limit) return null;
        for (let number = Number(first); number <= Number(last ?? first); number++) numbers.add(number);
    }
    return numbers.size === 0 ? null : [...numbers].sort((a, b) => a - b);
}

/**
 * Rows in the form of the server's addresses: "0-3,7".
 * @param {number[]} numbers  ascending
 */
export function asList(numbers) {
    /** @type {string[]} */
    const parts = [];
    for (let i = 0; i < numbers.length; ) {
        let last = i;
        while (last + 1 < numbers.length && numbers[last + 1] === numbers[last] + 1) last++;
        parts.push(last === i ? String(numbers[i]) : `${numbers[i]}-${numbers[last]}`);
        i = last + 1;
    }
    return parts.join(",");
}
