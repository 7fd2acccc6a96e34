// The live memory at one time as a list: sums by type, then the largest pieces, each with its lifetime within the
// complete range.

import { element } from "../dom.js";
import { sizeText, unitOf } from "./held_curves.js";
import { sumsByType } from "./held_sums.js";
import { placeOf } from "./scale.js";
import { shortenTo } from "./shorten.js";
import { giveTip } from "./tip.js";
import { say, told } from "../texts.js";

const MOST_ROWS = 100;
const NAME_WIDTH = 360;

/** Rows of the list: entries by size, each with its lifetime within the complete range. */
function heldRows(held, total, time, context) {
    const { format, colors, source } = context;
    const { begin, end, unit } = source.timeline;
    const percent = (value) => `${(100 * Math.min(1, Math.max(0, placeOf(value, begin, end)))).toFixed(2)}%`;
    return held.slice(0, MOST_ROWS).map((item) => {
        const called = told(item.name);
    const short = shortenTo(called, NAME_WIDTH);
        const name = element("span", { class: "name", tabindex: short === called ? null : 0 }, short);
        if (short !== called) giveTip(name, called);
        const bar = element("i", {
            style: {
                left: percent(item.begin),
                background: colors.type(item.type),
                width: `max(2px, calc(${percent(item.end)} - ${percent(item.begin)}))`,
            },
        });
        const span = element("div", { class: "span" }, bar, element("b", { style: { left: percent(time) } }));
        giveTip(span, say("{0}\nheld from {1} to {2}", called, format.time(item.begin, unit), format.time(item.end, unit)));
        return element(
            "tr",
            {},
            element("td", {}, name),
            element(
                "td",
                {},
                element("span", { class: "swatch", style: { background: colors.type(item.type) } }),
                told(context.document.types[item.type] ?? ""),
            ),
            element("td", { class: "number" }, sizeText(format, item.mb, unitOf(source.timeline))),
            element("td", { class: "number" }, total > 0 ? `${((100 * item.mb) / total).toFixed(1)} %` : ""),
            element("td", {}, span),
        );
    });
}

/**
 * The list with its totals by type. @param {import("../types").Held[]} held @param {number} time
 * @param {string} group_name @param {import("../types").Context} context @returns {Node[]}
 */
export function heldList(held, time, group_name, context) {
    const { format, colors } = context;
    const { timeline } = /** @type {import("../types").Source} */ (context.source);
    const { unit } = timeline;
    const of_size = unitOf(timeline);
    const pieces = (n) => n === 1 ? say("1 piece") : say("{0} pieces", format.value(n, "count"));
    const total = held.reduce((sum, item) => sum + item.mb, 0);
    const sums = sumsByType(held);
    const rest = held.slice(MOST_ROWS);
    const totals = element(
        "ul",
        { class: "legend" },
        sums.map((sum) =>
            element(
                "li",
                {},
                element("span", { class: "swatch", style: { background: colors.type(sum.type) } }),
                told(context.document.types[sum.type] ?? ""),
                element("span", { class: "quiet" }, `${sizeText(format, sum.mb, of_size)}, ${pieces(sum.n)}`),
            ),
        ),
    );
    const strip = element(
        "div",
        { class: "held-total", "aria-hidden": "true" },
        sums.map((sum) =>
            element("div", {
                style: { width: `${total > 0 ? (100 * sum.mb) / total : 0}%`, background: colors.type(sum.type) },
            }),
        ),
    );
    const heads = [say("Name"), say("Type"), say("Size"), say("Share"), say("Held from when to when")].map((title, i) =>
        element("th", { scope: "col", class: i === 2 || i === 3 ? "number" : null }, title),
    );
    return [
        element(
            "p",
            { class: "held-sum" },
            say("{0} holds", group_name),
            " ",
            element("b", {}, sizeText(format, total, of_size)),
            " ",
            say("in {0} at {1}.", pieces(held.length), format.time(time, unit)),
        ),
        strip,
        totals,
        element(
            "div",
            {
                class: "scroller held-scroller",
                tabindex: 0,
                role: "region",
                "aria-label": say("What is held at the pointer"),
            },
            element(
                "table",
                { class: "held" },
                element("thead", {}, element("tr", {}, heads)),
                element(
                    "tbody",
                    {},
                    heldRows(held, total, time, context),
                    rest.length === 0
                        ? null
                        : element(
                              "tr",
                              {},
                              element("td", { colspan: 2 }, say("and {0} smaller ones", format.value(rest.length, "count"))),
                              element(
                                  "td",
                                  { class: "number" },
                                  sizeText(
                                      format,
                                      rest.reduce((sum, item) => sum + item.mb, 0),
                                      of_size,
                                  ),
                              ),
                              element("td"),
                              element("td"),
                          ),
                ),
            ),
        ),
    ];
}
