// The contents of a matrix of links, selected by step, kind of operation and transport: the cells of the parts that
// fit. Sizes and times add up; a bandwidth is their quotient.

import { say } from "../texts.js";

/** @typedef {import("../types").Matrix} Matrix */
/** @typedef {{ step: string, operation: string, transport: string }} Chosen  "": all of them */

const AT = { step: 2, operation: 3, transport: 4 };
/** @type {(keyof Chosen)[]} */
export const kinds = ["step", "operation", "transport"];

/** The choices of each kind, where there are two or more. @param {Matrix} matrix
 *  @returns {{ kind: keyof Chosen, values: string[] }[]} */
export function choicesOf(matrix) {
    return kinds
        .map((kind) => ({ kind, values: [...new Set((matrix.parts ?? []).map((part) => /** @type {string} */ (part[AT[kind]])))] }))
        .filter(({ values }) => values.length > 1);
}

/** @param {string} unit @param {number} mb @param {number} ms */
const valueOf = (unit, mb, ms) => (unit === "MB" ? mb : unit === "ns" ? 1e6 * ms : mb / ms);

/** @param {number} value */
const short = (value) => String(Number(value.toPrecision(4)));

/** The cells of the selection; those of the matrix itself where all is selected. @param {Matrix} matrix @param {Chosen} chosen
 *  @returns {Matrix["cells"]} */
export function cellsOf(matrix, chosen) {
    if (matrix.parts === undefined || kinds.every((kind) => chosen[kind] === "")) return matrix.cells;
    /** @type {Map<string, { row: number, column: number, mb: number, ms: number }>} */
    const sums = new Map();
    for (const part of matrix.parts) {
        if (!kinds.every((kind) => chosen[kind] === "" || part[AT[kind]] === chosen[kind])) continue;
        const [row, column, , , , mb, ms] = part;
        const sum = sums.get(`${row} ${column}`) ?? { row, column, mb: 0, ms: 0 };
        sums.set(`${row} ${column}`, { ...sum, mb: sum.mb + mb, ms: sum.ms + ms });
    }
    return [...sums.values()]
        .map(({ row, column, mb, ms }) => /** @type {[number, number, number, string]} */ ([row, column, valueOf(matrix.unit, mb, ms),
            say("{0} MB in {1} ms", short(mb), short(ms)) + (ms > 0 ? `, ${short(mb / ms)} GB/s` : "")]))
        .filter(([, , value]) => Number.isFinite(value));
}
