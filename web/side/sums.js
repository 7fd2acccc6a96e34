// Sums over the dragged range: count and time, by name, type or stream, of the rows and names that pass the filter.
// They are counted again when the range or the filter changes, not while it moves.

import { element, fill } from "../dom.js";
import { messageOf } from "../errors.js";
import { allTracks, rangeRows } from "../rows.js";
import { saveCsv } from "../save.js";
import { copyButton } from "../tabs/part.js";
import { separated } from "../tabs/rows.js";
import { key, say, told } from "../texts.js";

const wait_ms = 120;
const most_lines = 200;
/** @type {[string, string][]} */
const groupings = [
    ["name", key("Name")],
    ["type", key("Type")],
    ["stream", key("Stream")],
];
/** @type {{ key: "label" | "n" | "total" | "average", title: string, kind: string }[]} */
const columns = [
    { key: "label", title: "", kind: "" },
    { key: "n", title: key("Count"), kind: "number count" },
    { key: "total", title: key("Total"), kind: "number time" },
    { key: "average", title: key("Mean"), kind: "number time" },
];

/** @typedef {{ label: string, type: number | null, n: number, total: number, average: number }} Line */

/**
 * Totals of the source added up by their group.
 * @param {import("../types").Total[]} totals
 * @param {(total: import("../types").Total) => { key: string, label: string, type: number | null }} grouping
 * @returns {Line[]}
 */
export function gather(totals, grouping) {
    /** @type {Map<string, Line>} */
    const lines = new Map();
    for (const total of totals) {
        const { key, label, type } = grouping(total);
        let line = lines.get(key);
        if (line === undefined) lines.set(key, (line = { label, type, n: 0, total: 0, average: 0 }));
        line.n += total.n;
        line.total += total.total;
    }
    for (const line of lines.values()) line.average = line.total / line.n;
    return [...lines.values()];
}

/**
 * Lines by one of their members, then by their label.
 * @template {{ label: string }} L
 * @param {L[]} lines
 * @param {{ key: keyof L, descending: boolean }} order
 */
