// Stacked horizontal bars on one scale, any number of them: a legend with totals, an axis with round ticks, a line
// for the limit, the bars in order or sorted by their sum or one part. Arrow keys go from bar to bar and show its
// values. Values below 0 have no length; their text shows them.

import { element, fill } from "../dom.js";
import {
    asTable,
    fullText,
    inkOn,
    legendOf,
    lengthOf,
    longestOf,
    percent,
    seriesColors,
    totalOf,
    wholeLength,
} from "./bars_parts.js";
import { choice, copyButton, makePart, onWidth } from "./part.js";
import { separated } from "./rows.js";
import { niceTicks, tickText } from "./scale.js";
import { shortenTo, textWidth } from "./shorten.js";
import { hideTip, showTip } from "./tip.js";
import { virtualRows } from "./virtual.js";
import { say } from "../texts.js";

const ROW_HEIGHT = 26;
const AXIS_HEIGHT = 26;
const WIDEST_LABEL = 240;
const ROOM_OF_TICK = 90;
const ROOM_OF_VALUE = 10;
const ROOM_OF_LIMIT = 90;
const AHEAD = 1.02;
let next_id = 0;

/**
 * @param {HTMLElement} root @param {import("../types").Bars} bars @param {import("../types").Context} context
 * @param {{ longest?: number, title?: string }} [options] longest: of several charts on one scale
 * @returns {() => void}
 */
