// Formats numbers for people: four significant digits and a unit that fits, thousands separated by a narrow space.
// Times on an axis get as many digits as distinguish neighbours.

import { told } from "./texts.js";

const space = "\u202f"; // narrow, does not break
const none = "–";
/** @type {[number, string][]} */
export const time_units = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
    [1, "ns"],
];

/**
 * Digits in groups of three: 12345.6789 as "12 345.678 9".
 * @param {string} text  of a decimal number
 */
export function grouped(text) {
    const [, sign, whole, , fraction] = /^(-?)(\d+)(\.(\d+))?$/.exec(text) ?? [];
    if (whole === undefined) return text;
    const left = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, space) : whole;
    const digits = fraction !== undefined && fraction.length > 4 ? fraction.replace(/(\d{3})(?=\d)/g, `$1${space}`) : fraction;
    const right = digits === undefined ? "" : `.${digits}`;
    return (sign === "-" ? "−" : "") + left + right;
}

/**
 * With this number of significant digits, but never a whole digit rounded away; zeros at the end are dropped.
 * @param {number} value
 * @param {number} digits
 */
function rounded(value, digits) {
    if (value === 0) return "0";
    const magnitude = Math.floor(Math.log10(Math.abs(value)));
    if (magnitude >= 15 || magnitude < -6) return value.toExponential(digits - 1).replace("-", "−");
    const decimals = Math.max(0, digits - 1 - magnitude);
    const text = value.toFixed(decimals);
    return grouped(decimals > 0 ? text.replace(/\.?0+$/, "") : text);
}

/** @param {number} size */
export function timeUnit(size) {
    return time_units.find(([factor]) => size >= factor) ?? time_units[time_units.length - 1];
}

/** @param {number} ns */
function duration(ns) {
    // A value that would be rounded to 1000 of a unit gets the next one.
    const [factor, unit] = timeUnit(Math.abs(ns) * 1.00005);
    return `${rounded(ns / factor, 4)} ${unit}`;
}

/**
 * Sizes and shares have three decimals at most: smaller parts are negligible beside the others.
 * @param {number} value @param {number} digits @param {string} unit
 */
function shallow(value, digits, unit) {
    const size = Math.abs(value);
    if (size > 0 && size < 0.0005) return `${value < 0 ? "−" : ""}<${space}0.001 ${unit}`;
    return `${size < 1 ? rounded(Number(value.toFixed(3)), digits) : rounded(value, digits)} ${unit}`;
}

/** @type {Record<string, (value: number) => string>} */
const by_unit = {
    "": (value) => rounded(value, 5),
    text: (value) => rounded(value, 5),
    ns: duration,
    time: (value) => rounded(value, 5),
    MB: (value) => shallow(value, Math.abs(value) >= 1000 ? 5 : 4, "MB"),
    "%": (value) => shallow(value, 3, "%"),
    count: (value) => grouped(String(Math.round(value))),
    "GB/s": (value) => `${rounded(value, 4)} GB/s`,
};

/** @type {import("./types").Format} */
export const format = {
    value(value, unit) {
        if (value === null || value === undefined) return none;
        if (typeof value === "string") return value;
        if (!Number.isFinite(value)) return none;
        return (by_unit[unit] ?? ((number) => `${rounded(number, 5)}${unit === "" ? "" : ` ${told(unit)}`}`))(value);
    },

    time(value, unit, resolution = 0) {
        if (!Number.isFinite(value)) return none;
        const [factor, name] = unit === "ns" ? timeUnit(Math.max(Math.abs(value), resolution)) : [1, ""];
        const end = name === "" ? "" : ` ${name}`;
        if (!(resolution > 0)) return unit === "ns" ? duration(value) : rounded(value, 6);
        const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(resolution / factor) - 1e-9)));
        return grouped((value / factor + 0).toFixed(decimals)) + end;
    },
};