export function ordered(lines, { key, descending }) {
    const way = descending ? -1 : 1;
    const compared = (/** @type {any} */ a, /** @type {any} */ b) => (a < b ? -1 : a > b ? 1 : 0);
    return [...lines].sort((a, b) => way * compared(a[key], b[key]) || compared(a.label, b.label));
}

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showSums(root, context) {
    const { state, source, format, colors } = context;
    const { timeline } = source;
    const unit = timeline.unit === "ns" ? "ns" : "time";
    const tracks = allTracks(timeline);
    let grouping = "name";
    /** @type {{ key: "label" | "n" | "total" | "average", descending: boolean }} */
    let order = { key: "total", descending: true };
    /** @type {import("../types").Total[] | null} */
    let totals = null;
    /** @type {AbortController | null} */
    let counting = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;

    const about = element("p", { role: "status" });
    const table = element("table", { class: "sums-table" });
    const choices = groupings.map(([id, title]) =>
        element("button", { "aria-pressed": id === grouping, "data-by": id, onclick: () => choose(id) }, say(title)));
    const by = element("div", { class: "choices", role: "group", "aria-label": say("Sums by") }, choices);
    const closer = element("button", { onclick: zoom, title: say("Show just the range (Z)") }, say("Zoom to it"));
    const clear = element("button", { onclick: () => state.set({ range: null, area: null }), "aria-label": say("Clear the range") }, say("Clear"));
    const buttons = element("div", { class: "row" }, closer, clear);
    const csv = () => {
        const name = groupings.find(([id]) => id === grouping)?.[1].toLowerCase() ?? ""; // title in a file, as its other titles
        const of = [[name, "text"], ["count", "count"], ["total", unit], ["mean", unit]].map(([title, kind]) =>
            ({ name: title, title, unit: /** @type {import("../types").Unit} */ (kind), search: false }));
        const lines = sums();
        return separated(of, lines.map((line) => [line.label, line.n, line.total, line.average]), lines.map((_, at) => at), ",");
    };
    const tools = element("div", {}, by, element("div", { class: "row" }, copyButton(say("Copy CSV"), csv),
        element("button", { onclick: () => saveCsv("sums", csv()) }, say("Save CSV"))));
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Range")), buttons), about, tools, table);

    function zoom() {
        const range = state.view.range;
        if (range !== null) state.set({ begin: range[0], end: range[1] });
    }

    /** @param {string} id */
    function choose(id) {
        grouping = id;
        for (const button of choices) button.setAttribute("aria-pressed", String(button.dataset.by === id));
        draw();
    }

    /** @param {import("../types").Total} total */
    function groupOf(total) {
        if (grouping === "name") return { key: `${total.type} ${total.name}`, label: total.name, type: total.type };
        if (grouping === "type") {
            return { key: String(total.type), label: told(context.document.types[total.type] ?? ""), type: total.type };
        }
        return { key: String(total.track), label: whereOf(total.track), type: null };
    }

    /** @param {number} number of a track */
    function whereOf(number) {
        const track = tracks[number];
        return [told(timeline.groups[track.group].name), told(track.name)].filter((text) => text !== "").join(", ");
    }

    /** @param {typeof columns[number]} column */
    function heading({ key, title, kind }) {
        const active = order.key === key;
        const text = key === "label" ? groupings.find(([id]) => id === grouping)?.[1] ?? "" : title;
        const turn = () => {
            order = { key, descending: active ? !order.descending : key !== "label" };
            draw();
        };
        const arrow = active ? (order.descending ? " ↓" : " ↑") : "";
        return element("th", { class: kind, scope: "col", "aria-sort": active ? (order.descending ? "descending" : "ascending") : null },
            element("button", { onclick: turn }, text, arrow));
    }

    /** The lines in order. */
    function sums() {
        const wanted = state.view.filter.name.toLowerCase();
        return ordered(gather((totals ?? []).filter((total) => total.name.toLowerCase().includes(wanted)), groupOf), order);
    }

    function draw() {
        if (totals === null) return fill(table);
        const lines = sums();
        // A table drawn again keeps the focus.
        const focused = [...table.querySelectorAll("th button")].findIndex((button) => button === document.activeElement);
        fill(table,
            element("thead", {}, element("tr", {}, columns.map(heading))),
            element("tbody", {}, lines.slice(0, most_lines).map((line) =>
                element("tr", {},
                    element("td", { title: line.label }, element("div", {}, line.type === null ? null
                        : element("span", { class: "swatch", style: { background: colors.type(line.type) } }),
                    element("span", {}, line.label || say("(without a name)")))),
                    element("td", { class: "number" }, format.value(line.n, "count")),
                    element("td", { class: "number" }, format.value(line.total, unit)),
                    element("td", { class: "number" }, format.value(line.average, unit))))));
        if (lines.length > most_lines) {
            table.append(element("tfoot", {}, element("tr", {},
                element("td", { colspan: columns.length, class: "quiet" }, say("and {0} more", lines.length - most_lines)))));
        }
        if (focused >= 0) /** @type {HTMLElement} */ (table.querySelectorAll("th button")[focused]).focus();
    }

    /** @param {[number, number]} range */
    function about_range([begin, end]) {
        const resolution = (state.view.end - state.view.begin) / 1e4;
        const { area } = state.view;
        const of = area === null ? "" : area.length === 1 ? say(", of {0}", whereOf(area[0])) : say(", of {0} tracks", area.length);
        return say("{0}{1}, from {2} to {3}", format.value(end - begin, unit), of, format.time(begin, timeline.unit, resolution),
            format.time(end, timeline.unit, resolution));
    }

    async function count() {
        const { range } = state.view;
        if (range === null) return;
        const mine = new AbortController();
        counting = mine;
        const said = about_range(range);
        const progress = (/** @type {number} */ covered) => fill(about, say("{0} ({1} counted)", said, format.value(100 * covered, "%")));
        try {
            const found = await source.sums(rangeRows(source, state.view), range[0], range[1], progress, mine.signal);
            if (mine.signal.aborted) return;
            totals = found;
            fill(about, said);
            draw();
        } catch (error) {
            if (!mine.signal.aborted) fill(about, messageOf(error));
        }
    }

    function update() {
        counting?.abort();
        clearTimeout(timer);
        const range = state.view.range;
        for (const node of [buttons, tools, table]) node.hidden = range === null;
        if (range === null) {
            totals = null;
            return fill(about, element("span", { class: "quiet" }, say("Drag over a stretch of time to see what it holds; with Shift, over some tracks alone.")));
        }
        fill(about, about_range(range));
        timer = setTimeout(count, wait_ms);
    }
    update();
    const ends = [state.on(["range", "area", "filter"], update), state.on(["theme"], draw)];
    return () => {
        counting?.abort();
        clearTimeout(timer);
        for (const end of ends) end();
    };
}
