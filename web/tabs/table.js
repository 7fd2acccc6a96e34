// A table that sorts by every column, filters by words and copies itself, for thousands of rows: only the visible ones
// are built. Column widths come from the longest texts; texts that have no room are shortened in the middle.

import { element } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { choiceOfSort, filteredOrder, separated, sortedOrder } from "./rows.js";
import { copyButton, makePart, onWidth } from "./part.js";
import { placeWords, readPlace, showPlace } from "../place.js";
import { shortenTo, textWidth } from "./shorten.js";
import { giveTip } from "./tip.js";
import { ALL_UP_TO, virtualRows } from "./virtual.js";
import { say, told, toldSentence } from "../texts.js";

const ROW_HEIGHT = 26;
const PADDING = 20;
const PLACE = 34; // the column of buttons that lead to the timeline
const PADDING_OF_NUMBER = 38;
const BUTTON = 26;
const TITLE_ROOM = 20 + 18; // padding and the arrow of the sort
const LINES = 2; // of a sentence; the rest is in the small text beside it
const WIDEST_TEXT = 520;
const NARROWEST_TEXT = 110;
const NARROWEST_FIRST = 230;
const SPARE = 60;
const ROOM_OF_SCROLLBAR = 18;
const FILTER_FROM = 9;
const NARROWEST_SENTENCE = 260; // a long one then takes two lines, and not ten
const WORDS_OF_SENTENCE = 4; // texts with this number of words are broken into lines; names are shortened
const LONG_FROM = 12;

/** Columns of numbers: those that have one in any of the first rows, or that have a unit of numbers. */
function isNumeric(table, column) {
    const { unit } = table.columns[column];
    return unit !== "text" && (unit !== "" || table.rows.slice(0, 50).some((row) => typeof row[column] === "number"));
}

function cellText(format, table, row, column) {
    const { name, unit, search } = table.columns[column];
    const value = table.rows[row][column];
    return format.value(search ? value : name === "setting" ? toldSentence(value) : told(value), unit);
}

/** Width of a title on two lines, broken where that is narrowest. */
function titleWidth(title) {
    const words = title.split(" ");
    const widths = words.map((_, i) =>
        Math.max(textWidth(words.slice(0, i + 1).join(" "), true), textWidth(words.slice(i + 1).join(" "), true)),
    );
    return Math.min(...widths);
}

/** Natural width of a column: its title, and the widest of its texts, estimated from the longest and the largest. */
function naturalWidth(format, table, column, numeric) {
    const { title, search } = table.columns[column];
    const step = Math.max(1, Math.floor(table.rows.length / 400));
    let longest = "";
    for (let row = 0; row < table.rows.length; row += numeric ? step : 1) {
        const text = cellText(format, table, row, column);
        longest = text.length > longest.length ? text : longest;
    }
    const words = textWidth(longest.slice(0, 200)) * 1.06;
    return Math.ceil(
        Math.max(titleWidth(title) + (numeric ? 2 : 18), numeric ? words : Math.min(WIDEST_TEXT, words)) +
            (numeric ? PADDING_OF_NUMBER : PADDING) +
            (search ? BUTTON : 0),
    );
}

/**
 * Widths for the available room: texts shrink when there is too little, the first text takes some of the rest.
 */
function fittedWidths(natural, numeric, room, sentences, titles) {
    const widths = [...natural];
    const narrowest = (column) =>
        Math.max(
            titles[column],
            column === 0 ? NARROWEST_FIRST : sentences[column] ? NARROWEST_SENTENCE : NARROWEST_TEXT,
        );
    const texts = widths.map((_, column) => column).filter((column) => !numeric[column]);
    let missing = widths.reduce((sum, width) => sum + width, 0) - room;
    for (const column of [...texts].sort((a, b) => widths[b] - widths[a])) {
        const give = Math.max(0, Math.min(missing, widths[column] - narrowest(column)));
        widths[column] -= give;
        missing -= give;
    }
    if (missing < 0 && texts.length > 0) widths[texts[0]] -= Math.max(missing, -SPARE);
    return widths;
}

/** The button that searches for a name in the timeline. @param {() => string} nameOf the row's name at that time */
function searchButton(context, nameOf) {
    const { state } = context;
    const button = element("button", { type: "button", class: "find" }, "\u2315");
    button.addEventListener("click", () => state.set({ query: nameOf(), tab: "timeline" }));
    giveTip(button, () => say("Show in the timeline:\n{0}", nameOf()));
    return button;
}

