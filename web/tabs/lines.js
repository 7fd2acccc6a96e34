// A line chart on round ticks: a colour and a mark for each series, hollow where a point requests it, gaps where there
// is no value, a line for the limit. The pointer and the arrow keys go to the nearest point and show its values; its
// series is highlighted, and so is that of the legend's entry at the pointer or with the focus. Colours repeat after
// eight series, with other dashes. No logarithmic axes.

import { element, fill, svg } from "../dom.js";
import { choice, copyButton, makePart, onWidth } from "./part.js";
import { separated } from "./rows.js";
import { niceTicks, placeOf, tickText } from "./scale.js";
import { textWidth } from "./shorten.js";
import { hideTip, showTip } from "./tip.js";
import { say } from "../texts.js";

const HEIGHT = 300;
const [TOP, BOTTOM, RIGHT] = [14, 44, 24];
const MARKS_UP_TO = 200;
const N_COLORS = 8;
const DASHES = ["", "7 3", "2 3", "10 3 2 3", "14 4", "1 5"];
const CHOICE_FROM = 9; // number of series from which on a list selects a single one
let next_id = 0;

/** The dashes of a series' line: another pattern each time that colours repeat. @param {number} number */
export const dashOf = (number) => DASHES[Math.floor(number / N_COLORS) % DASHES.length];

/** The path of points with values: straight, or holding each value until the next point. */
export function pathOf(run, steps, toX, toY) {
    return run
        .map(([x, y], i) => {
            const [px, py] = [toX(x).toFixed(1), toY(y).toFixed(1)];
            return i === 0 ? `M${px} ${py}` : steps ? `H${px}V${py}` : `L${px} ${py}`;
        })
        .join("");
}

/** The outline of a mark of a series: neighbours differ in shape as well as in colour. */
function markPath(number, x, y, r) {
    const shapes = [
        `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
        `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
        `M${x} ${y - r - 1}L${x + r + 1} ${y + r}H${x - r - 1}z`,
        `M${x} ${y - r - 1}L${x + r + 1} ${y}L${x} ${y + r + 1}L${x - r - 1} ${y}z`,
    ];
    // Where colours repeat the shape is another one.
    return shapes[(number + Math.floor(number / N_COLORS)) % shapes.length];
}

/** Runs of points with values: a line each. */
export function unbroken(points) {
    const runs = [];
    let run = [];
    for (const point of points) {
        if (typeof point[1] === "number" && Number.isFinite(point[1])) {
            run.push(point);
        } else if (run.length > 0) {
            runs.push(run);
            run = [];
        }
    }
    return run.length > 0 ? [...runs, run] : runs;
}

/** Series side by side for copying: a row for each x. */
function asTable(lines) {
    const columns = [lines.x.title, ...lines.series.map((series) => series.name)].map((title, i) => ({
        name: title,
        title,
        unit: i === 0 ? lines.x.unit : lines.y.unit,
        search: false,
    }));
    const by_x = new Map();
    lines.series.forEach((series, i) =>
        series.points.forEach(([x, y]) => {
            const row = by_x.get(x) ?? [x, ...lines.series.map(() => null)];
            row[i + 1] = y;
            by_x.set(x, row);
        }),
    );
    return { columns, rows: [...by_x.values()].sort((a, b) => a[0] - b[0]) };
}

/**
 * @param {HTMLElement} root @param {import("../types").Lines} lines @param {import("../types").Context} context
 * @returns {() => void}
 */
