// The view, shared by all parts of the page, and stored in the address after '#' so that it can be sent to someone.
// Only differences to the defaults are written, times as short as the zoom allows. An address is never trusted: values
// that do not fit the document are left at their defaults.

import { asList, fromList } from "./rows.js";
import { languages } from "./texts.js";

/** @typedef {import("./types").View} View */
/** @typedef {import("./types").Document} Document */

const themes = ["auto", "light", "dark"];
const least_write_ms = 300; // browsers limit changes of the address
const most_marks = 200;
/** Lists of keys of groups and tracks. @type {("folded" | "pinned" | "hidden" | "order")[]} */
const arranged = ["folded", "pinned", "hidden", "order"];
const most_keys = 4096; // of each
const most_letters = 500; // of a text in the address

/** The range of a run's timeline: all of it. @param {Document} doc @param {number} run */
function extent(doc, run) {
    const timeline = doc.runs[run].timeline;
    if (timeline === null || !(timeline.end > timeline.begin)) return { begin: 0, end: 1 };
    return { begin: timeline.begin, end: timeline.end };
}

/** The run that a run is compared with at first: the first other one, except layouts, which cannot be compared. @param {Document} doc @param {number} run */
function firstOther(doc, run) {
    const other = doc.runs.findIndex((one, i) => i !== run && !one.kinds?.includes("layout"));
    return other < 0 ? null : other;
}

/**
 * The view of a page that was just opened.
 * @param {Document} doc
 * @param {number} run
 * @returns {View}
 */
export function firstView(doc, run = 0) {
    return {
        run,
        tab: "",
        ...extent(doc, run),
        top: 0,
        selected: null,
        range: null,
        area: null,
        pointer: null,
        marks: [],
        query: "",
        filter: { rank: "", stage: "", track: "", name: "" },
        folded: [],
        pinned: [],
        hidden: [],
        order: [],
        compare: firstOther(doc, run),
        theme: "auto",
        lang: "",
        arrows: false,
    };
}

/** Enough digits to distinguish times a hundredth of a pixel apart. @param {number} value @param {number} span */
function short(value, span) {
    const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(span / 1e5))));
    return value === 0 ? "0" : value.toFixed(decimals).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

/**
 * @param {View} view
 * @param {Document} doc
 * @returns {string} without '#'
 */
export function encodeView(view, doc) {
    const first = firstView(doc, view.run);
    const span = view.end - view.begin;
    /** @type {[string, string][]} */
    const parts = [];
    const put = (/** @type {string} */ key, /** @type {string} */ value) => parts.push([key, value]);
    const time = (/** @type {number} */ value) => short(value, span);
    if (view.run !== 0) put("run", doc.runs[view.run].name);
    if (view.compare !== first.compare) put("compare", view.compare === null ? "" : doc.runs[view.compare].name);
    if (view.tab !== "") put("tab", view.tab);
    if (view.begin !== first.begin || view.end !== first.end) put("t", `${time(view.begin)}~${time(view.end)}`);
    if (view.top > 0) put("top", String(Math.round(view.top)));
    if (view.selected !== null) put("event", `${view.selected.row}.${view.selected.index}`);
    if (view.range !== null) put("range", view.range.map(time).join("~"));
    if (view.range !== null && view.area !== null) put("tracks", asList(view.area));
    if (view.pointer !== null) put("at", time(view.pointer));
    for (const mark of view.marks) put("mark", `${short(mark.time, (first.end - first.begin) / 1e4)}~${mark.name}`);
    if (view.query !== "") put("find", view.query);
    for (const [key, value] of Object.entries(view.filter)) if (value !== "") put(key, value);
    for (const key of arranged) if (view[key].length > 0) put(key, view[key].join(","));
    if (view.theme !== "auto") put("theme", view.theme);
    if (view.lang !== "") put("lang", view.lang);
    if (view.arrows) put("arrows", "1");
    return new URLSearchParams(parts).toString().replace(/%7E/g, "~").replace(/%2C/g, ",").replace(/%2F/g, "/");
}

/** A decimal number, else null. @param {string | null | undefined} text */
function number(text) {
    if (text === null || text === undefined || !/^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text)) return null;
    const value = Number(text);
    return Number.isFinite(value) ? value : null;
}

/** Two numbers, the first one the smaller; else null. @param {string | null} text @returns {[number, number] | null} */
function stretch(text) {
    const [begin, end, ...more] = (text ?? "").split("~").map(number);
    if (begin === null || begin === undefined || end === null || end === undefined || more.length > 0) return null;
    return begin < end ? [begin, end] : null;
}

