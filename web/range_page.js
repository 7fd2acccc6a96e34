// A separate page of the shown part of the timeline: the events of a stretch with their arrows, curves and arguments,
// as a document for a copy of this page. Its script and style are those that run here, so the hash that allows the
// script is valid for the copy; texts of traces are only in the document, where no letter of theirs can end it.

import { noArrows } from "./arrow_list.js";
import { rangeRows } from "./rows.js";
import { language, say } from "./texts.js";

/** @typedef {import("./types").Source} Source */
/** @typedef {import("./types").Timeline} Timeline */
/** @typedef {{ row: number, begin: number, end: number, name: string, index: number }} Event */

const most_events = 65536; // the longest: as many as a server returns in one answer
const most_details = 2000; // events with requested arguments
const at_once = 16; // of them
const most_arrows = 65536;
const arrow_tries = 20;
const arrow_wait_ms = 100;
const curve_columns = 4096; // of the stretch

/** Doubles with their bytes transposed, as documents have them. @param {number[]} values */
export function transposed(values) {
    const bytes = new Uint8Array(Float64Array.from(values).buffer);
    const out = new Uint8Array(bytes.length);
    for (let i = 0; i < values.length; i++) for (let k = 0; k < 8; k++) out[k * values.length + i] = bytes[8 * i + k];
    return out;
}

/** @param {number[]} values */
const numbers = (values) => new Uint8Array(Uint32Array.from(values).buffer);

