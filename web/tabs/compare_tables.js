// Tables of two runs joined by their first column, a figure at a time.

import { element } from "../dom.js";
import { ONLY_A, ONLY_B, verdictText } from "./compare_facts.js";
import { hasRanks, joinedRows } from "./difference.js";
import { choice, signed } from "./part.js";
import { showTable } from "./table.js";
import { say } from "../texts.js";

/** Columns of comparable figures. */
function figureColumns(a, b) {
    const figures = (table) =>
        table.columns.filter(
            (column, i) => i > 0 && column.unit !== "text" && table.rows.some((row) => typeof row[i] === "number"),
        );
    const columns = figures(a);
    return [...columns, ...figures(b).filter((column) => !columns.some((other) => other.name === column.name))];
}

/** Among the figures in the unit of the first that differs at all, the one that differs most; the first when none
 * does. */
function mostDifferent(figures, a, b) {
    const sums = figures.map((figure) =>
        joinedRows(a, b, figure.name, say(ONLY_A), say(ONLY_B)).reduce(
            (sum, [, , , absolute]) => sum + Math.abs(typeof absolute === "number" ? absolute : 0),
            0,
        ),
    );
    const first = Math.max(
        0,
        sums.findIndex((sum) => sum > 0),
    );
    return figures.reduce(
        (best, figure, i) =>
            figure.unit === figures[first].unit && sums[i] > sums[figures.indexOf(best)] ? figure : best,
        figures[first],
    );
}

/**
 * Two tables of equal id, joined: one figure at a time, the largest difference first.
 * @param {HTMLElement} root @param {import("../types").Table} a @param {import("../types").Table} b
 * @param {import("../types").Context} context @returns {() => void} ends it
 */
export function joinedTable(root, a, b, context) {
    const figures = figureColumns(a, b);
    if (figures.length === 0) return () => {};
    const sorted = a.sort ? a.columns[a.sort.column].name : "";
    const holder = element("div", { class: "holder" });
    root.append(holder);
    let end = () => {};
    const options = figures.map((other) => /** @type {[string, string]} */ ([other.name, other.title]));
    const choose = (name) => {
        show(name);
        holder.querySelector("select")?.focus();
    };
    const show = (name) => {
        const column = figures.find((figure) => figure.name === name) ?? figures[0];
        const rows = joinedRows(a, b, column.name, say(ONLY_A), say(ONLY_B));
        const figure = (id, title, unit = column.unit) => ({ name: id, title, unit, search: false });
        end();
        end = showTable(
            holder,
            {
                id: a.id,
                title: a.title,
                sort: null,
                rows,
                columns: [
                    { ...a.columns[0], search: a.columns[0].search && !hasRanks(a) && !hasRanks(b) },
                    figure("a", `${column.title}, A`),
                    figure("b", `${column.title}, B`),
                    figure("difference", say("Difference")),
                    figure("share", say("Percent"), "%"),
                    figure("meaning", say("Meaning"), "text"),
                ],
            },
            context,
            {
                tools: figures.length > 1 ? [choice(say("Figure"), options, column.name, choose)] : [],
                decorate: (cell, row, number) => {
                    const [absolute, verdict] = [rows[row][3], rows[row][5]];
                    if (number < 3) return;
                    cell.style.removeProperty("--share");
                    if (number === 3 && typeof absolute === "number")
                        cell.textContent = signed(context.format, absolute, column.unit);
                    if (number === 4 && typeof absolute === "number" && absolute > 0 && rows[row][4] !== null)
                        cell.textContent = `+${cell.textContent}`;
                    if (typeof verdict === "string" && (verdict === "better" || verdict === "worse"))
                        cell.classList.add(verdict);
                    if (number === 5 && typeof absolute === "number")
                        cell.textContent = verdictText({ absolute, verdict });
                },
            },
        );
    };
    show((figures.find((figure) => figure.name === sorted) ?? mostDifferent(figures, a, b)).name);
    return () => end();
}
