// The details of the selected event: its times, its layer, its arguments as a tree of text, its flows, each with a
// button that goes to the other end, and of a collective its ranks, the last one and the waiting time of each.

import { element, fill } from "../dom.js";
import { messageOf } from "../errors.js";
import { reveal } from "../reveal.js";
import { allTracks } from "../rows.js";
import { say, told } from "../texts.js";

const most_entries = 200; // of one object or list
const most_letters = 2000; // of one text, before "all of it"
const most_depth = 12;
const most_ranks = 64; // of a collective, those that waited longest, before "all of them"

/** A text; only a part of a long one, with a button for the rest. @param {string} text */
function longText(text) {
    if (text.length <= most_letters) return element("span", {}, text);
    const span = element("span", {}, `${text.slice(0, most_letters)} … `);
    span.append(element("button", { class: "link", onclick: () => fill(span, text) }, say("all {0} letters", text.length)));
    return span;
}

/**
 * A value of JSON as nested lists.
 * @param {unknown} value
 * @param {number} depth
 * @returns {HTMLElement}
 */
export function tree(value, depth = 0) {
    if (value === null || typeof value !== "object") return longText(String(value));
    const entries = Object.entries(value);
    if (entries.length === 0) return element("span", { class: "quiet" }, Array.isArray(value) ? say("empty list") : say("empty"));
    const plain = entries.every(([, inner]) => inner === null || typeof inner !== "object");
    if (Array.isArray(value) && plain && entries.length <= 32) return longText(value.map(String).join(", "));
    if (depth >= most_depth) return longText(JSON.stringify(value));
    const items = entries.slice(0, most_entries).map(([key, inner]) =>
        element("li", {}, element("span", { class: "key" }, key), tree(inner, depth + 1)));
    if (entries.length > most_entries) {
        items.push(element("li", { class: "quiet" }, say("and {0} more", entries.length - most_entries)));
    }
    return element("ul", {}, items);
}

/**
 * The panel of one source.
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @param {{ clear(): void, go(event: import("../types").EventSeen): void }} act  actions of its buttons
 * @returns {{ show(place: import("../types").EventPlace | null): void, end(): void }}
 */
