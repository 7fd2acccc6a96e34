// What belongs to stacked bars besides their picture: sums, lengths, texts, colours of letters, the legend, and the
// same values as a table.

import { element } from "../dom.js";
import { luminance } from "../colors.js";

/** Length of a value: none below 0. */
export const lengthOf = (value) => (typeof value === "number" && value > 0 ? value : 0);

/** Length of a bar. */
export const wholeLength = (values) => values.reduce((sum, value) => sum + lengthOf(value), 0);

/** Sum of a bar's parts. */
export function totalOf(values) {
    return values.reduce((sum, value) => sum + (typeof value === "number" && Number.isFinite(value) ? value : 0), 0);
}

/** The largest length of any bar, for charts that share a scale. */
export function longestOf(bars) {
    return bars.bars.reduce((most, bar) => Math.max(most, wholeLength(bar.values)), 0);
}

/** Black or white, whatever is read better on a colour of context.colors. */
export function inkOn(color) {
    const parts = (color.match(/[\d.]+/g) ?? []).map(Number);
    return parts.length >= 3 && luminance(parts.slice(0, 3)) > 0.179 ? "#000" : "#fff";
}

export function percent(part, whole) {
    return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

/** All values of a bar as lines of text. */
export function fullText(bars, bar, format) {
    const total = totalOf(bar.values);
    const lines = [];
    bars.series.forEach((series, i) => {
        const value = bar.values[i];
        if (value === 0 || value === null) return;
        const share = bars.series.length > 1 ? `, ${percent(value, total)}` : "";
        lines.push(`${series.name}: ${format.value(value, bars.unit)}${share}`);
    });
    if (bars.limit !== null && bars.limit !== undefined)
        lines.push(
            total > bars.limit
                ? `over the limit by ${format.value(total - bars.limit, bars.unit)}`
                : `below the limit by ${format.value(bars.limit - total, bars.unit)}`,
        );
    return [`${bar.label}: ${format.value(total, bars.unit)}`, ...lines].join("\n");
}

/** Legend: each part with its colour, its mean over all bars and its share of them. */
export function legendOf(bars, colors, format) {
    const n = Math.max(1, bars.bars.length);
    const sums = bars.series.map((_, i) => totalOf(bars.bars.map((bar) => bar.values[i])));
    const whole = totalOf(sums);
    const mean = (sum) => `${n > 1 ? "mean " : ""}${format.value(sum / n, bars.unit)}`;
    const items = bars.series.map((series, i) =>
        element(
            "li",
            {},
            element("span", { class: "swatch", style: { background: colors[i] } }),
            series.name,
            element(
                "span",
                { class: "quiet" },
                `${mean(sums[i])}${bars.series.length > 1 && bars.unit !== "%" ? `, ${percent(sums[i], whole)}` : ""}`,
            ),
        ),
    );
    const all =
        bars.series.length > 1 && bars.bars.length > 1
            ? element("li", {}, "All", element("span", { class: "quiet" }, mean(whole)))
            : null;
    return element("ul", { class: "legend" }, items, all);
}

/** Bars as a table, for copying. */
export function asTable(bars) {
    const columns = ["Name", ...bars.series.map((series) => series.name)].map((title, i) => ({
        name: title,
        title,
        unit: i === 0 ? /** @type {const} */ ("text") : bars.unit,
        search: false,
    }));
    return { columns, rows: bars.bars.map((bar) => [bar.label, ...bar.values]) };
}
