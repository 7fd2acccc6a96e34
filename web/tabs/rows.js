// Rows of a table without its picture: a stable sort (numbers before texts before nothing, texts with their numbers in
// order), a filter by words, and the same rows as comma- or tab-separated text. The result of a sort is an order of row
// numbers; rows are not moved.

const collator = new Intl.Collator("en", { numeric: true });

/** 0: a number, 1: a text, 2: nothing. */
function kindOf(cell) {
    if (typeof cell === "number") return Number.isNaN(cell) ? 2 : 0;
    return cell === null || cell === undefined ? 2 : 1;
}

/** Order of two cells, ascending; below 0: a before b. An empty cell has no value and is always last. */
export function compareCells(a, b) {
    const [kind_a, kind_b] = [kindOf(a), kindOf(b)];
    if (kind_a !== kind_b) return kind_a - kind_b;
    if (kind_a === 0) return a < b ? -1 : a > b ? 1 : 0;
    return kind_a === 1 ? collator.compare(a, b) : 0;
}

/**
 * Numbers of rows in the order of one column. Equal cells stay in their order also when descending; rows without a
 * value
 * are last in both directions.
 * @param {import("../types").Cell[][]} rows @param {{column: number, descending: boolean} | null} sort
 * @returns {number[]}
 */
export function sortedOrder(rows, sort) {
    const order = rows.map((_, row) => row);
    if (!sort) return order;
    const { column, descending } = sort;
    return order.sort((a, b) => {
        const [cell_a, cell_b] = [rows[a][column], rows[b][column]];
        const by_kind = Number(kindOf(cell_a) === 2) - Number(kindOf(cell_b) === 2);
        // The sort is stable: equal cells keep their order.
        const by_value = compareCells(cell_a, cell_b);
        return by_kind || (descending ? -by_value : by_value);
    });
}

/**
 * Rows of `order` that contain all words of `filter`, in any of their cells, in upper or lower case.
 * @param {string[]} texts all of a row's text, in lower case, by row @param {number[]} order @param {string} filter
 */
export function filteredOrder(texts, order, filter) {
    const words = filter
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== "");
    return words.length === 0 ? order : order.filter((row) => words.every((word) => texts[row].includes(word)));
}

/** A field of separated values. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
function field(cell, separator) {
    if (cell === null || cell === undefined) return "";
    let text = String(cell);
    if (typeof cell === "string" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
    return text.includes(separator) || /["\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

/**
 * Rows as separated text (RFC 4180): titles with their units first, numbers whole and with a point.
 * @param {import("../types").Column[]} columns @param {import("../types").Cell[][]} rows @param {number[]} order
 * @param {string} separator "," or a tab
 */
export function separated(columns, rows, order, separator) {
    const titles = columns.map((column) => {
        const has_unit = column.unit !== "" && column.unit !== "text" && column.unit !== "count";
        return has_unit ? `${column.title} (${column.unit})` : column.title;
    });
    const lines = [titles, ...order.map((row) => rows[row])];
    return lines.map((cells) => cells.map((cell) => field(cell, separator)).join(separator) + "\r\n").join("");
}

/**
 * The sort after a press on a column's title: first the most useful direction (numbers from the largest, texts from the
 * first), then the other one, then none.
 */
export function choiceOfSort(sort, column, numeric) {
    if (!sort || sort.column !== column) return { column, descending: numeric };
    return sort.descending === numeric ? { column, descending: !numeric } : null;
}
