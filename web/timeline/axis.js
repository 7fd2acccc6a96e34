// The time axis: the positions and labels of ticks. Steps are 1, 2 or 5 times a power of ten; every tick is a whole
// multiple of the step, never a sum. Where a label would need many digits, a base is subtracted from all of them and
// shown once. Absolute times need whole nanoseconds beyond 2^53 and are therefore computed with BigInt.

import { time_units } from "../format.js";

const UNITS = time_units.map(([ns, name]) => ({ ns, name }));
const EPOCH_FIRST = 1_000_000_000n * 1_000_000_000n; // of 2001: earlier clocks are not dates
const EPOCH_LAST = 4_000_000_000n * 1_000_000_000n;
const DIGITS_BEFORE_BASE = 1e5; // number of steps after zero from which on a base is subtracted

/** Least of 1, 2, 5 times a power of ten that is not below `least`. @param {number} least */
export function niceStep(least) {
    const power = Math.pow(10, Math.floor(Math.log10(least)));
    for (const times of [1, 2, 5, 10]) {
        if (power * times >= least * (1 - 1e-12)) {
            return power * times;
        }
    }
    return power * 10;
}

/** A number with just the digits that distinguish neighbours `step` apart. @param {number} value @param {number} step */
function plainNumber(value, step) {
    const decimals = Math.max(0, Math.min(12, Math.ceil(-Math.log10(step) - 1e-9)));
    return value.toFixed(decimals).replace(/^-(0(?:\.0*)?)$/, "$1");
}

/** The unit for values up to `most`. @param {number} most @param {number} step */
function unitFor(most, step) {
    return UNITS.find((unit) => unit.ns <= Math.max(most, step)) ?? UNITS[UNITS.length - 1];
}

/** @param {number} value @param {number} step @param {"ns" | null} unit @param {number} most */
function label(value, step, unit, most) {
    if (unit === null) {
        return plainNumber(value, step);
    }
    const chosen = unitFor(most, step);
    return `${plainNumber(value / chosen.ns, step / chosen.ns)} ${chosen.name}`;
}

/** @param {bigint} time nanoseconds @returns {string} a date of UTC where it can be one, else seconds */
export function absoluteText(time) {
    const second = 1_000_000_000n;
    const fraction = String(((time % second) + second) % second)
        .padStart(9, "0")
        .replace(/(\d{3})(?=\d)/g, "$1 ");
    if (time < EPOCH_FIRST || time > EPOCH_LAST) {
        return `${(time < 0n ? time - second + 1n : time) / second}.${fraction} s`;
    }
    const date = new Date(Number(time / 1_000_000n)).toISOString();
    return `${date.slice(0, 10)} ${date.slice(11, 19)}.${fraction} UTC`;
}

/** The base of all labels, in time after zero. @param {number} begin @param {number} span @param {number} step */
function baseOf(begin, span, step) {
    if (Math.abs(begin) / step < DIGITS_BEFORE_BASE) {
        return 0;
    }
    const round = Math.pow(10, Math.ceil(Math.log10(span * 2)));
    return Math.floor(begin / round) * round;
}

/**
 * Ticks of [begin, end] over `width` pixels, at least `apart` pixels from each other.
 * @param {{begin: number, end: number, width: number, apart: number, unit: "ns" | null, zero: number,
 *          origin: string | null}} axis  zero: time that is called 0; origin: shows absolute times, null: relative ones
 * @returns {{step: number, minor: number, base: string, ticks: {time: number, label: string}[], first: number}} base:
 *          the text added to the labels, "" for nothing; minor: a whole part of the step, first: a multiple of it
 */
export function ticksOf(axis) {
    const span = axis.end - axis.begin;
    const least = (span * axis.apart) / Math.max(1, axis.width);
    const step = niceStep(axis.unit === "ns" ? Math.max(least, 1e-3) : least);
    const lead = Math.round(step / Math.pow(10, Math.floor(Math.log10(step) + 1e-9)));
    const minor = step / (lead === 2 ? 4 : 5);
    let base = baseOf(axis.begin - axis.zero, span, step);
    let base_text = base === 0 ? "" : label(base, step, axis.unit, Math.abs(base));
    if (axis.origin !== null) {
        const round = BigInt(Math.ceil(Math.pow(10, Math.ceil(Math.log10(Math.max(1, span * 2))))));
        const shown = BigInt(axis.origin) + BigInt(Math.floor(axis.begin));
        const base_time = shown - (((shown % round) + round) % round);
        base = Number(base_time - BigInt(axis.origin)) - axis.zero;
        base_text = absoluteText(base_time);
    }
    const from = axis.zero + base;
    const most = Math.max(Math.abs(axis.begin - from), Math.abs(axis.end - from));
    const plus = base_text === "" ? "" : "+";
    const ticks = [];
    const first = Math.ceil((axis.begin - from) / step);
    const last = Math.floor((axis.end - from) / step);
    for (let k = first; k <= last && ticks.length < 1000; k++) {
        ticks.push({ time: from + k * step, label: plus + label(k * step, step, axis.unit, most) });
    }
    return { step, minor, base: base_text, ticks, first: from + Math.ceil((axis.begin - from) / minor) * minor };
}