export function showBars(root, bars, context, options = {}) {
    const { format } = context;
    const colors = seriesColors(bars.series, context.colors);
    const inks = colors.map(inkOn);
    const totals = bars.bars.map((bar) => totalOf(bar.values));
    const longest = Math.max(options.longest ?? longestOf(bars), bars.limit ?? 0);
    const label_width = Math.min(
        WIDEST_LABEL,
        Math.ceil(Math.max(30, ...bars.bars.slice(0, 2000).map((bar) => textWidth(bar.label)))) + 12,
    );
    const total_width =
        Math.ceil(Math.max(40, ...totals.slice(0, 500).map((total) => textWidth(format.value(total, bars.unit))))) + 16;
    let order = bars.bars.map((_, i) => i);
    // The longest bar nearly fills its track: the axis ends there and not at a tick.
    const high = longest > 0 ? longest * AHEAD : 1;
    let scale = niceTicks(0, high, 6);
    let shares = false;
    let track = 0;
    let active = -1;
    const id = `bars-${next_id++}`;

    const table = asTable(bars);
    const share_box = element("input", {
        type: "checkbox",
        onchange: () => {
            shares = share_box.checked;
            draw();
        },
    });
    /** @type {[string, string][]} */
    const orders = [
        ["", say("in order")],
        ["total", bars.series.length > 1 ? say("largest sum") : say("largest")],
        ...(bars.series.length > 1
            ? bars.series.map((series, i) => /** @type {[string, string]} */ ([String(i), say("largest {0}", series.name)]))
            : []),
    ];
    const { part, body } = makePart(
        options.title ?? bars.title,
        bars.bars.length > 1 ? choice(say("Sort"), orders, "", (value) => sortBy(value)) : null,
        bars.series.length > 1 ? element("label", { class: "choice" }, share_box, element("span", {}, say("Shares"))) : null,
        copyButton(say("Copy CSV"), () => separated(table.columns, table.rows, order, ",")),
    );
    const axis = element("div", { class: "bars-axis", "aria-hidden": "true" });
    const lines = element("div", { class: "bars-lines", "aria-hidden": "true" });
    const rows = element("div", { class: "bars-rows", role: "presentation" });
    const scroller = element(
        "div",
        { class: "scroller bars", tabindex: 0, role: "listbox", "aria-label": options.title ?? bars.title },
        axis,
        element("div", { class: "bars-all", role: "presentation" }, lines, rows),
    );
    scroller.style.setProperty("--label", `${label_width}px`);
    scroller.style.setProperty("--total", `${total_width}px`);
    body.append(legendOf(bars, colors, format), scroller);
    root.append(part);

    const segment = (bar, i, whole) => {
        const size = (100 * lengthOf(bar.values[i])) / whole;
        const text = shares ? percent(bar.values[i], totalOf(bar.values)) : format.value(bar.values[i], bars.unit);
        const node = element("div", {
            class: "segment",
            "data-series": i,
            style: { width: `${size}%`, background: colors[i], color: inks[i] },
        });
        if (textWidth(text) + ROOM_OF_VALUE < (size / 100) * track && bars.series.length > 1) node.textContent = text;
        return node;
    };
    const makeRow = (place) => {
        const number = order[place];
        const bar = bars.bars[number];
        const whole = shares ? wholeLength(bar.values) || 1 : high;
        const over = bars.limit !== null && bars.limit !== undefined && totals[number] > bars.limit;
        const node = element(
            "div",
            {
                class: "bar",
                role: "option",
                id: `${id}-${number}`,
                "data-place": place,
                "aria-setsize": order.length,
                "aria-posinset": place + 1,
                "aria-selected": place === active,
                "aria-label": fullText(bars, bar, format).replaceAll("\n", "; "),
            },
            element("span", { class: "bar-label" }, shortenTo(bar.label, label_width - 10)),
            element(
                "div",
                { class: "bar-track" },
                bars.series.map((_, i) => (lengthOf(bar.values[i]) > 0 ? segment(bar, i, whole) : null)),
            ),
            element("span", { class: over ? "bar-total over" : "bar-total" }, format.value(totals[number], bars.unit)),
        );
        return node;
    };
    const list = virtualRows(scroller, rows, "div", ROW_HEIGHT, makeRow);

    const drawAxis = () => {
        const { suffix, text } = tickText(shares ? "%" : bars.unit, shares ? 100 : high, shares ? 20 : scale.step);
        const whole = shares ? 100 : high;
        const ticks = (shares ? [0, 20, 40, 60, 80, 100] : scale.ticks).filter((tick) => tick <= whole);
        const limit = shares ? null : (bars.limit ?? null);
        const place = (value) => ({ left: `${(100 * value) / whole}%` });
        const isFree = (tick) => limit === null || (Math.abs(tick - limit) / whole) * track > ROOM_OF_LIMIT;
        fill(
            axis,
            ticks
                .filter(isFree)
                .map((tick) =>
                    element(
                        "span",
                        { style: place(tick), class: tick === 0 ? "first" : null },
                        text(tick) + (suffix && tick !== 0 ? `\u202f${suffix}` : ""),
                    ),
                ),
        );
        fill(
            lines,
            ticks.map((tick) => element("span", { class: "grid", style: place(tick) })),
        );
        if (limit !== null) {
            lines.append(element("span", { class: "limit", style: place(limit) }));
            axis.append(
                element(
                    "span",
                    { class: "limit-text", style: place(limit) },
                    say("limit {0}", format.value(limit, bars.unit)),
                ),
            );
        }
    };
    const draw = () => {
        scale = niceTicks(0, high, Math.max(1, Math.min(8, Math.floor(track / ROOM_OF_TICK))));
        drawAxis();
        list.reset(order.length);
    };
    const sortBy = (by) => {
        const key = by === "total" ? (i) => totals[i] : (i) => bars.bars[i].values[Number(by)] ?? 0;
        order = bars.bars.map((_, i) => i);
        if (by !== "") order.sort((a, b) => key(b) - key(a) || a - b);
        active = -1;
        scroller.scrollTop = 0;
        draw();
    };
    const activate = (place) => {
        list.row(active)?.setAttribute("aria-selected", "false");
        active = Math.max(0, Math.min(order.length - 1, place));
        list.reveal(active, AXIS_HEIGHT);
        const row = list.row(active);
        row?.setAttribute("aria-selected", "true");
        scroller.setAttribute("aria-activedescendant", `${id}-${order[active]}`);
        const box = row?.getBoundingClientRect();
        if (box)
            requestAnimationFrame(() =>
                showTip(fullText(bars, bars.bars[order[active]], format), box.left + label_width, box.bottom - 10),
            );
    };
    scroller.addEventListener("keydown", (event) => {
        const page = Math.max(1, Math.floor(scroller.clientHeight / ROW_HEIGHT) - 2);
        const steps = {
            ArrowDown: active + 1,
            ArrowUp: active - 1,
            Home: 0,
            End: order.length - 1,
            PageDown: active + page,
            PageUp: active - page,
        };
        if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        activate(steps[event.key]);
    });
    scroller.addEventListener("blur", hideTip);
    rows.addEventListener("pointermove", (event) => {
        const target = /** @type {HTMLElement} */ (event.target);
        const row = target.closest(".bar");
        if (!(row instanceof HTMLElement)) return hideTip();
        const bar = bars.bars[order[Number(row.dataset.place)]];
        const series = target.dataset.series;
        if (series === undefined || bars.series.length < 2)
            return showTip(fullText(bars, bar, format), event.clientX, event.clientY);
        const value = bar.values[Number(series)];
        const share = percent(value, totalOf(bar.values));
        const text = `${bar.label}\n${bars.series[Number(series)].name}: ${format.value(value, bars.unit)}, ${share}`;
        return showTip(text, event.clientX, event.clientY);
    });
    rows.addEventListener("pointerleave", hideTip);
    const ended = onWidth(scroller, (width) => {
        track = Math.max(50, width - label_width - total_width);
        draw();
    });
    return () => {
        ended();
        list.end();
        hideTip();
        part.remove();
    };
}