export function detailsPanel(root, context, act) {
    const { source, format, colors } = context;
    const { timeline } = source;
    const tracks = allTracks(timeline);
    const body = element("div");
    const clear = element("button", { onclick: act.clear, "aria-label": say("Clear the selection") }, say("Clear"));
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Event")), clear), body);

    /** @param {import("../types").Flow} flow */
    function flowItem(flow) {
        const way = flow.outgoing ? say("to") : say("from");
        if (flow.row < 0) return element("li", { class: "quiet" }, flow.outgoing ? say("{0} to an event that is not here", flow.name) : say("{0} from an event that is not here", flow.name));
        const track = tracks[source.row_track[flow.row]];
        const where = [told(timeline.groups[track.group].name), told(track.name)].filter((text) => text !== "").join(", ");
        const go = element("button", { class: "link", onclick: () => act.go(flow) }, flow.event || say("event"));
        const moment = exact(flow.begin);
        return element("li", {}, `${flow.name} ${way} `, go, element("span", { class: "quiet" }, ` ${say("{0}, at {1}", where, moment)}`));
    }

    /** The event with this start in a row. @param {{ row: number, begin: number }} call */
    async function goTo(call) {
        const index = await source.at(call.row, call.begin);
        if (index === null) return;
        const { begin, end, name } = await source.details({ row: call.row, index });
        act.go({ row: call.row, index, begin, end, name });
    }

    const length = (/** @type {number} */ time) => format.value(time, timeline.unit === "ns" ? "ns" : "time");
    const rankOf = (/** @type {number} */ row) => told(timeline.groups[source.row_group[row]].name);

    /** A rank of a collective: the last one, the wait of the others. @param {import("../types").Calls["calls"][number]} call
     *  @param {boolean} here */
    function callItem(call, here) {
        const rank = here ? element("b", {}, rankOf(call.row))
            : element("button", { class: "link", onclick: () => void goTo(call) }, rankOf(call.row));
        const said = call.last ? say("came last") : call.wait === null ? "" : say("waited {0}", length(call.wait));
        return element("tr", { class: call.last ? "last" : null }, element("td", {}, rank), element("td", { class: "number" }, said));
    }

    /** @param {import("../types").EventPlace} place @param {import("../types").Calls} together */
    function callsPart(place, { of, calls }) {
        const n = calls.length;
        const last = calls.find((call) => call.last);
        const some = of > n ? say("{0} of its {1} ranks are here, so waits may be longer", n, of) : say("on {0} ranks", n);
        const who = last === undefined ? say("no rank is known to have come last") : say("{0} came last", rankOf(last.row));
        const sorted = [...calls].sort((a, b) => Number(b.last) - Number(a.last) || (b.wait ?? -1) - (a.wait ?? -1) || a.row - b.row);
        const items = sorted.map((call) => callItem(call, call.row === place.row));
        const body = element("tbody", {}, items.slice(0, most_ranks));
        const rest = n > most_ranks
            ? element("button", { class: "link", onclick: () => fill(body, items) }, say("all {0} ranks", n)) : null;
        return [element("h3", {}, say("The same on all ranks")), element("p", {}, `${some}: ${who}`),
            element("table", { class: "sums-table calls" }, body), rest];
    }

    /** To the nanosecond, or a millionth of a timeline without a unit. @param {number} time */
    const exact = (time) => format.time(time, timeline.unit, timeline.unit === "ns" ? 1 : (timeline.end - timeline.begin) / 1e6);

    /** @param {import("../types").EventPlace} place @param {import("../types").Details} details */
    function fillBody(place, details) {
        const track = tracks[source.row_track[place.row]];
        const group = timeline.groups[track.group].name;
        const swatch = element("span", { class: "swatch", style: { background: colors.type(details.type) } });
        /** @type {[string, any][]} */
        const figures = [
            [say("type"), [swatch, told(context.document.types[details.type] ?? "")]],
            [say("begin"), exact(details.begin)],
            [say("duration"), length(details.end - details.begin)],
            [say("layer"), details.layer],
            [say("where"), [told(group), told(track.name)].filter((text) => text !== "").join(", ")],
        ];
        const list = figures
            .filter(([, value]) => value !== "")
            .map(([label, value]) => [element("dt", {}, label), element("dd", {}, value)]);
        const args = details.args !== null && Object.keys(details.args).length > 0
            ? [element("h3", {}, say("Arguments")), element("div", { class: "tree" }, tree(details.args))] : null;
        const text = details.args === null && details.text !== null && details.text !== ""
            ? [element("h3", {}, say("As it stands in the trace")), element("pre", {}, longText(details.text))] : null;
        const flows = details.flows.length > 0
            ? [element("h3", {}, say("Flows")), element("ul", { class: "flows" }, details.flows.map(flowItem))] : null;
        const calls = details.calls ? callsPart(place, details.calls) : null;
        fill(body, element("p", { class: "name" }, details.name || say("(without a name)")), element("dl", { class: "figures" }, list),
            calls, flows, args, text);
    }

    let asked = 0;
    return {
        show(place) {
            clear.hidden = place === null;
            const mine = ++asked;
            if (place === null || place.row >= timeline.row_events.length) {
                fill(body, element("p", { class: "quiet" }, say("Click an event to see what it is.")));
                return;
            }
            source.details(place).then(
                (details) => mine === asked && fillBody(place, details),
                (error) => mine === asked && fill(body, element("p", { class: "quiet" }, messageOf(error))),
            );
        },
        end() {
            asked = -1;
        },
    };
}

/**
 * The panel of the event that is selected in the page's view.
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showDetails(root, context) {
    const { state, source } = context;
    const panel = detailsPanel(root, context, {
        clear: () => state.set({ selected: null }),
        go: (event) => reveal(state, source, event),
    });
    const update = () => panel.show(state.view.selected);
    update();
    const end = state.on(["selected"], update);
    return () => {
        panel.end();
        end();
    };
}
