// The parts of stacked bars other than their picture: sums, lengths, texts, colours of letters, the legend, and the
// same values as a table.

import { element } from "../dom.js";
import { luminance } from "../colors.js";
import { say } from "../texts.js";

const NEAR = 70; // of 442: colours closer than this are hard to distinguish
const N_SERIES_COLORS = 8;

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

/** Red, green and blue of a colour of context.colors. */
function rgbOf(color) {
    return (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}

/**
 * Colours of the series of a chart: that of its type, so that a type looks the same everywhere; series without one get
 * the first of the free colours that is not near any of the others, or the one that is farthest from them. They are
 * chosen by their light looks, so that a series has one hue in both themes.
 * @param {import("../types").Bars["series"]} series @param {import("../types").Colors} colors
 */
export function seriesColors(series, colors) {
    const used = series.flatMap(({ type }) => (typeof type === "number" ? [colors.light.type(type)] : []));
    const farFrom = (color) =>
        used.reduce((least, other) => {
            const [a, b] = [rgbOf(other), rgbOf(color)];
            return Math.min(least, Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
        }, Infinity);
    return series.map(({ type }) => {
        if (typeof type === "number") return colors.type(type);
        const choices = Array.from({ length: N_SERIES_COLORS }, (_, i) => colors.light.series(i));
        const farthest = choices.reduce((best, color) => (farFrom(color) > farFrom(best) ? color : best));
        used.push(choices.find((color) => farFrom(color) > NEAR) ?? farthest);
        return colors.series(choices.indexOf(used[used.length - 1]));
    });
}

/** Black or white, the more readable one on a colour of context.colors. */
export function inkOn(color) {
    return luminance(rgbOf(color)) > 0.179 ? "#000" : "#fff";
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
                ? say("over the limit by {0}", format.value(total - bars.limit, bars.unit))
                : say("below the limit by {0}", format.value(bars.limit - total, bars.unit)),
        );
    return [`${bar.label}: ${format.value(total, bars.unit)}`, ...lines].join("\n");
}

/**
 * The text of the legend for each part and for all: means over all bars, and shares of them where parts are complete. A
 * part below 0 has no length, and shares with it would add up to more than all.
 * @param {import("../types").Bars} bars @param {import("../types").Format} format
 * @returns {{ parts: string[], all: string }}
 */
export function legendTexts(bars, format) {
    const n = Math.max(1, bars.bars.length);
    const sums = bars.series.map((_, i) => totalOf(bars.bars.map((bar) => bar.values[i])));
    const whole = totalOf(sums);
    const shared = bars.series.length > 1 && bars.unit !== "%" && whole > 0 && sums.every((sum) => sum >= 0);
    const mean = (sum) => (n > 1 ? say("mean {0}", format.value(sum / n, bars.unit)) : format.value(sum / n, bars.unit));
    const more = (sum) => (sum < 0 ? say(", taken off and not drawn") : shared ? `, ${percent(sum, whole)}` : "");
    return { parts: sums.map((sum) => `${mean(sum)}${more(sum)}`), all: mean(whole) };
}

/** Legend: each part with its colour, its mean over all bars and its share of them. */
export function legendOf(bars, colors, format) {
    const texts = legendTexts(bars, format);
    const items = bars.series.map((series, i) =>
        element(
            "li",
            {},
            element("span", { class: "swatch", style: { background: colors[i] } }),
            series.name,
            element("span", { class: "quiet" }, texts.parts[i]),
        ),
    );
    const all =
        bars.series.length > 1 && bars.bars.length > 1
            ? element("li", {}, say("All"), element("span", { class: "quiet" }, texts.all))
            : null;
    return element("ul", { class: "legend" }, items, all);
}

/** Bars as a table, for copying. */
export function asTable(bars) {
    const columns = [say("Name"), ...bars.series.map((series) => series.name)].map((title, i) => ({
        name: title,
        title,
        unit: i === 0 ? /** @type {const} */ ("text") : bars.unit,
        search: false,
    }));
    return { columns, rows: bars.bars.map((bar) => [bar.label, ...bar.values]) };
}
