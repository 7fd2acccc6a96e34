// The line above the timeline: the search with next and previous, and the filter. Both are in the shared view; the
// timeline hides or dims by them.

import { element, fill } from "../dom.js";
import { messageOf } from "../errors.js";
import { countMatches } from "../matches.js";
import { reveal } from "../reveal.js";
import { allTracks, filteredRows, passes } from "../rows.js";
import { say } from "../texts.js";

const wait_ms = 250;
const most_offered = 60; // names of tracks

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {{ focus(): void, end(): void }}
 */
export function showTools(root, context) {
    const { state, source, format } = context;
    const { timeline } = source;
    const found = element("span", { class: "found", role: "status" });
    const query = element("input", {
        type: "search", value: state.view.query, placeholder: say("Search names  ( / )"), "aria-label": say("Search names of events"),
        oninput: typed, onkeydown: keyed,
    });
    const search = element("div", { class: "group search", role: "search" }, query,
        element("button", { "aria-label": say("Previous"), title: say("Previous (Shift+Enter)"), onclick: () => go(false) }, "↑"),
        element("button", { "aria-label": say("Next"), title: say("Next (Enter)"), onclick: () => go(true) }, "↓"), found);
    const hidden = element("button", { class: "hidden-rows", onclick: () => state.set({ hidden: [] }) });
    const countHidden = () => {
        const n = state.view.hidden.length;
        hidden.hidden = n === 0;
        fill(hidden, say("Show {0} hidden", n));
    };
    countHidden();
    const arrows = element("input", { type: "checkbox", onchange: () => state.set({ arrows: arrows.checked }) });
    arrows.checked = state.view.arrows;

    const tracks = allTracks(timeline);
    let asked = 0;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;

    /** @param {KeyboardEvent} event */
    function keyed(event) {
        if (event.key === "Enter") {
            event.preventDefault();
            go(!event.shiftKey);
        } else if (event.key === "Escape") {
            query.value = "";
            typed();
            query.blur(); // keys go to the timeline again
        }
    }

    /** @param {number} names @param {{ n: number, all: boolean } | null} count */
    function tell(names, count) {
        const kinds = names === 1 ? say("1 name") : say("{0} names", format.value(names, "count"));
        if (count === null) return fill(found, kinds);
        const n = format.value(count.n, "count");
        const events = count.n === 1 ? say("{0} match", n) : say("{0} matches", n);
        fill(found, say("{0}, {1}", count.all ? events : say("at least {0}", events), kinds));
    }

    /** The last count: continuing a search does not count again. */
    let counted = { key: "", names: 0, count: /** @type {{ n: number, all: boolean } | null} */ (null) };
    /** @type {AbortController | null} */
    let counting = null;
    const key = () => JSON.stringify([query.value, state.view.filter]);

    /** Number of names and events that match. @param {number} names */
    async function count(names) {
        counting?.abort();
        const mine = (counting = new AbortController());
        counted = { key: key(), names, count: null };
        tell(names, null);
        const now = await countMatches(source, filteredRows(source, state.view.filter), query.value, mine.signal);
        if (mine.signal.aborted) return;
        counted.count = now;
        tell(names, now);
    }

    /** Typed text is applied at once in the picture; the number of matches is requested when the typing pauses. */
    function typed() {
        state.set({ query: query.value });
        recount();
    }

    function recount() {
        clearTimeout(timer);
        counting?.abort();
        const mine = ++asked;
        if (query.value === "") return fill(found);
        timer = setTimeout(() => {
            const start = { time: -Infinity, row: 0, index: 0 };
            source.find(query.value, filteredRows(source, state.view.filter), true, start)
                .then((hit) => (mine === asked ? count(hit?.names ?? 0) : undefined))
                .catch((error) => mine === asked && !counting?.signal.aborted && fill(found, messageOf(error)));
        }, wait_ms);
    }

    /** The start of the next search step: the selected event, else an edge of the picture. @param {boolean} forward */
    async function place(forward) {
        const { selected, begin, end } = state.view;
        if (selected === null) return { time: forward ? begin : end, row: 0, index: 0 };
        const details = await source.details(selected);
        return { time: details.begin, ...selected };
    }

    /** @param {boolean} forward */
    async function go(forward) {
        if (query.value === "") return query.focus();
        clearTimeout(timer);
        const mine = ++asked;
        fill(found, "…");
        try {
            const rows = filteredRows(source, state.view.filter);
            let hit = await source.find(query.value, rows, forward, await place(forward));
            if (hit === null) {
                // Wrap around: from the other end.
                const last = timeline.row_events.length;
                const edge = forward ? { time: -Infinity, row: 0, index: 0 } : { time: Infinity, row: last, index: 0 };
                hit = await source.find(query.value, rows, forward, edge);
            }
            if (mine !== asked) return;
            if (hit !== null) reveal(state, source, hit);
            if (counted.key === key()) tell(counted.names, counted.count);
            else await count(hit?.names ?? 0);
        } catch (error) {
            if (mine === asked && !counting?.signal.aborted) fill(found, messageOf(error));
        }
    }

    /**
     * @param {"rank" | "stage" | "track" | "name"} key @param {string} title @param {string} hint @param {string} kind
     * @param {string[]} offers
     */
    function filter(key, title, hint, kind, offers) {
        const id = `filter-${key}`;
        const input = element("input", {
            id, class: kind, type: "text", value: state.view.filter[key], placeholder: say("all"), title: hint, autocomplete: "off",
            list: offers.length > 0 ? `${id}-offers` : null,
            onkeydown: (/** @type {KeyboardEvent} */ event) => {
                if (event.key !== "Escape") return;
                input.value = "";
                input.dispatchEvent(new Event("input"));
                input.blur(); // keys go to the timeline again
            },
            oninput: () => {
                state.set({ filter: { ...state.view.filter, [key]: input.value } });
                mark();
            },
        });
        const mark = () => {
            const alone = { rank: "", stage: "", track: "", name: "", [key]: input.value };
            const wrong = input.value !== "" && !tracks.some((track) => passes(alone, timeline.groups[track.group], track));
            input.classList.toggle("wrong", wrong);
            input.classList.toggle("used", input.value !== "" && !wrong);
            input.setAttribute("aria-invalid", String(wrong));
        };
        mark();
        const list = offers.length === 0 ? null
            : element("datalist", { id: `${id}-offers` }, offers.map((offer) => element("option", { value: offer })));
        return { key, input, mark, node: element("label", { for: id }, title, input, list) };
    }

    const numbers = (/** @type {"rank" | "stage"} */ key) =>
        [...new Set(timeline.groups.map((group) => group[key]))].filter((number) => number >= 0).map(String);
    const streams = [...new Set([...tracks.map((track) => track.class), ...tracks.map((track) => track.name)])]
        .filter((name) => name !== "").slice(0, most_offered);
    const filters = [
        numbers("rank").length > 1 ? filter("rank", say("Rank"), say("Ranks to show, as 3 or 0-7 or 1,4"), "few", numbers("rank")) : null,
        numbers("stage").length > 1 ? filter("stage", say("Stage"), say("Stages to show, as 3 or 0-7 or 1,4"), "few", numbers("stage")) : null,
        filter("track", say("Stream"), say("Rows to show: a part of their name, or their kind"), "more", streams),
        filter("name", say("Name"), say("Events without this in their name are dimmed, and not counted in sums"), "more", []),
    ].filter((entry) => entry !== null);

    fill(root, search, element("span", { class: "gap" }),
        element("div", { class: "group", role: "group", "aria-label": say("Filter") }, filters.map((entry) => entry.node)),
        hidden,
        timeline.n_arrows > 0 || timeline.names === null ? element("label", { title: say("Also those of events that are not selected") }, arrows, say("All arrows")) : null);
    if (query.value !== "") typed();

    const end = state.on(["query", "filter", "arrows", "hidden"], (changed) => {
        countHidden();
        if (changed.has("filter") && query.value !== "") recount();
        if (state.view.query !== query.value) {
            query.value = state.view.query;
            typed();
        }
        for (const entry of filters) {
            if (entry.input.value === state.view.filter[entry.key]) continue;
            entry.input.value = state.view.filter[entry.key];
            entry.mark();
        }
        arrows.checked = state.view.arrows;
    });
    return {
        focus() {
            query.focus();
            query.select();
        },
        end() {
            asked = -1;
            counting?.abort();
            clearTimeout(timer);
            end();
        },
    };
}
