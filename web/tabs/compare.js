// The tab that compares two runs, A and B: their facts with differences, both timelines on one axis, bars of equal id
// beside each other on one scale, and tables of equal id joined by their first column. What is better or worse is said
// by a word and a sign, not by colour alone.

import { element } from "../dom.js";
import { firstView } from "../state.js";
import { timelinePair } from "../timeline/tab.js";
import { longestOf, showBars } from "./bars.js";
import { betterWay, difference, joinedRows, joinLabels } from "./difference.js";
import { showLines } from "./lines.js";
import { choice, makePart, signed } from "./part.js";
import { showPage } from "./section.js";
import { showTable } from "./table.js";

const ONLY_A = "only in A";
const ONLY_B = "only in B";

/** Which run is B: the chosen one, else the first that is not A. */
function otherRun(context) {
    const { compare, run } = context.state.view;
    const runs = context.document.runs;
    return compare !== null && compare !== run && runs[compare] ? compare : runs.findIndex((_, number) => number !== run);
}

function shareText(share) {
    return share === null ? "" : `${share > 0 ? "+" : share < 0 ? "\u2212" : ""}${Math.abs(100 * share).toFixed(1)} %`;
}

/** A word for what a difference means, with an arrow for its way. */
function verdictText(change) {
    const arrow = change.absolute > 0 ? "\u25b2" : change.absolute < 0 ? "\u25bc" : "";
    return `${arrow} ${change.verdict || (change.absolute > 0 ? "more" : "less")}`.trim();
}

function factCell(fact, format) {
    if (!fact)
        return element("td", { class: "number quiet" }, "\u2013");
    return element("td", { class: "number" }, fact.text ?? format.value(fact.value, fact.unit),
        fact.basis ? element("span", { class: "basis" }, fact.basis) : null);
}

/** Facts of both, side by side. */
function factTable(a, b, format) {
    const rows = joinLabels(a.facts.map((fact) => fact.label), b.facts.map((fact) => fact.label)).map(([row_a, row_b]) => {
        const [fact_a, fact_b] = [row_a === null ? null : a.facts[row_a], row_b === null ? null : b.facts[row_b]];
        const { label, unit } = /** @type {import("../types").Fact} */ (fact_a ?? fact_b);
        const same_unit = !fact_a || !fact_b || fact_a.unit === fact_b.unit;
        const change = same_unit ? difference(fact_a?.value, fact_b?.value, betterWay(label, unit)) : null;
        const text_change = fact_a && fact_b && !change && fact_a.text !== fact_b.text ? "differs" : "";
        const alone = !fact_a ? ONLY_B : !fact_b ? ONLY_A : text_change;
        return element("tr", {}, element("th", { scope: "row" }, fact_a && fact_b && fact_a.label !== fact_b.label ? `${fact_a.label} / ${fact_b.label}` : label), factCell(fact_a, format), factCell(fact_b, format),
            element("td", { class: `number change ${change?.verdict ?? ""}` }, change && change.absolute !== 0 ? signed(format, change.absolute, unit) : ""),
            element("td", { class: `number change ${change?.verdict ?? ""}` }, change && change.absolute !== 0 ? shareText(change.share) : ""),
            element("td", { class: change?.verdict ?? "" }, change ? verdictText(change) : alone));
    });
    const heads = ["", "A", "B", "Difference", "Percent", "Meaning"].map((title, i) =>
        element("th", { scope: "col", class: i > 0 && i < 5 ? "number" : null }, title));
    const { part, body } = makePart("Facts");
    body.append(element("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Facts of both" },
        element("table", { class: "facts-pair" }, element("thead", {}, element("tr", {}, heads)), element("tbody", {}, rows))));
    return part;
}

/** Both runs to choose from, and a button that swaps them. */
function chooser(context, other) {
    const { state, document } = context;
    const runs = document.runs.map((run, number) => /** @type {[string, string]} */ ([String(number), run.name]));
    const { run } = state.view;
    const open = (a, b) => {
        const { begin, end, top, selected, range, pointer, marks, folded } = firstView(document, a);
        state.set(a === run ? { compare: b } : { run: a, compare: b, begin, end, top, selected, range, pointer, marks, folded });
    };
    // What is chosen twice is swapped, so that A and B are never the same.
    return element("div", { class: "chooser" },
        choice("A", runs, String(run), (value) => open(Number(value), Number(value) === other ? run : other)),
        choice("B", runs, String(other), (value) => Number(value) === run ? open(other, run) : open(run, Number(value))),
        element("button", { type: "button", onclick: () => open(other, run) }, "Swap A and B"),
        element("span", { class: "quiet" }, "Differences go from A to B."));
}

/** Columns of figures that can be compared. */
function figureColumns(a, b) {
    const figures = (table) => table.columns.filter((column, i) => i > 0 && column.unit !== "text" && table.rows.some((row) => typeof row[i] === "number"));
    const columns = figures(a);
    return [...columns, ...figures(b).filter((column) => !columns.some((other) => other.name === column.name))];
}

