// A heat map from row to column, or of rows by columns of another kind, such as ranks by steps: cells on a canvas, so
// that a thousand ranks can be drawn, with labels, a legend of the colours and the values on hover and by the arrow
// keys. The same cells are a table below it, for reading aloud and for sorting. Cells that do not exist are left out of
// the picture.

import { element, fill } from "../dom.js";
import { cellsOf, choicesOf } from "./matrix_parts.js";
import { choice, makePart, onWidth } from "./part.js";
import { colorScale, niceTicks, tickText } from "./scale.js";
import { shortenTo, textWidth } from "./shorten.js";
import { showTable } from "./table.js";
import { hideTip, showTip } from "./tip.js";
import { key, say } from "../texts.js";

const LARGEST_CELL = 64;
const LABEL_HEIGHT = 15;
const WIDEST_LABEL = 150;
const LEGEND_WIDTH = 220;
const CHOICES = {
    step: { title: key("Step"), all: key("all steps") },
    operation: { title: key("Operation"), all: key("all operations") },
    transport: { title: key("Transport"), all: key("all transports") },
};

/** Colours of the style sheet for this theme, as computed by the browser for an element of that class. */
function colorOf(node, name) {
    const probe = element("i", { class: name, hidden: true });
    node.append(probe);
    const color = getComputedStyle(probe).backgroundColor;
    probe.remove();
    return color;
}

/** The two ends of the colours. */
function ramp(node) {
    return ["ramp-low", "ramp-high"].map((name) =>
        (colorOf(node, name).match(/[\d.]+/g) ?? []).slice(0, 3).map(Number),
    );
}

function mix([low, high], share) {
    const parts = low.map((value, i) => Math.round(value + (high[i] - value) * share));
    return { css: `rgb(${parts.join(" ")})`, light: parts[0] * 0.299 + parts[1] * 0.587 + parts[2] * 0.114 > 140 };
}

/** Labels without their common first words: above columns there is not much room. @param {string[]} labels */
export function shortLabels(labels) {
    if (labels.length < 2) return labels;
    const words = labels.map((label) => label.split(" "));
    let same = 0;
    while (words.every((one) => one.length > same + 1 && one[same] === words[0][same])) same++;
    return words.map((one) => one.slice(same).join(" "));
}

/** The cells as a table. @returns {import("../types").Table} */
function asTable(matrix) {
    return {
        id: `${matrix.id}-cells`,
        title: say("{0}, as a table", matrix.title),
        sort: { column: 2, descending: true },
        columns: [
            { name: "from", title: matrix.columns ? say("Row") : say("From"), unit: "text", search: false },
            { name: "to", title: matrix.columns ? say("Column") : say("To"), unit: "text", search: false },
            { name: "value", title: say("Value"), unit: matrix.unit, search: false },
            { name: "what", title: say("What"), unit: "text", search: false },
        ],
        rows: matrix.cells.map(([row, column, value, text]) => [
            matrix.labels[row],
            (matrix.columns ?? matrix.labels)[column],
            value,
            text,
        ]),
    };
}

/**
 * @param {HTMLElement} root @param {import("../types").Matrix} matrix @param {import("../types").Context} context
 * @returns {() => void}
 */
