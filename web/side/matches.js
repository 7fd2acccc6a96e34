// The matches of the search in order of time, a hundred at a time: each links to its event, and the selected one is
// marked as the current one.

import { element, fill } from "../dom.js";
import { messageOf } from "../errors.js";
import { nextMatches } from "../matches.js";
import { reveal } from "../reveal.js";
import { allTracks, filteredRows } from "../rows.js";
import { say, told } from "../texts.js";

const wait_ms = 300;
const page_size = 100;

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showMatches(root, context) {
    const { state, source, format } = context;
    const { timeline } = source;
    const tracks = allTracks(timeline);
    /** @type {import("../types").EventSeen[]} */
    let listed = [];
    /** @type {AbortController | null} */
    let asking = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;

    const about = element("p", { role: "status", class: "quiet" });
    const list = element("ol", { class: "matches", tabindex: 0, "aria-label": say("Matches of the search") });
    const more = element("button", { onclick: () => void ask() }, say("More"));
    const clear = element("button", { onclick: () => state.set({ query: "" }), "aria-label": say("Clear the search") }, say("Clear"));
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Matches")), clear), about, list, more);

    /** @param {import("../types").EventSeen} event */
    function item(event) {
        const track = tracks[source.row_track[event.row]];
        const moment = format.time(event.begin - timeline.begin, timeline.unit, (timeline.end - timeline.begin) / 1e6);
        const where = [told(timeline.groups[track.group].name), told(track.name)].filter((text) => text !== "").join(", ");
        return element("li", { "data-place": `${event.row}.${event.index}` },
            element("button", { class: "link", onclick: () => reveal(state, source, event) }, event.name || say("(without a name)")),
            element("span", { class: "quiet" }, ` ${say("{0}, at {1}", where, moment)}`));
    }

    /** Mark the selected one. */
    function mark() {
        const { selected } = state.view;
        const place = selected === null ? "" : `${selected.row}.${selected.index}`;
        for (const node of /** @type {NodeListOf<HTMLElement>} */ (list.querySelectorAll("li"))) {
            const here = node.dataset.place === place;
            node.toggleAttribute("data-current", here);
            if (here) node.firstElementChild?.setAttribute("aria-current", "true");
            else node.firstElementChild?.removeAttribute("aria-current");
            if (here) list.scrollTop = Math.max(0, Math.min(list.scrollTop, node.offsetTop), node.offsetTop + node.offsetHeight - list.clientHeight);
        }
    }

    async function ask() {
        const { query, filter } = state.view;
        if (query === "") return;
        asking?.abort();
        const mine = (asking = new AbortController());
        try {
            const rows = filteredRows(source, filter);
            const found = await nextMatches(source, rows, query, listed.at(-1) ?? null, page_size, mine.signal);
            if (mine.signal.aborted) return;
            listed = [...listed, ...found];
            list.append(...found.map(item));
            more.hidden = found.length < page_size;
            list.hidden = listed.length === 0;
            fill(about, listed.length === 0 ? say("Nothing is called so.") : more.hidden ? "" : say("the first {0}", format.value(listed.length, "count")));
            mark();
        } catch (error) {
            if (!mine.signal.aborted) fill(about, messageOf(error));
        }
    }

    function update() {
        asking?.abort();
        clearTimeout(timer);
        listed = [];
        fill(list);
        fill(about);
        more.hidden = list.hidden = true;
        root.hidden = state.view.query === "";
        if (state.view.query !== "") timer = setTimeout(ask, wait_ms);
    }
    update();
    const ends = [state.on(["query", "filter"], update), state.on(["selected"], mark)];
    return () => {
        asking?.abort();
        clearTimeout(timer);
        for (const end of ends) end();
    };
}
