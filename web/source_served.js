// Events of a server (docs/view-json.md, "Answers of the server"). A picture uses the boxes in tiles, coarser ones
// until better ones have come; missing ones of a frame are requested in one request for all its rows, then a screen on
// each side, then the complete range at its coarsest. Requests that are not needed any more are cancelled. Times are
// whole nanoseconds here.

import { makeArrowList, noArrows } from "./arrow_list.js";
import { makeCalls } from "./calls.js";
import { readColumns } from "./document.js";
import { makeFixed } from "./fixed.js";
import { asList, placeRows } from "./rows.js";
import { Tiles, levelOf, readRows, tileSpan } from "./tiles.js";
import { say } from "./texts.js";

/** @typedef {import("./types").Timeline} Timeline */
/** @typedef {import("./types").Source} Source */

const most_rows = 4096; // of a request
const most_names = 4096;
const names_wait_ms = 20;
const names_kept = 300000;
const most_own_flows = 64;
const arrows_margin = 1; // screens on each side

/** Members of a timeline that come with the figures; rows stay unchanged. @type {(keyof Timeline)[]} */
const of_document = ["steps", "path", "curves", "n_held", "n_points", "held_names", "n_arrows", "arrow_names",
    "n_calls", "data"];

/** @typedef {{ level: number, rows: number[], first: number, last: number }} Wanted */

/** The server does not answer: reported once for the page, by the client. */
export class Gone extends Error {}

/**
 * Sends a request to the server. An answer that is no success is an error with the server's words.
 * @param {string} base  address that the others are relative to
 * @param {(message: string) => void} failed  called once for a server that does not answer
 */
export function makeClient(base, failed) {
    let told = false;
    /** @param {string} path @param {Record<string, string | number>} query @param {AbortSignal} [signal] */
    async function get(path, query, signal) {
        const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)])).toString();
        let answer;
        try {
            answer = await fetch(`${base}${path}${text === "" ? "" : "?"}${text}`, { signal, cache: "no-store" });
        } catch (error) {
            if (signal?.aborted) throw error;
            const gone = new Gone(say("The server does not answer any more. Start `evenkeel view --serve` again and open its address."));
            if (!told) failed(gone.message);
            told = true;
            throw gone;
        }
        if (!answer.ok) throw new Error((await answer.text()).trim() || say("The server answers with status {0}.", answer.status));
        told = false;
        return answer;
    }
    return get;
}

/** Rows divided into requests. @param {number[]} rows */
const parts = (rows) =>
    Array.from({ length: Math.ceil(rows.length / most_rows) }, (_, i) => rows.slice(i * most_rows, (i + 1) * most_rows));

/** Does a search reach one event before the other? In order of (begin, row, index). */
function isNearer(/** @type {any} */ one, /** @type {any} */ other, /** @type {boolean} */ forward) {
    const order = one.begin - other.begin || one.row - other.row || one.index - other.index;
    return forward ? order < 0 : order > 0;
}

/** Totals of one name, type and track as one: rows of a track may be in several requests. @param {import("./types").Total[]} totals */
function added(totals) {
    /** @type {Map<string, import("./types").Total>} */
    const by = new Map();
    for (const total of totals) {
        const key = `${total.track} ${total.type} ${total.name}`;
        const known = by.get(key);
        if (known === undefined) by.set(key, { ...total });
        else Object.assign(known, { n: known.n + total.n, total: known.total + total.total });
    }
    return [...by.values()];
}

/** @param {number} time */
const down = (time) => String(Math.floor(time));
/** @param {number} time */
const up = (time) => String(Math.ceil(time));

/**
 * Data that is requested again when the picture has moved: the last answer stays until the next one is there.
 * @template A
 */
class Latest {
    /** @param {(error: Error) => void} failed @param {() => void} came */
    constructor(failed, came) {
        this.failed = failed;
        this.came = came;
        this.key = "";
        /** @type {A | null} */
        this.answer = null;
        /** @type {AbortController | null} */
        this.asking = null;
    }

    /** @param {string} key @param {(signal: AbortSignal) => Promise<A>} ask */
    want(key, ask) {
        if (key === this.key) return;
        this.key = key;
        this.asking?.abort();
        const controller = new AbortController();
        this.asking = controller;
        ask(controller.signal).then(
            (answer) => {
                if (controller.signal.aborted) return;
                this.answer = answer;
                this.came();
            },
            (error) => {
                if (!controller.signal.aborted) this.failed(error);
            },
        );
    }
}