export function showLines(root, lines, context) {
    const { format, colors } = context;
    const points = lines.series.flatMap((series, number) =>
        series.points
            .filter((point) => typeof point[1] === "number" && Number.isFinite(point[1]))
            .map(([x, y]) => ({ x, y: /** @type {number} */ (y), number })),
    );
    const hidden = new Set();
    const limit = typeof lines.limit === "number" ? lines.limit : null;
    let from_zero = true;
    let active = -1;
    let stressed = -1; // the legend's series at the pointer
    let width = 0;
    const clip = `lines-${next_id++}`;
    let at = (_point) => [0, 0];

    const table = asTable(lines);
    const showOnly = (value) => {
        hidden.clear();
        if (value !== "") lines.series.forEach((_, i) => i !== Number(value) && hidden.add(i));
        [...legend.querySelectorAll("button")].forEach((button, i) =>
            button.setAttribute("aria-pressed", String(!hidden.has(i))),
        );
        draw();
    };
    const stress = (number) => {
        if (stressed === number) return;
        stressed = number;
        draw();
    };
    const { part, body } = makePart(
        lines.title,
        lines.series.length < CHOICE_FROM
            ? null
            : choice(
                  say("Show"),
                  [
                      ["", say("all {0} curves", lines.series.length)],
                      ...lines.series.map((series, i) => /** @type {[string, string]} */ ([String(i), series.name])),
                  ],
                  "",
                  showOnly,
              ),
        choice(
            say("Axis"),
            [
                ["zero", say("from 0")],
                ["tight", say("only what is there")],
            ],
            "zero",
            (value) => {
                from_zero = value === "zero";
                draw();
            },
        ),
        copyButton(say("Copy CSV"), () =>
            separated(
                table.columns,
                table.rows,
                table.rows.map((_, i) => i),
                ",",
            ),
        ),
    );
    const said = element("p", { class: "unseen", role: "status" });
    const picture = svg("svg", {
        class: "lines",
        tabindex: 0,
        role: "application",
        "aria-roledescription": say("line chart"),
        "aria-label": say("{0}: {1} by {2}, arrow keys go from point to point", lines.title, lines.y.title, lines.x.title),
    });
    const legend = element(
        "ul",
        { class: lines.series.length < CHOICE_FROM ? "legend" : "legend many" },
        lines.series.map((series, i) => {
            const button = element(
                "button",
                {
                    type: "button",
                    "aria-pressed": "true",
                    onpointerenter: () => stress(i),
                    onpointerleave: () => stress(-1),
                    onfocus: () => stress(i),
                    onblur: () => stress(-1),
                    onclick: () => {
                        if (!hidden.delete(i)) hidden.add(i);
                        button.setAttribute("aria-pressed", String(!hidden.has(i)));
                        draw();
                    },
                },
                svg(
                    "svg",
                    { width: 22, height: 12, "aria-hidden": "true" },
                    svg("path", {
                        d: "M0 6H22",
                        stroke: colors.series(i),
                        "stroke-width": 2,
                        "stroke-dasharray": dashOf(i) || null,
                    }),
                    svg("path", { d: markPath(i, 11, 6, 3.5), fill: colors.series(i) }),
                ),
                series.name,
            );
            return element("li", {}, button);
        }),
    );
    body.append(legend, picture, said);
    root.append(part);

    const seen = () => points.filter((point) => !hidden.has(point.number));
    const textOf = (point) =>
        `${lines.series[point.number].name}\n${lines.x.title}: ${format.value(point.x, lines.x.unit)}\n` +
        `${lines.y.title}: ${format.value(point.y, lines.y.unit)}`;
    const titleOf = (axis, suffix) => (suffix !== "" ? `${axis.title} (${suffix})` : axis.title);

    const draw = () => {
        if (width === 0) return;
        const xs = points.map((point) => point.x);
        const ys = [...seen().map((point) => point.y), ...(limit === null ? [] : [limit])];
        const least = (list) => list.reduce((a, b) => Math.min(a, b), Infinity);
        const most = (list) => list.reduce((a, b) => Math.max(a, b), -Infinity);
        const [low_x, high_x] = [least(xs), most(xs)];
        const y = niceTicks(from_zero ? Math.min(0, least(ys)) : least(ys), most(ys), 5);
        const y_text = tickText(lines.y.unit, Math.max(Math.abs(y.low), Math.abs(y.high)), y.step);
        const left = Math.ceil(Math.max(...y.ticks.map((tick) => textWidth(y_text.text(tick))))) + 34;
        const nice_x = niceTicks(
            low_x,
            high_x,
            Math.max(2, Math.floor((width - left) / 90)),
            lines.x.unit === "count" ? 1 : 0,
        );
        const [pad_low, pad_high] = high_x > low_x ? [low_x, high_x] : [nice_x.low - nice_x.step, nice_x.high];
        const x_ticks = nice_x.ticks.filter(
            (tick) => tick >= pad_low - 1e-9 * nice_x.step && tick <= pad_high + 1e-9 * nice_x.step,
        );
        const x_text = tickText(lines.x.unit, Math.max(Math.abs(low_x), Math.abs(high_x)), nice_x.step);
        const [inner_width, inner_height] = [width - left - RIGHT, HEIGHT - TOP - BOTTOM];
        const toX = (value) => left + 8 + placeOf(value, pad_low, pad_high) * (inner_width - 16);
        const toY = (value) => TOP + (1 - placeOf(value, y.low, y.high)) * inner_height;
        at = (point) => [toX(point.x), toY(point.y)];
        picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
        picture.setAttribute("height", String(HEIGHT));
        const grid = y.ticks.map((tick) => [
            svg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: toY(tick), y2: toY(tick) }),
            svg("text", { x: left - 6, y: toY(tick) + 4, "text-anchor": "end" }, y_text.text(tick)),
        ]);
        const below = x_ticks.map((tick) => [
            svg("line", { class: "tick", x1: toX(tick), x2: toX(tick), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4 }),
            svg("text", { x: toX(tick), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, x_text.text(tick)),
        ]);
        const titles = [
            svg(
                "text",
                { class: "title", x: left + inner_width / 2, y: HEIGHT - 6, "text-anchor": "middle" },
                titleOf(lines.x, x_text.suffix),
            ),
            svg(
                "text",
                {
                    class: "title",
                    transform: `translate(13 ${TOP + inner_height / 2}) rotate(-90)`,
                    "text-anchor": "middle",
                },
                titleOf(lines.y, y_text.suffix),
            ),
        ];
        const curves = lines.series.map((series, i) => (hidden.has(i) ? null : drawSeries(series, i, toX, toY)));
        const limit_line =
            limit === null
                ? null
                : [
                      svg("line", { class: "limit", x1: left, x2: width - RIGHT, y1: toY(limit), y2: toY(limit) }),
                      svg(
                          "text",
                          { class: "limit-text", x: width - RIGHT - 4, y: toY(limit) - 5, "text-anchor": "end" },
                          say("limit {0}", format.value(limit, lines.y.unit)),
                      ),
                  ];
        const inside = svg(
            "clipPath",
            { id: clip },
            svg("rect", { x: left, y: TOP - 5, width: Math.max(0, width - RIGHT - left), height: inner_height + 6 }),
        );
        fill(
            picture,
            svg("defs", {}, inside),
            grid,
            below,
            titles,
            limit_line,
            svg("g", { "clip-path": `url(#${clip})` }, curves),
            marker(),
        );
    };
    const drawSeries = (series, i, toX, toY) => {
        const runs = unbroken(series.points);
        const path = runs.map((run) => pathOf(run, lines.steps === true, toX, toY)).join("");
        const first = stressed >= 0 ? stressed : (points[active]?.number ?? -1);
        const look = first < 0 ? null : i === first ? "stressed" : "faint";
        const marks = (points.length > MARKS_UP_TO ? runs.filter((run) => run.length === 1) : runs).flat();
        const outline = (list) =>
            list.map(([x, y]) => markPath(i, Number(toX(x).toFixed(1)), Number(toY(y).toFixed(1)), 3.5)).join("");
        const hollow = marks.filter((point) => point[2] === 1);
        return [
            svg("path", {
                class: look === null ? "curve" : `curve ${look}`,
                d: path,
                stroke: colors.series(i),
                "stroke-dasharray": dashOf(i) || null,
            }),
            svg("path", { class: look, d: outline(marks.filter((point) => point[2] !== 1)), fill: colors.series(i) }),
            hollow.length > 0
                ? svg("path", {
                      class: look === null ? "hollow" : `hollow ${look}`,
                      d: outline(hollow),
                      stroke: colors.series(i),
                  })
                : null,
        ];
    };
    const marker = () => {
        const point = points[active];
        if (!point || hidden.has(point.number)) return null;
        const [x, y] = at(point);
        return svg("circle", { class: "marker", cx: x, cy: y, r: 8 });
    };
    const activate = (number, x, y) => {
        active = number;
        draw();
        const point = points[number];
        said.textContent = textOf(point).replaceAll("\n", ", ");
        showTip(textOf(point), x, y);
    };
    picture.addEventListener("pointermove", (event) => {
        const box = picture.getBoundingClientRect();
        const [x, y] = [event.clientX - box.left, event.clientY - box.top];
        let [best, distance] = [-1, Infinity];
        points.forEach((point, number) => {
            const [px, py] = at(point);
            const away = hidden.has(point.number) ? Infinity : (px - x) ** 2 + (py - y) ** 2;
            if (away < distance) [best, distance] = [number, away];
        });
        if (best >= 0 && distance < 60 ** 2) activate(best, event.clientX, event.clientY);
        else hideTip();
    });
    const leave = () => {
        hideTip();
        active = -1;
        draw();
    };
    picture.addEventListener("pointerleave", leave);
    picture.addEventListener("blur", leave);
    picture.addEventListener("keydown", (event) => {
        const step = {
            ArrowRight: 1,
            ArrowDown: 1,
            ArrowLeft: -1,
            ArrowUp: -1,
            Home: -points.length,
            End: points.length,
        }[event.key];
        if (step === undefined || points.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        let next = Math.max(0, Math.min(points.length - 1, active + step));
        while (hidden.has(points[next].number) && next + Math.sign(step) >= 0 && next + Math.sign(step) < points.length)
            next += Math.sign(step);
        if (hidden.has(points[next].number)) return;
        const box = picture.getBoundingClientRect();
        const [x, y] = at(points[next]);
        activate(next, box.left + x, box.top + y);
    });
    const ended = onWidth(body, (now) => {
        width = now;
        draw();
    });
    return () => {
        ended();
        hideTip();
        part.remove();
    };
}
