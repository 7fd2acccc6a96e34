// Sums over 64 and over 4096 events of a row, so that a picture of hundreds of thousands of events reads a few per
// pixel: the filled time, and the longest event. Time is cut into cells as wide as a pixel. An event at least as long
// as a cell is a box of its own; shorter ones that begin in one cell and follow each other share a box. So boxes do not
// depend on the start of a picture, and a block within one cell is one box.

const small = 6; // 64 events
const large = 12; // 4096

/**
 * The events of one row, in columns of the whole timeline.
 * @typedef {object} Row
 * @property {Float64Array} begin
 * @property {Float64Array} end
 * @property {Uint32Array} name
 * @property {Uint8Array} type_of  by name
 * @property {Level[]} levels      the coarsest first
 *
 * @typedef {object} Level
 * @property {number} shift
 * @property {Float64Array} busy
 * @property {Uint32Array} longest
 *
 * @typedef {object} Room  a growing list of boxes, reused between pictures
 * @property {number} n
 * @property {Float64Array} begin
 * @property {Float64Array} end
 * @property {Float64Array} busy
 * @property {Uint32Array} name
 * @property {Uint32Array} count
 * @property {Uint32Array} index
 * @property {Uint8Array} type
 */

/** @param {Float64Array} begin @param {Float64Array} end @param {number} shift @returns {Level} */
function level(begin, end, shift) {
    const n = (begin.length + (1 << shift) - 1) >> shift;
    const busy = new Float64Array(n);
    const longest = new Uint32Array(n);
    for (let i = 0; i < begin.length; i++) {
        const block = i >> shift;
        const duration = end[i] - begin[i];
        if (i === block << shift || duration > end[longest[block]] - begin[longest[block]]) longest[block] = i;
        busy[block] += duration;
    }
    return { shift, busy, longest };
}

/**
 * @param {Float64Array} begin  ascending
 * @param {Float64Array} end
 * @param {Uint32Array} name
 * @param {Uint8Array} type_of
 * @returns {Row}
 */
export function makeRow(begin, end, name, type_of) {
    return { begin, end, name, type_of, levels: [level(begin, end, large), level(begin, end, small)] };
}

/** @returns {Room} */
export function makeRoom() {
    return grow(null, 256);
}

/** @param {Room | null} old @param {number} capacity @returns {Room} */
function grow(old, capacity) {
    const room = {
        n: 0,
        begin: new Float64Array(capacity),
        end: new Float64Array(capacity),
        busy: new Float64Array(capacity),
        name: new Uint32Array(capacity),
        count: new Uint32Array(capacity),
        index: new Uint32Array(capacity),
        type: new Uint8Array(capacity),
    };
    if (old === null) return room;
    room.n = old.n;
    room.begin.set(old.begin);
    room.end.set(old.end);
    room.busy.set(old.busy);
    room.name.set(old.name);
    room.count.set(old.count);
    room.index.set(old.index);
    room.type.set(old.type);
    return room;
}

/** Index of the first event that ends after a time. Events do not overlap, so ends ascend as begins do.
 * @param {Float64Array} end @param {number} time */
export function firstAfter(end, time) {
    let [low, high] = [0, end.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (end[middle] > time) high = middle;
        else low = middle + 1;
    }
    return low;
}

/** Index of the first event that begins at a time or later. @param {Float64Array} begin @param {number} time */
export function firstFrom(begin, time) {
    let [low, high] = [0, begin.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (begin[middle] >= time) high = middle;
        else low = middle + 1;
    }
    return low;
}

/**
 * The events first .. last - 1 of a row as boxes. O(cells) reads of at most 64 events each.
 * @param {Row} row
 * @param {number} first
 * @param {number} last
 * @param {number} resolution  width of a cell, > 0
 * @param {Room} room  its content is replaced
 * @returns {Room}  the same, or a larger one
 */
export function fillRoom(row, first, last, resolution, room) {
    const { begin, end, name, type_of, levels } = row;
    room.n = 0;
    let cell = NaN; // of the current box
    let longest = 0;
    let i = first;
    while (i < last) {
        const here = Math.floor(begin[i] / resolution);
        // The largest block that begins here, is within the cell and has only short events; else the single event.
        let n = 1;
        let filled = end[i] - begin[i];
        let long = i;
        for (const { shift, busy, longest: longest_of } of levels) {
            const size = 1 << shift;
            if ((i & (size - 1)) !== 0 || i + size > last) continue;
            const most = longest_of[i >> shift];
            if (Math.floor(begin[i + size - 1] / resolution) !== here || end[most] - begin[most] >= resolution) continue;
            [n, filled, long] = [size, busy[i >> shift], most];
            break;
        }
        const alone = n === 1 && filled >= resolution;
        if (!alone && here === cell) {
            const box = room.n - 1;
            room.end[box] = end[i + n - 1];
            room.busy[box] += filled;
            room.count[box] += n;
            if (end[long] - begin[long] > end[longest] - begin[longest]) longest = long;
            room.name[box] = name[longest];
            room.type[box] = type_of[name[longest]];
        } else {
            if (room.n === room.begin.length) room = grow(room, 2 * room.n);
            const box = room.n++;
            room.begin[box] = begin[i];
            room.end[box] = end[i + n - 1];
            room.busy[box] = filled;
            room.count[box] = n;
            room.index[box] = i;
            room.name[box] = name[long];
            room.type[box] = type_of[name[long]];
            longest = long;
            cell = alone ? NaN : here;
        }
        i += n;
    }
    return room;
}