/**
 * @param {Timeline} timeline
 * @param {ReturnType<typeof makeClient>} get
 * @param {(error: Error) => void} failed
 * @returns {Source}
 */
export function makeServed(timeline, get, failed) {
    const places = placeRows(timeline);
    const tiles = new Tiles();
    const whole = { begin: Math.max(0, timeline.begin), end: Math.max(1, timeline.end) };
    const top_level = levelOf((whole.end - whole.begin) / 1024);
    /** @type {Map<number, string>} */
    const names = new Map();
    /** @type {Set<number>} */
    const names_wanted = new Set();
    /** @type {Set<number>} */
    const names_asked = new Set();
    let names_timer = false;
    /** @type {{ wanted: Wanted, controller: AbortController } | null} */
    let asking = null;
    /** @type {{ rows: number[], begin: number, end: number, level: number } | null} */
    let frame = null;
    let pause_until = 0; // after an error
    /** @type {ReturnType<typeof makeFixed> | null} the document's data of it */
    let fixed = null;
    /** Those between ranks, which no single file has. @type {ReturnType<typeof makeArrowList> | null} */
    let own_arrows = null;

    /** @type {ReturnType<typeof makeCalls> | null} */
    let calls = null;

    const clipped = (/** @type {number} */ begin, /** @type {number} */ end) => {
        const from = Math.min(Math.max(begin, whole.begin), whole.end);
        return { begin: from, end: Math.max(from + 1e-9, Math.min(end, whole.end)) };
    };
    const came = () => source.changed?.();
    const range = (/** @type {number} */ begin, /** @type {number} */ end, /** @type {number} */ level) => {
        const span = tileSpan(level);
        return { first: Math.floor(begin / span), last: Math.max(Math.floor(begin / span), Math.ceil(end / span) - 1) };
    };

    /**
     * Rows and the stretch of tiles that some of them lack, or null when none does.
     * @param {number[]} rows @param {number} level @param {number} begin @param {number} end @returns {Wanted | null}
     */
    function lacking(rows, level, begin, end) {
        const shown = clipped(begin, end);
        const { first, last } = range(shown.begin, shown.end, level);
        let [from, to] = [Infinity, -Infinity];
        const lack = rows.filter((row) => {
            let any = false;
            for (let tile = first; tile <= last; tile++) {
                if (tiles.has(row, level, tile)) continue;
                any = true;
                from = Math.min(from, tile);
                to = Math.max(to, tile);
            }
            return any;
        });
        return lack.length === 0 ? null : { level, rows: lack.slice(0, most_rows), first: from, last: to };
    }

    /** The most urgent request now. @returns {Wanted | null} */
    function next() {
        if (frame === null) return null;
        const { rows, begin, end, level } = frame;
        const margin = end - begin;
        return (
            lacking(rows, level, begin, end) ??
            lacking(rows, level, begin - margin, end + margin) ??
            lacking(rows, top_level, whole.begin, whole.end)
        );
    }

    function ask() {
        if (asking !== null || Date.now() < pause_until) return;
        const wanted = next();
        if (wanted === null) return;
        const controller = new AbortController();
        const mine = { wanted, controller };
        asking = mine;
        const span = tileSpan(wanted.level);
        get("rows", {
            rows: asList(wanted.rows),
            begin: down(wanted.first * span),
            end: up((wanted.last + 1) * span),
            resolution: wanted.level === 0 ? 0 : 2 ** wanted.level,
        }, controller.signal)
            .then((answer) => answer.arrayBuffer())
            .then((buffer) => {
                const rows = readRows(buffer);
                for (const row of wanted.rows) if (!rows.has(row)) throw new Error(say("The server left out a row."));
                tiles.put(rows, wanted.level, wanted.first, wanted.last);
            })
            .catch((error) => {
                if (controller.signal.aborted) return;
                pause_until = Date.now() + 2000;
                setTimeout(ask, 2100);
                failed(error);
            })
            .finally(() => {
                if (asking === mine) asking = null;
                if (controller.signal.aborted) return;
                came();
                ask();
            });
    }

    /** Is a current request useless for the present picture? @param {Wanted} wanted */
    function outdated(wanted) {
        if (frame === null) return false;
        if (wanted.level !== frame.level) return lacking(frame.rows, frame.level, frame.begin, frame.end) !== null;
        const shown = clipped(frame.begin, frame.end);
        const { first, last } = range(shown.begin, shown.end, frame.level);
        return wanted.last < first || wanted.first > last;
    }

    function askNames() {
        names_timer = false;
        const list = [...names_wanted].slice(0, most_names).sort((a, b) => a - b);
        for (const name of list) {
            names_wanted.delete(name);
            names_asked.add(name);
        }
        get("names", { names: asList(list) })
            .then((answer) => answer.json())
            .then(({ texts }) => {
                if (names.size > names_kept) names.clear();
                list.forEach((name, i) => names.set(name, texts[i] ?? ""));
                came();
            }, failed)
            .finally(() => {
                // A failed one is requested again when it is drawn again, but not at once.
                setTimeout(() => list.forEach((name) => names_asked.delete(name)), 1000);
            });
        if (names_wanted.size > 0) laterNames();
    }

    function laterNames() {
        if (names_timer) return;
        names_timer = true;
        setTimeout(askNames, names_wait_ms);
    }

    /** @type {Latest<{ begin: number, end: number, arrows: import("./types").Arrows }>} */
    const arrows = new Latest(failed, came);
    /** @type {Map<number, Latest<import("./types").CurvePoints>>} by counter: curves of the document may come later */
    const curves = new Map();

    /** Flows of an event over arrows that came with the figures. @param {number} row @param {number} begin @param {number} end */
    async function ownFlows(row, begin, end) {
        const found = [true, false].flatMap((outgoing) => (own_arrows?.at(row, outgoing) ?? [])
            .filter(({ here }) => here >= begin && here <= end).map((arrow) => ({ ...arrow, outgoing })));
        return Promise.all(found.slice(0, most_own_flows).map(async ({ row: other, there, name, outgoing }) => {
            const index = await source.at(other, there);
            if (index === null) return { outgoing, name, row: -1, index: 0, begin: there, end: there, event: "" };
            const event = await (await get("event", { row: other, index })).json();
            return { outgoing, name, row: other, index, begin: event.begin, end: event.end, event: event.name };
        }));
    }

    /** @type {Source} */
    const source = {
        timeline,
        ...places,
        changed: null,

        frame(rows, begin, end, resolution) {
            tiles.clock++;
            frame = { rows, begin, end, level: levelOf(resolution) };
            if (asking !== null && outdated(asking.wanted)) {
                asking.controller.abort();
                asking = null;
            }
            ask();
        },

        boxes(row, begin, end, resolution) {
            if (timeline.row_events[row] === 0) return null;
            const shown = clipped(begin, end);
            return tiles.boxes(row, shown.begin, shown.end, levelOf(resolution));
        },

        name(name) {
            const text = names.get(name);
            if (text !== undefined) return text;
            if (!names_asked.has(name)) {
                names_wanted.add(name);
                laterNames();
            }
            return "";
        },

        async details({ row, index }) {
            const answer = await (await get("event", { row, index })).json();
            const args = answer.args !== null && typeof answer.args === "object" ? answer.args : null;
            const own = await ownFlows(row, answer.begin, answer.end);
            return { ...answer, args, layer: answer.layer ?? "", flows: [...(answer.flows ?? []), ...own],
                calls: calls?.at(row, answer.begin) ?? null };
        },

        async at(row, time) {
            return (await (await get("at", { row, time: down(time) })).json())?.index ?? null;
        },

        async find(text, rows, forward, { time, row, index }) {
            if (text === "" || rows.length === 0) return null;
            const from = { time: Number.isFinite(time) ? down(time) : forward ? "-1" : up(whole.end + 1), row: Math.max(0, row), index: Math.max(0, index) };
            const hits = await Promise.all(parts(rows).map(async (part) =>
                (await get("find", { text, rows: asList(part), forward: forward ? 1 : 0, ...from })).json()));
            return hits.reduce((best, hit) => (hit !== null && (best === null || isNearer(hit, best, forward)) ? hit : best), null);
        },

        async sums(rows, begin, end, progress, signal) {
            /** @type {import("./types").Total[][]} */
            const lists = [];
            const all = parts(rows);
            for (const part of all) {
                const query = { rows: asList(part), begin: down(begin), end: up(end), state: "" };
                for (let done = false; !done; ) {
                    const answer = await (await get("sums", query, signal)).json();
                    done = answer.done;
                    query.state = answer.state;
                    if (done) lists.push(answer.totals);
                    else progress((lists.length + answer.covered) / all.length);
                }
            }
            return lists.length === 1 ? lists[0] : added(lists.flat());
        },

        async events(rows, begin, end, limit, signal) {
            const answers = await Promise.all(parts(rows).map(async (part) =>
                (await get("events", { rows: asList(part), begin: down(begin), end: up(end), limit }, signal)).json()));
            /** @type {import("./types").EventSeen[]} */
            const events = answers.flatMap((answer) => answer.events.map(
                (/** @type {[number, number, number, number, string]} */ [row, index, from, to, name]) => ({ row, index, begin: from, end: to, name })));
            if (answers.length > 1) events.sort((a, b) => b.end - b.begin - (a.end - a.begin) || a.begin - b.begin || a.row - b.row);
            return { all: answers.every(({ all }) => all) && events.length <= limit, events: events.slice(0, limit) };
        },

        arrows(rows, begin, end, limit) {
            if (rows.length === 0) return noArrows();
            const shown = clipped(begin, end);
            const list = asList(rows.slice(0, most_rows)); // of a picture: more than it has lines of pixels
            const level = levelOf((shown.end - shown.begin) / 1024);
            const span = tileSpan(level);
            // As many as a screen may have beside it, so that a small move needs no other answer.
            const from = Math.max(0, (Math.floor(shown.begin / span) - arrows_margin) * span);
            const to = (Math.ceil(shown.end / span) + arrows_margin) * span;
            arrows.want(`${list} ${from} ${to} ${limit}`, async (signal) => {
                const query = { rows: list, begin: down(from), end: up(to), limit };
                const answer = await (await get("arrows", query, signal)).json();
                /** @type {import("./types").Arrows} */
                const out = { ...noArrows(), all: answer.all };
                for (const [from_row, from_time, to_row, to_time, name] of answer.arrows) {
                    out.from_row.push(from_row);
                    out.from_time.push(from_time);
                    out.to_row.push(to_row);
                    out.to_time.push(to_time);
                    out.name.push(name);
                }
                return { begin: from, end: to, arrows: out };
            });
            const theirs = arrows.answer?.arrows ?? null;
            if (own_arrows === null || theirs === null) return theirs;
            const { from_row, from_time, to_row, to_time, name } = theirs;
            const both = { all: theirs.all, from_row: [...from_row], from_time: [...from_time], to_row: [...to_row], to_time: [...to_time],
                name: [...name] };
            return own_arrows.addTo(both, rows, shown.begin, shown.end, limit);
        },

        curve(curve, begin, end, resolution) {
            const counter = curve - timeline.curves.length;
            if (counter < 0) return fixed?.curve(curve, begin, end, resolution) ?? null;
            const level = levelOf(resolution);
            const span = tileSpan(level);
            const shown = clipped(begin, end);
            const from = Math.max(0, (Math.floor(shown.begin / span) - 1) * span);
            const to = (Math.ceil(shown.end / span) + 1) * span;
            let latest = curves.get(counter);
            if (latest === undefined) curves.set(counter, (latest = new Latest(failed, came)));
            latest.want(`${from} ${to} ${level}`, async (signal) => {
                const query = { counter, begin: down(from), end: up(to), resolution: 2 ** level };
                /** @type {{ points: number[][] }} */
                const { points } = await (await get("curve", query, signal)).json();
                const column = (/** @type {number} */ at) => Float64Array.from(points, (point) => point[at]);
                return { time: column(0), least: column(1), most: column(2), last: column(3), n: points.length };
            });
            return latest.answer;
        },

        held: (group, time) => fixed?.held(group, time) ?? [],

        async complete(all) {
            const columns = all.data === null ? null : await readColumns(all);
            for (const member of of_document) Object.assign(timeline, { [member]: all[member] });
            calls = columns === null ? null : makeCalls(columns.calls);
            fixed = columns === null ? null : makeFixed(timeline, columns);
            own_arrows = columns === null || timeline.n_arrows === 0 ? null : makeArrowList(timeline, columns.arrows);
        },
    };
    return source;
}
