// The events within the range, longest first: a list that sorts, links to each of them and is copied or saved as CSV.
// It is requested when the range, its tracks or the filter has been the same for a moment.

import { element, fill } from "../dom.js";
import { messageOf } from "../errors.js";
import { reveal } from "../reveal.js";
import { allTracks, rangeRows } from "../rows.js";
import { saveCsv } from "../save.js";
import { copyButton } from "../tabs/part.js";
import { separated } from "../tabs/rows.js";
import { ordered } from "./sums.js";
import { key, say, told } from "../texts.js";

const wait_ms = 160;
const most_events = 2000; // requested ones, the longest
const most_lines = 200; // shown ones

/** @typedef {{ label: string, begin: number, duration: number, where: string, place: import("../types").EventSeen }} Line */
/** @typedef {"label" | "begin" | "duration" | "where"} Key */

/** @type {{ key: Key, title: string, kind: string }[]} */
const columns = [
    { key: "label", title: key("Name"), kind: "" },
    { key: "begin", title: key("Begin"), kind: "number time" },
    { key: "duration", title: key("Lasts"), kind: "number time" },
    { key: "where", title: key("Where"), kind: "where" },
];

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showEvents(root, context) {
    const { state, source, format } = context;
    const { timeline } = source;
    const unit = timeline.unit === "ns" ? "ns" : "time";
    const tracks = allTracks(timeline);
    /** @type {{ key: Key, descending: boolean }} */
    let order = { key: "duration", descending: true };
    /** @type {{ all: boolean, lines: Line[] } | null} */
    let found = null;
    /** @type {AbortController | null} */
    let asking = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;

    const about = element("p", { role: "status", class: "quiet" });
    const table = element("table", { class: "sums-table events-table" });
    const csv = () => {
        const titles = ["name", "begin", "duration", "where"];
        const of = titles.map((title, at) =>
            ({ name: title, title, unit: /** @type {import("../types").Unit} */ (at % 3 === 0 ? "text" : unit), search: false }));
        const lines = shown();
        return separated(of, lines.map((line) => [line.label, line.begin, line.duration, line.where]), lines.map((_, at) => at), ",");
    };
    const tools = element("div", { class: "row" }, copyButton(say("Copy CSV"), csv),
        element("button", { onclick: () => saveCsv("events", csv()) }, say("Save CSV")));
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Events in the range")), tools), about, table);

    const shown = () => (found === null ? [] : ordered(found.lines, order));

    /** @param {typeof columns[number]} column */
    function heading({ key, title, kind }) {
        const active = order.key === key;
        const turn = () => {
            order = { key, descending: active ? !order.descending : key === "duration" };
            draw();
        };
        const arrow = active ? (order.descending ? " ↓" : " ↑") : "";
        return element("th", { class: kind, scope: "col", "aria-sort": active ? (order.descending ? "descending" : "ascending") : null },
            element("button", { onclick: turn }, say(title), arrow));
    }

    /** @param {Line} line */
    function row(line) {
        const resolution = Math.max((state.view.end - state.view.begin) / 1e4, timeline.unit === "ns" ? 1 : 0);
        return element("tr", {},
            element("td", { title: line.label },
                element("button", { class: "link", onclick: () => reveal(state, source, line.place) }, line.label || say("(without a name)"))),
            element("td", { class: "number" }, format.time(line.begin - timeline.begin, timeline.unit, resolution)),
            element("td", { class: "number" }, format.value(line.duration, unit)),
            element("td", { title: line.where }, line.where));
    }

    function draw() {
        if (found === null) return fill(table);
        const lines = shown();
        const focused = [...table.querySelectorAll("th button")].findIndex((button) => button === document.activeElement);
        fill(table, element("thead", {}, element("tr", {}, columns.map(heading))),
            element("tbody", {}, lines.slice(0, most_lines).map(row)));
        const n = format.value(lines.length, "count");
        const more = lines.length > most_lines ? say(", {0} shown", most_lines) : "";
        fill(about, found.all ? (lines.length === 1 ? say("{0} event", n) : say("{0} events", n)) + more : say("the longest {0}", n) + more);
        if (focused >= 0) /** @type {HTMLElement} */ (table.querySelectorAll("th button")[focused]).focus();
    }

    async function ask() {
        const { range, filter } = state.view;
        if (range === null) return;
        const mine = new AbortController();
        asking = mine;
        try {
            const { all, events } = await source.events(rangeRows(source, state.view), range[0], range[1], most_events, mine.signal);
            if (mine.signal.aborted) return;
            const wanted = filter.name.toLowerCase();
            const lines = events.filter((event) => event.name.toLowerCase().includes(wanted)).map((event) => {
                const track = tracks[source.row_track[event.row]];
                const where = [told(timeline.groups[track.group].name), told(track.name)].filter((text) => text !== "").join(", ");
                return { label: event.name, begin: event.begin, duration: event.end - event.begin, where, place: event };
            });
            found = { all, lines };
            draw();
        } catch (error) {
            if (!mine.signal.aborted) fill(about, messageOf(error));
        }
    }

    function update() {
        asking?.abort();
        clearTimeout(timer);
        root.hidden = state.view.range === null;
        found = null;
        draw();
        if (state.view.range !== null) timer = setTimeout(ask, wait_ms);
    }
    update();
    const end = state.on(["range", "area", "filter"], update);
    return () => {
        asking?.abort();
        clearTimeout(timer);
        end();
    };
}