export function showMatrix(root, matrix, context) {
    const { format } = context;
    const n = matrix.labels.length;
    const labels = matrix.columns ?? matrix.labels;
    const m = labels.length;
    /** The shown cells: all, or the selected ones. */
    let shown = matrix;
    // Local traffic, as a copy on one device, would hide the differences between the links.
    const valuesOf = (/** @type {import("../types").Matrix} */ { cells, columns }) => {
        const moved = columns ? cells : cells.filter((cell) => cell[0] !== cell[1]);
        return (moved.length > 0 ? moved : cells).map((cell) => cell[2]);
    };
    let values = valuesOf(shown);
    const placesOf = (/** @type {import("../types").Matrix} */ { cells }) => new Map(cells.map((cell) => [cell[0] * m + cell[1], cell]));
    let places = placesOf(shown);
    const label_width =
        Math.min(WIDEST_LABEL, Math.ceil(Math.max(20, ...matrix.labels.map((label) => textWidth(label))))) + 10;
    const above = shortLabels(labels);
    const above_width = Math.min(WIDEST_LABEL, Math.ceil(above.reduce((most, label) => Math.max(most, textWidth(label)), 0))) + 8;
    const from_least = Boolean(matrix.columns);
    let logarithmic = false;
    let scale = colorScale(values, false, from_least);
    let size = 0;
    let at = [0, 0];
    let width = 0;

    const chosen = { step: "", operation: "", transport: "" };
    const choose = ({ kind, values: of }) =>
        choice(
            say(CHOICES[kind].title),
            [["", say(CHOICES[kind].all)], ...of.map((value) => [value, value || say("(without a name)")])],
            "",
            (value) => {
                chosen[kind] = value;
                use({ ...matrix, cells: cellsOf(matrix, chosen) });
            },
        );
    const { part, body } = makePart(
        matrix.title,
        ...choicesOf(matrix).map(choose),
        choice(
            say("Colours"),
            [
                ["linear", say("linear")],
                ["logarithmic", say("logarithmic")],
            ],
            "linear",
            (value) => {
                logarithmic = value === "logarithmic";
                scale = colorScale(values, logarithmic, from_least);
                draw();
            },
        ),
    );
    const canvas = element("canvas", {
        tabindex: 0,
        role: "application",
        "aria-roledescription": say("heat map"),
        "aria-label": say("{0}: {1} by {2}, arrow keys move from cell to cell", matrix.title, n, m),
    });
    const said = element(
        "p",
        { class: "quiet matrix-said", role: "status" },
        say("Point at a cell, or move with the arrow keys."),
    );
    const legend = element("div", { class: "matrix-legend" });
    const details = element("details", { class: "as-table" }, element("summary", {}, say("The same as a table")));
    const holder = element("div", { class: "matrix-holder" }, canvas);
    body.append(
        element("div", { class: "matrix" }, holder, element("div", { class: "matrix-side" }, legend, said)),
        details,
    );
    root.append(part);

    const textOf = (row, column) => {
        const cell = places.get(row * m + column);
        const way = matrix.columns
            ? `${matrix.labels[row]}, ${labels[column]}`
            : say("From {0} to {1}", matrix.labels[row], labels[column]);
        if (!cell) return say("{0}: nothing", way);
        return `${way}: ${format.value(cell[2], matrix.unit)}${cell[3] ? `\n${cell[3]}` : ""}`;
    };
    const drawLegend = (colors) => {
        const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => mix(colors, share).css);
        const { step } = niceTicks(scale.low, scale.high, 4);
        const ticks = values.some((value) => value !== 0) ? [0, 0.5, 1].map((share) => scale.at(share)) : [0];
        const { suffix, text } = tickText(matrix.unit, scale.high, step / 10);
        fill(
            legend,
            element("div", {
                class: "matrix-ramp",
                style: { background: `linear-gradient(to right, ${stops.join(", ")})`, width: `${LEGEND_WIDTH}px` },
            }),
            element(
                "div",
                { class: "matrix-ticks", style: { width: `${LEGEND_WIDTH}px` } },
                ticks.map((tick) => element("span", {}, `${text(tick)}${suffix ? ` ${suffix}` : ""}`)),
            ),
            matrix.columns ? null : element("p", { class: "quiet" }, say("Row: from. Column: to.")),
        );
    };
    const drawCells = (pen, colors) => {
        pen.fillStyle = colorOf(part, "ramp-nothing");
        pen.fillRect(label_width, LABEL_HEIGHT + 6, m * size, n * size);
        const gap = size >= 6 ? 1 : 0;
        pen.textAlign = "center";
        for (const [row, column, value] of shown.cells) {
            const color = mix(colors, scale.of(value));
            const [x, y] = [label_width + column * size, LABEL_HEIGHT + 6 + row * size];
            pen.fillStyle = color.css;
            pen.fillRect(x, y, size - gap, size - gap);
            const text = format.value(value, matrix.unit);
            if (size >= 40 && pen.measureText(text).width < size - 6) {
                pen.fillStyle = color.light ? "#000" : "#fff";
                pen.fillText(text, x + size / 2, y + size / 2 + 4);
            }
        }
    };
    const drawLabels = (pen, style) => {
        pen.fillStyle = style.color;
        const every = Math.max(1, Math.ceil(LABEL_HEIGHT / size));
        pen.textAlign = "right";
        for (let row = 0; row < n; row += every)
            pen.fillText(
                shortenTo(matrix.labels[row], (label_width - 10) * 1.08),
                label_width - 5,
                LABEL_HEIGHT +
                    6 +
                    row * size +
                    Math.min(size, LABEL_HEIGHT) / 2 +
                    (size > LABEL_HEIGHT ? (size - LABEL_HEIGHT) / 2 : 0) +
                    4,
            );
        pen.textAlign = "left";
        // As many as fit next to each other; where even one is wider than a few cells, shortened.
        const across = Math.max(1, Math.ceil(Math.min(above_width, 70) / size));
        for (let column = 0; column < m; column += across)
            pen.fillText(shortenTo(above[column], across * size - 8), label_width + column * size, LABEL_HEIGHT);
    };
    const draw = () => {
        if (width === 0) return;
        const beside = width > 700 ? LEGEND_WIDTH + 40 : 20;
        const tallest = Math.max(200, window.innerHeight - 260);
        const fits = Math.min((width - label_width - beside) / Math.max(m, 1), tallest / Math.max(n, 1), LARGEST_CELL);
        size = fits >= 4 ? Math.floor(fits) : Math.max(1, Math.ceil(fits));
        const [wide, tall] = [label_width + m * size + 40, LABEL_HEIGHT + 8 + n * size];
        const dense = window.devicePixelRatio || 1;
        canvas.width = Math.round(wide * dense);
        canvas.height = Math.round(tall * dense);
        canvas.style.width = `${wide}px`;
        canvas.style.height = `${tall}px`;
        const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
        pen.scale(dense, dense);
        const style = getComputedStyle(part);
        pen.font = `12px ${style.fontFamily}`;
        const colors = ramp(part);
        drawCells(pen, colors);
        drawLabels(pen, style);
        if (canvas.matches(":focus")) {
            pen.strokeStyle = style.color;
            pen.lineWidth = 2;
            pen.strokeRect(label_width + at[1] * size, LABEL_HEIGHT + 6 + at[0] * size, size, size);
        }
        drawLegend(colors);
    };
    const placeUnder = (event) => {
        const box = canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left - label_width) / size);
        const row = Math.floor((event.clientY - box.top - LABEL_HEIGHT - 6) / size);
        return row >= 0 && row < n && column >= 0 && column < m ? [row, column] : null;
    };
    canvas.addEventListener("pointermove", (event) => {
        const place = placeUnder(event);
        if (!place) return hideTip();
        said.textContent = textOf(place[0], place[1]);
        return showTip(textOf(place[0], place[1]), event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("pointerdown", (event) => {
        at = placeUnder(event) ?? at;
        draw();
    });
    canvas.addEventListener("keydown", (event) => {
        const moves = {
            ArrowDown: [1, 0],
            ArrowUp: [-1, 0],
            ArrowRight: [0, 1],
            ArrowLeft: [0, -1],
            Home: [0, -m],
            End: [0, m],
        };
        const move = moves[event.key];
        if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        at = at.map((value, i) => Math.max(0, Math.min((i === 0 ? n : m) - 1, value + move[i])));
        said.textContent = textOf(at[0], at[1]);
        draw();
        holder.scrollTo({
            left: Math.max(0, at[1] * size - holder.clientWidth / 2),
            top: Math.max(0, at[0] * size - holder.clientHeight / 2),
        });
        const box = canvas.getBoundingClientRect();
        requestAnimationFrame(() =>
            showTip(
                textOf(at[0], at[1]),
                box.left + label_width + at[1] * size,
                box.top + LABEL_HEIGHT + (at[0] + 1) * size,
            ),
        );
    });
    canvas.addEventListener("focus", draw);
    canvas.addEventListener("blur", () => {
        hideTip();
        draw();
    });
    let end_table = null;
    const openTable = () => {
        if (details.open && !end_table) end_table = showTable(details, asTable(shown), context);
    };
    details.addEventListener("toggle", openTable);
    const use = (now) => {
        shown = now;
        values = valuesOf(now);
        places = placesOf(now);
        scale = colorScale(values, logarithmic, from_least);
        said.textContent = now.cells.length > 0 ? textOf(at[0], at[1]) : say("Nothing went this way.");
        draw();
        end_table?.();
        end_table = null;
        openTable();
    };
    const ended = onWidth(body, (now) => {
        width = now;
        draw();
    });
    return () => {
        ended();
        end_table?.();
        hideTip();
        part.remove();
    };
}
