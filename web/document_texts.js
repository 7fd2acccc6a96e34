// The sentences, titles and labels of a document in the reader's language. They are changed in place, so that all parts
// of the page find them so; the originals are stored for the next language. Cells of tables and names in timelines stay
// unchanged, since parts of the page read them: these are translated where they are drawn. Settings are never changed.

import { told } from "./texts.js";

/** @typedef {{ holder: any, member: string | number, english: string }} Slot  a text and its place */
/** @typedef {import("./types").Section} Section */

/** @type {WeakMap<object, Slot[]>} of runs */
const slots_of = new WeakMap();

/** @param {Slot[]} slots @param {any} holder @param {(string | number)[]} members */
function take(slots, holder, ...members) {
    for (const member of members) {
        if (typeof holder[member] === "string" && holder[member] !== "") slots.push({ holder, member, english: holder[member] });
    }
}

/** @param {Slot[]} slots @param {any[] | undefined} list */
const takeAll = (slots, list) => list?.forEach((_, at) => take(slots, list, at));

/** @param {Slot[]} slots @param {Section} section */
function takeSection(slots, section) {
    const { notes, findings = [], bars = [], matrices = [], lines = [], tables = [] } = section;
    takeAll(slots, notes);
    for (const finding of findings) {
        take(slots, finding, "title", "basis", "topic", "change", "rests_on", "caution");
        for (const seen of finding.evidence) take(slots, seen, "text");
    }
    for (const part of [...bars, ...matrices, ...lines, ...tables]) take(slots, part, "title");
    for (const { series, bars: all } of bars) {
        for (const one of series) take(slots, one, "name");
        for (const bar of all) take(slots, bar, "label");
    }
    for (const { labels, columns } of matrices) {
        takeAll(slots, labels);
        takeAll(slots, columns);
    }
    for (const { x, y, series } of lines) for (const one of [x, y]) take(slots, one, "title"), series.forEach((line) => take(slots, line, "name"));
    for (const { columns } of tables) for (const column of columns) take(slots, column, "title");
}

/** @param {import("./types").Run} run @returns {Slot[]} */
function slotsOf(run) {
    /** @type {Slot[]} */
    const slots = [];
    for (const fact of run.facts) take(slots, fact, "label", "text", "basis");
    takeAll(slots, run.notes);
    for (const section of run.sections) takeSection(slots, section);
    return slots;
}

/**
 * Puts the texts of a document into the language that is set. Nothing is done as long as that was always English.
 * @param {import("./types").Document} doc
 * @param {boolean} anew  sections were added since the last call
 */
export function tellDocument(doc, anew = false) {
    for (const run of doc.runs) {
        const before = slots_of.get(run);
        if (anew) for (const { holder, member, english } of before ?? []) holder[member] = english;
        const slots = (anew ? undefined : before) ?? slotsOf(run);
        slots_of.set(run, slots);
        for (const { holder, member, english } of slots) holder[member] = told(english);
    }
}
