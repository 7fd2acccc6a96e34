// The appearance of boxes: the colour of each name, dimmed where the filter or the search leaves it out, and whether it
// is marked. Both are needed for every box of every frame and are therefore stored by name, in flat arrays that grow; a
// name that is still loading is looked up again.

import { DIM, MARKED, mix } from "./raster.js";

const KNOWN = 128;
const DIMMED = 0.35;
const MOST_NAMES = 1 << 22; // stored; others are computed every time

/**
 * @typedef {object} Look
 * @property {(type: number, name: number) => number} color
 * @property {(name: number) => number} flags
 * @property {number} mark
 */

/** At least twice as long, with the old content. @template {Uint32Array | Uint8Array} T @param {T} array
 *  @param {number} n @returns {T} */
function grown(array, n) {
    const next = new /** @type {any} */ (array.constructor)(Math.min(MOST_NAMES, Math.max(n + 1, array.length * 2)));
    next.set(array);
    return next;
}

/**
 * @param {{name: (name: number) => string, pixel: (type: number, name: number) => number, ground: number, mark: number,
 *          query: string, only: string}} from  query: the searched text; only: the text that names must contain not to
 *          be dimmed
 * @returns {Look}
 */
export function newLook(from) {
    const query = from.query.toLowerCase(),
        only = from.only.toLowerCase();
    let colors = new Uint32Array(1024),
        types = new Uint8Array(1024),
        flags_of = new Uint8Array(1024);

    function flags(name) {
        if (query === "" && only === "") {
            return 0;
        }
        if (name < flags_of.length && flags_of[name] !== 0) {
            return flags_of[name] & ~KNOWN;
        }
        const text = from.name(name).toLowerCase();
        const hit = query !== "" && text.includes(query);
        const out = (only !== "" && !text.includes(only)) || (query !== "" && !hit);
        const found = (hit ? MARKED : 0) | (out ? DIM : 0);
        if (text !== "" && name < MOST_NAMES) {
            flags_of = name < flags_of.length ? flags_of : grown(flags_of, name);
            flags_of[name] = found | KNOWN;
        }
        return found;
    }

    function color(type, name) {
        if (name < colors.length && colors[name] !== 0 && types[name] === type) {
            return colors[name];
        }
        const full = from.pixel(type, name);
        const shown = (flags(name) & DIM) !== 0 ? mix(full, from.ground, DIMMED) : full;
        const settled = from.name(name) !== ""; // its shade follows from the text
        if (settled && name < MOST_NAMES) {
            if (name >= colors.length) {
                colors = grown(colors, name);
                types = grown(types, name);
            }
            colors[name] = shown;
            types[name] = type;
        }
        return shown;
    }

    return { color, flags, mark: from.mark };
}
