// The tabs of the page, in the order in which they stand. A new one is a file and a line here; sections of a name that
// none of them knows get a tab of that name.

import { timelineTab } from "./timeline/tab.js";
import { planTab } from "./tabs/plan.js";
import { breakdownTab } from "./tabs/breakdown.js";
import { layersTab } from "./tabs/layers.js";
import { operatorsTab } from "./tabs/operators.js";
import { communicationTab } from "./tabs/communication.js";
import { memoryTab } from "./tabs/memory.js";
import { sweepTab } from "./tabs/sweep.js";
import { findingsTab } from "./tabs/findings.js";
import { compareTab } from "./tabs/compare.js";
import { genericTab } from "./tabs/generic.js";

/** @type {import("./types").Tab[]} */
const known = [
    timelineTab,
    findingsTab,
    planTab,
    breakdownTab,
    layersTab,
    operatorsTab,
    communicationTab,
    memoryTab,
    sweepTab,
    compareTab,
];

/** Kinds of runs by what is looked at first of them; of all others it is the timeline. @type {[string, string][]} */
const first_of = [
    ["diagnosis", "findings"],
    ["sweep", "sweep"],
    ["plan", "timeline"],
    ["trace", "timeline"],
    ["index", "timeline"],
    ["memory", "memory"],
];

/**
 * The tab that opens where the address names none. @param {import("./types").Tab[]} tabs @param {string[]} kinds of the run
 * @returns {import("./types").Tab | undefined}
 */
export function firstTab(tabs, kinds) {
    const id = first_of.find(([kind]) => kinds.includes(kind))?.[1];
    return tabs.find((tab) => tab.id === id) ?? tabs[0];
}

/**
 * The tabs that have something to show.
 * @param {import("./types").Context} context
 */
export function tabsOf(context) {
    const ids = new Set(known.map((tab) => tab.id));
    const others = new Set(context.run.sections.map((section) => section.name).filter((name) => !ids.has(name)));
    return [...known, ...[...others].map(genericTab)].filter((tab) => tab.present(context));
}
