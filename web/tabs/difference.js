// The comparison of two runs without its picture: differences of figures and whether they are improvements, and tables
// joined by their first column, of many ranks by the rank too. Among several rows with the same first cell the first
// matches the first, the second the second.

/**
 * The better direction of a figure: -1 less, 1 more, 0 unknown. The writer of the figure gives it; its title does not.
 * @param {import("../types").Better | undefined} better
 */
export function betterWay(better) {
    return better === "less" ? -1 : better === "more" ? 1 : 0;
}

/**
 * From a to b: `absolute` is b - a, `share` is (b - a) / |a| or null for a = 0; `verdict` is "better", "worse", "same"
 * or "" where the better direction is unknown. Null where one of the two is not a number.
 * @param {unknown} a @param {unknown} b @param {number} way of betterWay
 */
export function difference(a, b, way) {
    if (typeof a !== "number" || typeof b !== "number" || !Number.isFinite(a) || !Number.isFinite(b)) return null;
    const absolute = b - a;
    const share = a === 0 ? (b === 0 ? 0 : null) : absolute / Math.abs(a);
    if (absolute === 0) return { absolute, share, verdict: "same" };
    return { absolute, share, verdict: way === 0 ? "" : Math.sign(absolute) === way ? "better" : "worse" };
}

/** The key of rows: their `name`, and the number of earlier rows with the same. */
function rowKeys(rows, name) {
    const seen = new Map();
    return rows.map((row) => {
        const text = name(row);
        const before = seen.get(text) ?? 0;
        seen.set(text, before + 1);
        return `${before} ${text}`;
    });
}

const firstCell = (row) => `${typeof row[0]} ${row[0]}`;

/**
 * Pairs of rows of two tables by their first cell: [row of a or null, row of b or null], those of a in order, then
 * those
 * only b has.
 * @param {import("../types").Cell[][]} a @param {import("../types").Cell[][]} b
 * @param {(row: import("../types").Cell[]) => string} [name_a] instead of the first cell
 * @param {(row: import("../types").Cell[]) => string} [name_b]
 * @returns {[number | null, number | null][]}
 */
export function joinRows(a, b, name_a = firstCell, name_b = name_a) {
    const places = new Map(rowKeys(b, name_b).map((key, row) => [key, row]));
    const pairs = rowKeys(a, name_a).map((key, row) => {
        const other = places.get(key) ?? null;
        places.delete(key);
        return /** @type {[number | null, number | null]} */ ([row, other]);
    });
    for (const row of places.values()) pairs.push([null, row]);
    return pairs;
}

/** Column of a row's rank; -1 without. @param {import("../types").Table} table */
const rankColumn = (table) => table.columns.findIndex((column, i) => i > 0 && column.name === "rank");

/** Is there more than one rank? @param {import("../types").Table} table */
export function hasRanks(table) {
    const column = rankColumn(table);
    return column > 0 && table.rows.some((row) => row[column] !== table.rows[0][column]);
}

/**
 * Pairs of rows of two tables: rows of one rank match when there are many ranks, else the rank does not count, so that
 * a run of any single rank matches the first one of many.
 * @param {import("../types").Table} a @param {import("../types").Table} b
 */
function joinTables(a, b) {
    if (!hasRanks(a) || !hasRanks(b)) return joinRows(a.rows, b.rows);
    const named = (table) => (row) => `${row[rankColumn(table)]} ${firstCell(row)}`;
    return joinRows(a.rows, b.rows, named(a), named(b));
}

/**
 * Pairs of labels as joinRows makes them; then the rest of both is joined without numbers, so that the "peak of stage
 * 3" matches the "peak of stage 0".
 * @param {string[]} a @param {string[]} b @returns {[number | null, number | null][]}
 */
export function joinLabels(a, b) {
    const pairs = joinRows(
        a.map((label) => [label]),
        b.map((label) => [label]),
    );
    const plain = (label) => label.replace(/\d+/g, "#");
    const rest = pairs.filter(([row]) => row === null).map(([, row]) => /** @type {number} */ (row));
    const met = pairs
        .filter(([row]) => row !== null)
        .map(([row_a, row_b]) => {
            const place =
                row_b === null
                    ? rest.findIndex((row) => plain(b[row]) === plain(a[/** @type {number} */ (row_a)]))
                    : -1;
            return /** @type {[number, number | null]} */ ([row_a, place < 0 ? row_b : rest.splice(place, 1)[0]]);
        });
    return [...met, ...rest.map((row) => /** @type {[null, number]} */ ([null, row]))];
}

/**
 * The joined table of one figure: its rows are [first cell (with its rank where there are many), a's figure, b's
 * figure, difference, share in percent, verdict], the largest difference first, then rows that only one has by their
 * figure, then rows without any. `b` has the figure by its name; where it has no such column it has no figures.
 * @param {import("../types").Table} a @param {import("../types").Table} b @param {string} name of the figure's column
 * @returns {import("../types").Cell[][]}
 */
export function joinedRows(a, b, name, only_a, only_b) {
    const column_a = a.columns.findIndex((column) => column.name === name);
    const column_b = b.columns.findIndex((column) => column.name === name);
    const column = a.columns[column_a] ?? b.columns[column_b];
    const way = betterWay(column.better);
    const figure = (table, row, number) => (row === null || number < 0 ? null : table.rows[row][number]);
    const ranked = hasRanks(a) || hasRanks(b);
    const rows = joinTables(a, b).map(([row_a, row_b]) => {
        const [cell_a, cell_b] = [figure(a, row_a, column_a), figure(b, row_b, column_b)];
        const change = difference(cell_a, cell_b, way);
        const alone = row_b === null ? only_a : row_a === null ? only_b : null;
        const [of, row] = row_a === null ? [b, b.rows[/** @type {number} */ (row_b)]] : [a, a.rows[row_a]];
        const first = ranked ? `${row[rankColumn(of)]}: ${row[0]}` : row[0];
        const share = change?.share ?? null;
        return [
            first,
            cell_a,
            cell_b,
            change ? change.absolute : null,
            share === null ? null : 100 * share,
            alone ?? (change ? change.verdict : ""),
        ];
    });
    const weight = (row) => (row[3] !== null ? Math.abs(row[3]) : -1);
    const size = (row) => Math.abs(typeof row[1] === "number" ? row[1] : typeof row[2] === "number" ? row[2] : 0);
    return rows
        .map((row, place) => ({ row, place }))
        .sort(
            (x, y) =>
                weight(y.row) - weight(x.row) ||
                (weight(x.row) < 0 ? size(y.row) - size(x.row) : 0) ||
                x.place - y.place,
        )
        .map(({ row }) => row);
}