/**
 * @param {string} text  with or without '#'
 * @param {Document} doc
 * @returns {View}
 */
export function decodeView(text, doc) {
    const given = new URLSearchParams(text.replace(/^#/, ""));
    const letters = (/** @type {string} */ key) => (given.get(key) ?? "").slice(0, most_letters);
    const runOf = (/** @type {string} */ key) => doc.runs.findIndex((run) => run.name === given.get(key));
    const view = firstView(doc, Math.max(0, runOf("run")));
    const timeline = doc.runs[view.run].timeline;
    const begin = view.begin - (view.end - view.begin);
    const end = view.end + (view.end - view.begin);

    if (given.get("compare") === "") view.compare = null;
    else if (runOf("compare") >= 0) view.compare = runOf("compare");
    view.tab = letters("tab");
    const shown = stretch(given.get("t"));
    if (shown !== null && shown[0] >= begin && shown[1] <= end) [view.begin, view.end] = shown;
    view.top = Math.max(0, number(given.get("top")) ?? 0);
    view.range = stretch(given.get("range"));
    const n_tracks = timeline === null ? 0 : timeline.groups.reduce((sum, { tracks }) => sum + tracks.length, 0);
    view.area = view.range === null ? null : fromList(given.get("tracks") ?? "", n_tracks);
    view.pointer = number(given.get("at"));
    const [, row, index] = /^(\d{1,9})\.(\d{1,10})$/.exec(given.get("event") ?? "") ?? [];
    if (row !== undefined && timeline !== null && Number(index) < (timeline.row_events[Number(row)] ?? 0)) {
        view.selected = { row: Number(row), index: Number(index) };
    }
    for (const mark of given.getAll("mark").slice(0, most_marks)) {
        const [, time, name] = /^([^~]*)~([^]*)$/.exec(mark) ?? [];
        const value = number(time);
        if (value !== null) view.marks.push({ time: value, name: name.slice(0, most_letters) });
    }
    view.query = letters("find");
    for (const key of /** @type {(keyof View["filter"])[]} */ (Object.keys(view.filter))) view.filter[key] = letters(key);
    for (const key of arranged) {
        const allowed = key === "folded" ? /^!?\d{1,6}(\/\d{1,6})?$/ : key === "pinned" ? /^\d{1,6}\/\d{1,6}$/ : /^\d{1,6}(\/\d{1,6})?$/;
        view[key] = (given.get(key) ?? "").split(",").filter((part) => allowed.test(part)).slice(0, most_keys);
    }
    if (themes.includes(given.get("theme") ?? "")) view.theme = /** @type {View["theme"]} */ (given.get("theme"));
    const lang = given.get("lang") ?? "";
    if (Object.hasOwn(languages, lang)) view.lang = lang;
    view.arrows = given.get("arrows") === "1";
    return view;
}

/** Are two members of a view the same? They are plain data. @param {unknown} a @param {unknown} b */
function same(a, b) {
    return Object.is(a, b) || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));
}

/**
 * The shared view of a page. A change of the view by a listener is reported after the others.
 * @param {Document} doc
 * @param {string} address  text after '#'
 * @param {(hash: string) => void} write  puts a new one there
 * @returns {import("./types").State}
 */
export function makeState(doc, address, write) {
    const view = decodeView(address, doc);
    /** @type {{ members: Set<keyof View>, listener: (changed: Set<keyof View>) => void }[]} */
    let listeners = [];
    /** @type {ReturnType<typeof setTimeout> | null} */
    let writing = null;
    let written = 0;
    const put = () => {
        writing = null;
        written = Date.now();
        write(encodeView(view, doc));
    };
    return {
        view,
        set(change) {
            const changed = /** @type {(keyof View)[]} */ (Object.keys(change)).filter(
                // A theme that follows the system may look different although it is the same one.
                (member) => member === "theme" || !same(view[member], change[member]),
            );
            if (changed.length === 0) return;
            Object.assign(view, change);
            const set = new Set(changed);
            if (writing === null) writing = setTimeout(put, Math.max(0, written + least_write_ms - Date.now()));
            for (const entry of [...listeners]) {
                const ended = !listeners.includes(entry);
                if (!ended && changed.some((member) => entry.members.has(member))) entry.listener(set);
            }
        },
        on(members, listener) {
            const entry = { members: new Set(members), listener };
            listeners.push(entry);
            return () => {
                listeners = listeners.filter((other) => other !== entry);
            };
        },
    };
}