/** @returns {() => void} */
function joinedTable(root, a, b, context) {
    const figures = figureColumns(a, b);
    if (figures.length === 0)
        return () => {};
    const sorted = a.sort ? a.columns[a.sort.column].name : "";
    const holder = element("div");
    root.append(holder);
    let end = () => {};
    const show = (name) => {
        const column = figures.find((figure) => figure.name === name) ?? figures[0];
        const rows = joinedRows(a, b, column.name, ONLY_A, ONLY_B);
        const figure = (id, title, unit = column.unit) => ({ name: id, title, unit, search: false });
        end();
        end = showTable(holder, {
            id: a.id, title: a.title, sort: null, rows,
            columns: [a.columns[0], figure("a", `${column.title}, A`), figure("b", `${column.title}, B`), figure("difference", "Difference"),
                figure("share", "Percent", "%"), figure("meaning", "Meaning", "text")],
        }, context, {
            tools: figures.length > 1 ? [choice("Figure", figures.map((other) => [other.name, other.title]), column.name, show)] : [],
            decorate: (cell, row, number) => {
                const [absolute, verdict] = [rows[row][3], rows[row][5]];
                if (number < 3)
                    return;
                cell.style.removeProperty("--share");
                if (typeof absolute === "number" && absolute > 0 && number < 5)
                    cell.textContent = `+${cell.textContent}`;
                if (typeof verdict === "string" && (verdict === "better" || verdict === "worse"))
                    cell.classList.add(verdict);
                if (number === 5 && typeof absolute === "number")
                    cell.textContent = verdictText({ absolute, verdict });
            },
        });
    };
    show(figures.some((figure) => figure.name === sorted) ? sorted : figures[0].name);
    return () => end();
}

/** Parts of equal id in the sections of equal name: [of A, of B]; and the titles of what only one has. */
function pairsOf(a, b, kind) {
    const known = (run) => run.sections.flatMap((section) => (section[kind] ?? []).map((part) => ({ key: `${section.name}/${part.id}`, part })));
    const [all_a, all_b] = [known(a), known(b)];
    const pairs = all_a.map(({ key, part }) => [part, all_b.find((other) => other.key === key)?.part]).filter(([, other]) => other);
    const alone = (list, others, where) => list.filter(({ key }) => !others.some((other) => other.key === key)).map(({ part }) => `${part.title}: ${where}`);
    return { pairs, alone: [...alone(all_a, all_b, ONLY_A), ...alone(all_b, all_a, ONLY_B)] };
}

function beside(page, show_a, show_b) {
    const holder = element("div", { class: "beside" });
    const [left, right] = [element("div"), element("div")];
    holder.append(left, right);
    page.append(holder);
    return [show_a(left), show_b(right)];
}

/** Both timelines, where both runs have one. A promise that comes too late is taken down at once. */
function showTimelines(page, context, other) {
    if (!context.run.timeline || !context.document.runs[other].timeline)
        return () => {};
    const { part, body } = makePart("Timelines");
    const holder = element("div", { class: "timeline-pair" });
    page.append(part);
    let end = () => part.remove();
    let ended = false;
    Promise.resolve(context.of(other)).then((of_other) => {
        if (ended || context.source === null || of_other.source === null)
            return;
        body.append(holder);
        end = timelinePair(holder, context, of_other);
    });
    return () => {
        ended = true;
        end();
    };
}

/** @type {import("../types").Tab} */
export const compareTab = {
    id: "compare",
    title: "Compare",
    present: (context) => context.document.runs.length > 1,
    show(root, context) {
        const { state } = context;
        const build = (page) => {
            const other = otherRun(context);
            const [a, b] = [context.run, context.document.runs[other]];
            const [bars, lines, tables] = ["bars", "lines", "tables"].map((kind) => pairsOf(a, b, kind));
            page.append(chooser(context, other), factTable(a, b, context.format));
            const ends = [
                showTimelines(page, context, other),
                ...bars.pairs.flatMap(([left, right]) => {
                    const longest = Math.max(longestOf(left), longestOf(right), left.limit ?? 0, right.limit ?? 0);
                    return beside(page, (holder) => showBars(holder, left, context, { longest, title: `${left.title}, A` }),
                        (holder) => showBars(holder, right, context, { longest, title: `${right.title}, B` }));
                }),
                ...lines.pairs.flatMap(([left, right]) => beside(page, (holder) => showLines(holder, { ...left, title: `${left.title}, A` }, context),
                    (holder) => showLines(holder, { ...right, title: `${right.title}, B` }, context))),
                ...tables.pairs.map(([left, right]) => joinedTable(page, left, right, context)),
            ];
            const alone = [bars, lines, tables].flatMap((kind) => kind.alone);
            if (alone.length > 0)
                page.append(element("h3", {}, "Without a counterpart"), element("ul", { class: "notes" }, alone.map((text) => element("li", {}, text))));
            return ends;
        };
        let end = showPage(root, context, build);
        const off = state.on(["compare"], (changed) => {
            if (changed.has("run"))
                return;
            end();
            end = showPage(root, context, build);
        });
        return () => {
            off();
            end();
        };
    },
};
