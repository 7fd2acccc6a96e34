// The overview of a plan: a strip of stages by chunks, each cell with its number of layers and, below it, a bar of
// their recomputation. Made from the table of the plan, which has the cells as rows; a cell links to the first block of
// its chunk.

import { element } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { readPlace, showPlace } from "../place.js";
import { makePart } from "./part.js";
import { say, told } from "../texts.js";

/** @typedef {{ stage: number, chunk: number, layers: number, kinds: { n: number, name: string }[], row: number, what: string }} Cell */

const order = ["none", "select", "comm", "both", "full"]; // from nothing to everything

/** "1 comm, 2 none": how many layers of each kind. @param {string} text */
export function kindsOf(text) {
    return text.split(", ").flatMap((part) => {
        const [, n, name] = /^(\d+) (.+)$/.exec(part) ?? [];
        return n === undefined ? [] : [{ n: Number(n), name }];
    });
}

/** The cells of a plan's table, by stage and chunk. @param {import("../types").Table} table @returns {Cell[]} */
export function stripCells(table) {
    const at = (/** @type {string} */ name) => table.columns.findIndex((column) => column.name === name);
    const [chunk, layers, kinds] = [at("chunk"), at("layers"), at("kinds")];
    if (Math.min(chunk, layers, kinds) < 0) return [];
    return table.rows.flatMap((row, number) => {
        const [, stage, of] = /^stage (\d+)(?:, chunk (\d+))?$/.exec(String(row[chunk])) ?? [];
        if (stage === undefined) return [];
        return [{ stage: Number(stage), chunk: Number(of ?? 0), layers: Number(row[layers]), kinds: kindsOf(String(row[kinds])), row: number,
            what: `${told(String(row[chunk]))}: ${told(String(row[kinds]))}` }];
    });
}

/** Kinds in the order of the strip, others after them. @param {Cell[]} cells */
function namesOf(cells) {
    const there = [...new Set(cells.flatMap((cell) => cell.kinds.map(({ name }) => name)))];
    const place = (/** @type {string} */ name) => (order.includes(name) ? order.indexOf(name) : order.length);
    return there.sort((a, b) => place(a) - place(b) || (a < b ? -1 : 1));
}

/**
 * @param {HTMLElement} root @param {import("../types").Table} table @param {import("../types").Context} context
 * @returns {() => void}
 */
export function showStrip(root, table, context) {
    const cells = stripCells(table);
    if (cells.length === 0) return () => {};
    const names = namesOf(cells);
    const color = (/** @type {string} */ name) => (name === "none" ? "var(--line)" : context.colors.series(order.indexOf(name) - 1 + (order.includes(name) ? 0 : 7)));
    const n_stages = 1 + Math.max(...cells.map((cell) => cell.stage));
    const n_chunks = 1 + Math.max(...cells.map((cell) => cell.chunk));
    const { part, body } = makePart(say("Stages by chunks"));

    /** @param {Cell} cell */
    function button(cell) {
        const place = readPlace(table.places?.[cell.row], context.run.timeline);
        const share = element("span", { class: "shares", "aria-hidden": "true" }, names.map((name) => {
            const n = cell.kinds.find((kind) => kind.name === name)?.n ?? 0;
            return n === 0 ? null : element("i", { style: { flexGrow: String(n), background: color(name) } });
        }));
        const style = { gridColumn: String(cell.stage + 2), gridRow: String(cell.chunk + 2) };
        const inner = [element("b", {}, String(cell.layers)), share];
        return place === null ? element("div", { class: "strip-cell", style, title: cell.what }, inner)
            : element("button", { type: "button", class: "strip-cell", style, title: cell.what, "aria-label": say("{0}; show it in the timeline", cell.what),
                onclick: () => void showPlace(context, place).catch((error) => showError(messageOf(error))) }, inner);
    }
    const heads = Array.from({ length: n_stages }, (_, stage) =>
        element("span", { class: "strip-head", style: { gridColumn: String(stage + 2), gridRow: "1" } }, String(stage)));
    const rows = Array.from({ length: n_chunks }, (_, chunk) =>
        element("span", { class: "strip-row", style: { gridColumn: "1", gridRow: String(chunk + 2) } }, n_chunks > 1 ? say("chunk {0}", chunk) : say("layers")));
    body.append(
        element("div", { class: "strip-scroll" }, element("div", { class: "strip" },
            element("span", { class: "strip-row", style: { gridColumn: "1", gridRow: "1" } }, say("stage")), heads, rows, cells.map(button))),
        element("ul", { class: "strip-legend" }, names.map((name) =>
            element("li", {}, element("span", { class: "swatch", style: { background: color(name) } }), name === "none" ? say("no recomputation") : told(name)))),
    );
    root.append(part);
    return () => part.remove();
}