/** A cell with the button that leads to the row's place in the timeline. */
function placeCell(context, table) {
    /** @type {import("../place.js").Place | null} */
    let place = null;
    const words = () => (place === null ? "" : say("Show in timeline: {0}", placeWords(context, place)));
    const go = () => place !== null && void showPlace(context, place).catch((error) => showError(messageOf(error)));
    const button = element("button", { type: "button", class: "lead", onclick: go }, "\u2192");
    giveTip(button, words);
    const fill = (row) => {
        place = readPlace(table.places?.[row], context.run.timeline);
        button.hidden = place === null;
        button.setAttribute("aria-label", words());
    };
    return { node: element("td", { class: "place" }, button), fill };
}

/** A cell of numbers: its element, and the function that fills it for a row. */
function numberCell(format, table, column, most) {
    const text = document.createTextNode("");
    const node = element("td", { class: "number" }, text);
    const fill = (row) => {
        const value = table.rows[row][column];
        text.data = cellText(format, table, row, column);
        if (most > 0 && typeof value === "number" && value > 0)
            node.style.setProperty("--share", `${((100 * value) / most).toFixed(1)}%`);
        else node.style.removeProperty("--share");
    };
    return { node, fill };
}

/** A cell of texts. @param {() => number} widthOf its column */
function textCell(context, table, column, widthOf) {
    const { format, run } = context;
    const search = table.columns[column].search && Boolean(run.timeline);
    const is_setting = table.columns[column].name === "setting";
    let full = "";
    let shown = "";
    const name = element("span", { class: "name" });
    let whole = true; // is all of it visible?
    giveTip(name, () => (whole ? "" : full));
    const button = search ? searchButton(context, () => full) : null;
    const node = element("td", { class: search ? "sought" : null }, name, button);
    const fill = (row) => {
        const there = button !== null && typeof table.rows[row][column] === "string";
        const room = widthOf() - PADDING - (there ? BUTTON : 0);
        full = cellText(format, table, row, column);
        // A setting is copied from its cell: all of it is shown.
        const sentence = !there && table.rows.length <= ALL_UP_TO && (is_setting || full.split(" ").length >= WORDS_OF_SENTENCE);
        node.classList.toggle("all", is_setting && sentence);
        node.classList.toggle("sentence", sentence && textWidth(full) > room);
        shown = sentence ? full : shortenTo(full, room);
        name.textContent = shown;
        whole = shown === full && (is_setting || !(sentence && textWidth(full) > (LINES - 0.25) * room));
        if (whole) {
            name.removeAttribute("tabindex");
            name.removeAttribute("aria-label");
        } else {
            name.tabIndex = 0;
            name.setAttribute("aria-label", full);
        }
        if (button === null) return;
        button.hidden = !there;
        button.setAttribute("aria-label", say("Show {0} in the timeline", full));
    };
    return { node, fill };
}

/** The table without its empty columns; the first one stays. @param {import("../types").Table} table */
export function withoutEmpty(table) {
    const kept = table.columns
        .map((_, column) => column)
        .filter((column) => column === 0 || table.rows.some((row) => row[column] !== null && row[column] !== ""));
    if (kept.length === table.columns.length || table.rows.length === 0) return table;
    const at = table.sort ? kept.indexOf(table.sort.column) : -1;
    return {
        ...table,
        columns: kept.map((column) => table.columns[column]),
        rows: table.rows.map((row) => kept.map((column) => row[column])),
        sort: table.sort && at >= 0 ? { ...table.sort, column: at } : null,
    };
}

/**
 * @param {HTMLElement} root @param {import("../types").Table} given @param {import("../types").Context} context
 * @param {{ decorate?: (cell: HTMLElement, row: number, column: number) => void, tools?: HTMLElement[] }} [options]
 * @returns {() => void} ends it
 */