/** zlib's format as base64. @param {Uint8Array[]} parts */
async function packed(parts) {
    const stream = new Blob(/** @type {BlobPart[]} */ (parts)).stream().pipeThrough(new CompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
}

/** Names by number, each with its type. */
function makeNames() {
    /** @type {Map<string, number>} */
    const known = new Map();
    /** @type {{ text: string[], type: number[] }} */
    const names = { text: [], type: [] };
    return {
        names,
        /** @param {string} text @param {number} type */
        number(text, type) {
            const key = `${type} ${text}`;
            const found = known.get(key) ?? names.text.length;
            if (found === names.text.length) {
                known.set(key, found);
                names.text.push(text);
                names.type.push(type);
            }
            return found;
        },
    };
}

/** Groups and tracks with an event, and the new numbers of their rows. @param {Timeline} timeline @param {Set<number>} rows */
export function keptRows(timeline, rows) {
    /** @type {Map<number, number>} */
    const row_of = new Map();
    /** @type {Map<number, number>} */
    const group_of = new Map();
    let row = 0;
    /** @type {Timeline["groups"]} */
    const groups = [];
    timeline.groups.forEach((group, number) => {
        const tracks = group.tracks.filter((track) => {
            const first = row;
            row += track.n_rows;
            const all = Array.from({ length: track.n_rows }, (_, at) => first + at);
            if (!all.some((one) => rows.has(one))) return false;
            for (const one of all) row_of.set(one, row_of.size);
            return true;
        });
        if (tracks.length === 0) return;
        group_of.set(number, groups.length);
        groups.push({ ...group, tracks });
    });
    return { groups, row_of, group_of };
}

/** The curves of the selected groups, as points of the stretch. @param {Source} source @param {Map<number, number>} group_of
 *  @param {number} begin @param {number} end */
function curvesOf(source, group_of, begin, end) {
    const { timeline } = source;
    const counters = (timeline.counters ?? []).map((counter) => ({ name: counter.name, group: counter.group, unit: counter.unit, limit: null, steps: true }));
    /** @type {number[]} */
    const time = [];
    /** @type {number[]} */
    const value = [];
    const curves = [...timeline.curves, ...counters].flatMap((curve, number) => {
        const group = group_of.get(curve.group);
        const points = group === undefined ? null : source.curve(number, begin, end, (end - begin) / curve_columns);
        if (group === undefined || points === null) return [];
        const before = time.length;
        for (let i = 0; i < points.n; i++) {
            const all = [points.most[i], points.least[i], points.last[i]];
            for (const one of all.filter((other, at) => at === 2 || other !== all[2])) {
                time.push(Math.max(begin, Math.min(end, points.time[i])));
                value.push(one);
            }
        }
        return [{ ...curve, group, n: time.length - before }];
    });
    return { curves, time, value };
}

/** Arrows of a stretch; a server's come after a moment. None when there are too many. @param {Source} source
 *  @param {number[]} rows @param {number} begin @param {number} end */
async function arrowsOf(source, rows, begin, end) {
    for (let tries = 0; tries < arrow_tries; tries++) {
        const found = source.arrows(rows, begin, end, most_arrows);
        if (found !== null) return found.all ? found : noArrows();
        await new Promise((resolve) => setTimeout(resolve, arrow_wait_ms));
    }
    return noArrows();
}

/** Lines of arguments of events, "" for none; null where there are too many to request. @param {Source} source @param {Event[]} events */
async function argumentsOf(source, events) {
    if (events.length > most_details) return null;
    /** @type {string[]} */
    const lines = [];
    for (let at = 0; at < events.length; at += at_once) {
        const details = await Promise.all(events.slice(at, at + at_once).map((event) => source.details(event)));
        lines.push(...details.map(({ args, text }) => (args !== null ? JSON.stringify(args) : text ? JSON.stringify({ text }) : "")));
    }
    return new TextEncoder().encode(lines.map((line) => `${line}\n`).join(""));
}

/**
 * The document of a source's data between two times, in the rows of the view.
 * @param {import("./types").Context & { source: Source }} context @param {number} begin @param {number} end @param {string} title
 * @returns {Promise<import("./types").Document>}
 */
export async function rangeDocument(context, begin, end, title) {
    const { source, run } = context;
    const { timeline } = source;
    const signal = new AbortController().signal;
    const rows = rangeRows(source, { ...context.state.view, range: null, area: null });
    const { all, events } = await source.events(rows, begin, end, most_events, signal);
    const totals = await source.sums(rows, begin, end, () => {}, signal);
    const types = new Map(totals.map(({ name, track, type }) => [`${track} ${name}`, type]));
    const { groups, row_of, group_of } = keptRows(timeline, new Set(events.map(({ row }) => row)));
    const sorted = [...events].sort((a, b) => a.row - b.row || a.begin - b.begin || a.index - b.index);
    const row_events = new Array(row_of.size).fill(0);
    for (const event of sorted) row_events[/** @type {number} */ (row_of.get(event.row))]++;
    const { names, number } = makeNames();
    const name = sorted.map((event) => number(event.name, types.get(`${source.row_track[event.row]} ${event.name}`) ?? 0));
    const found = await arrowsOf(source, rows, begin, end);
    const ends = found.name.map((_, i) => i).filter((i) => row_of.has(found.from_row[i]) && row_of.has(found.to_row[i]) &&
        Math.min(found.from_time[i], found.to_time[i]) <= end && Math.max(found.from_time[i], found.to_time[i]) >= begin);
    const arrows = makeNames();
    const arrow = ends.map((i) => arrows.number(found.name[i], 0));
    const column = (/** @type {"from_time" | "to_time"} */ key) => transposed(ends.map((i) => found[key][i]));
    const ofRows = (/** @type {"from_row" | "to_row"} */ key) => numbers(ends.map((i) => row_of.get(found[key][i]) ?? 0));
    const { curves, time, value } = curvesOf(source, group_of, begin, end);
    const args = await argumentsOf(source, sorted);
    const data = await packed([transposed(sorted.map((event) => event.begin)), transposed(sorted.map((event) => event.end - event.begin)),
        column("from_time"), column("to_time"), transposed(time), transposed(value), numbers(name), ofRows("from_row"), ofRows("to_row"), numbers(arrow)]);
    const inside = (/** @type {number} */ from, /** @type {number} */ to) => to > begin && from < end;
    const notes = [say("This page holds a stretch of a timeline, without the figures of its run.")];
    if (!all) notes.push(say("Of the events of the stretch only the longest {0} are here.", events.length));
    if (args === null) notes.push(say("Arguments of events are left out: a shorter stretch has them."));
    return {
        ...context.document, title, lang: language(), served: false,
        runs: [{
            name: run.name, kinds: ["index"], facts: [], notes, sections: [],
            timeline: {
                ...timeline, begin, end, groups, row_events, n_events: sorted.length, n_arrows: ends.length, n_held: 0, n_points: time.length, n_calls: 0,
                names, arrow_names: arrows.names.text,
                steps: timeline.steps.filter((step) => inside(step.begin, step.end) && (step.group < 0 || group_of.has(step.group)))
                    .map((step) => ({ ...step, group: group_of.get(step.group) ?? -1, begin: Math.max(begin, step.begin), end: Math.min(end, step.end) })),
                path: timeline.path.filter(([group, from, to]) => inside(from, to) && group_of.has(group))
                    .map(([group, from, to]) => [group_of.get(group) ?? 0, Math.max(begin, from), Math.min(end, to)]),
                curves, counters: [], held_names: { text: [], type: [] }, data, args: args === null ? null : await packed([args]),
            },
        }],
    };
}

/** A copy of this page with another document. @param {import("./types").Document} doc */
export function pageWith(doc) {
    const policy = document.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "default-src 'none'";
    const style = document.querySelector("head style")?.textContent ?? "";
    const script = document.querySelector("body > script:not([type])")?.textContent ?? "";
    const holder = /** @type {Element} */ (document.getElementById("document")).cloneNode(false);
    const texts = [...document.querySelectorAll("body > script[type='text/plain']")].map((one) => one.outerHTML).join("\n");
    holder.textContent = JSON.stringify(doc).replaceAll("<", "\\u003c");
    // In pieces: these words within the script must not end its own element.
    const close = "</" + "script>";
    return `<!doctype html>\n<html lang="${doc.lang}">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">\n<title>Evenkeel</title>\n<link rel="icon" href="data:,">\n<style>${style}</style>\n</head>
<body>\n<div id="page" aria-busy="true"><p class="starting">Reading the document …</p></div>
${/** @type {Element} */ (holder).outerHTML}\n${texts}\n<script>${script}${close}\n</body>\n</html>\n`;
}