export function showTable(root, given, context, options = {}) {
    const { format } = context;
    const table = options.decorate ? given : withoutEmpty(given); // decorations go by the columns' numbers
    const numeric = table.columns.map((_, column) => isNumeric(table, column));
    const most = table.columns.map((column, number) =>
        column.unit !== "ns" && column.unit !== "time" && column.unit !== "MB"
            ? 0
            : table.rows.reduce((sum, row) => Math.max(sum, typeof row[number] === "number" ? row[number] : 0), 0),
    );
    const natural = table.columns.map((_, column) => naturalWidth(format, table, column, numeric[column]));
    const sentences = table.columns.map(
        (_, column) =>
            !numeric[column] &&
            table.rows.length <= ALL_UP_TO &&
            (table.columns[column].name === "setting" ||
                table.rows.some((row) => String(row[column] ?? "").split(" ").length >= WORDS_OF_SENTENCE)),
    );
    const titles = table.columns.map(({ title }) => titleWidth(title) + TITLE_ROOM);
    let widths = natural;
    let sort = table.sort;
    let filter = "";
    /** @type {string[] | null} */
    let texts = null;
    let order = sortedOrder(table.rows, sort);

    const count = element("span", { class: "count", role: "status" });
    const filter_box = element("input", {
        type: "search",
        placeholder: say("Filter rows"),
        "aria-label": say("Filter rows of {0}", table.title),
    });
    const tools = [
        copyButton(say("Copy CSV"), () => separated(table.columns, table.rows, order, ",")),
        copyButton(say("Copy TSV"), () => separated(table.columns, table.rows, order, "\t")),
    ];
    const few = table.rows.length < FILTER_FROM;
    const { part, body } = makePart(
        table.title,
        ...(options.tools ?? []),
        ...(few ? [] : [count, filter_box]),
        ...tools,
    );

    const placed = !options.decorate && (table.places ?? []).some((raw) => readPlace(raw, context.run.timeline) !== null);
    const columns = element(
        "colgroup",
        {},
        placed ? element("col", { style: { width: `${PLACE}px` } }) : null,
        table.columns.map(() => element("col")),
    );
    const heads = table.columns.map((column, number) => {
        const button = element("button", { type: "button", onclick: () => sortBy(number) }, column.title);
        return element("th", { scope: "col", class: numeric[number] ? "number" : null }, button);
    });
    const rows = element("tbody");
    const grid = element(
        "table",
        { class: "rows", "aria-rowcount": table.rows.length + 1 },
        columns,
        element(
            "thead",
            {},
            element(
                "tr",
                { "aria-rowindex": 1 },
                placed
                    ? element("th", { scope: "col", class: "place" }, element("span", { class: "unseen" }, say("Timeline")))
                    : null,
                heads,
            ),
        ),
        rows,
    );
    const scroller = element(
        "div",
        { class: "scroller of-rows", tabindex: 0, role: "region", "aria-label": table.title },
        grid,
    );
    scroller.classList.toggle("long", table.rows.length > LONG_FROM);
    part.classList.add("of-table");
    body.append(scroller);
    root.append(part);

    /** The functions that fill the cells of a row's element. @type {WeakMap<HTMLElement, ((row: number) => void)[]>} */
    const fills = new WeakMap();
    const makeRow = () => {
        const cells = table.columns.map((_, column) =>
            numeric[column]
                ? numberCell(format, table, column, most[column])
                : textCell(context, table, column, () => widths[column]),
        );
        if (placed) cells.unshift(placeCell(context, table));
        const node = element(
            "tr",
            {},
            cells.map((cell) => cell.node),
        );
        fills.set(
            node,
            cells.map((cell) => cell.fill),
        );
        return node;
    };
    const list = virtualRows(scroller, rows, "tbody", ROW_HEIGHT, (place, old) => {
        const row = order[place];
        // Decorations of cells are added once.
        const node = old && !options.decorate ? old : makeRow();
        node.setAttribute("aria-rowindex", String(place + 2));
        node.classList.toggle("odd", place % 2 === 1);
        fills.get(node)?.forEach((fill) => fill(row));
        if (options.decorate)
            [...node.children].forEach((cell, column) =>
                options.decorate?.(/** @type {HTMLElement} */ (cell), row, column),
            );
        return node;
    });

    const update = () => {
        order = sortedOrder(table.rows, sort);
        if (filter.trim() !== "") {
            texts ??= table.rows.map((_, row) =>
                table.columns
                    .map((_, column) => cellText(format, table, row, column))
                    .join("\n")
                    .toLowerCase(),
            );
            order = filteredOrder(texts, order, filter);
        }
        count.textContent =
            order.length === table.rows.length
                ? say("{0} rows", format.value(order.length, "count"))
                : say("{0} of {1} rows", format.value(order.length, "count"), format.value(table.rows.length, "count"));
        heads.forEach((head, column) => {
            const here = sort?.column === column;
            head.setAttribute("aria-sort", here ? (sort?.descending ? "descending" : "ascending") : "none");
        });
        list.reset(order.length);
    };
    const sortBy = (column) => {
        sort = choiceOfSort(sort, column, numeric[column]);
        scroller.scrollTop = 0;
        update();
    };
    filter_box.addEventListener("input", () => {
        filter = filter_box.value;
        scroller.scrollTop = 0;
        update();
    });
    const ended = onWidth(root, (width) => {
        widths = fittedWidths(natural, numeric, width - ROOM_OF_SCROLLBAR - (placed ? PLACE : 0), sentences, titles);
        grid.style.width = `${widths.reduce((sum, size) => sum + size, placed ? PLACE : 0)}px`;
        [...columns.children].slice(placed ? 1 : 0).forEach((node, column) => {
            /** @type {HTMLElement} */ (node).style.width = `${widths[column]}px`;
        });
        update();
    });
    update();
    return () => {
        ended();
        list.end();
        part.remove();
    };
}
