// The tabs of the page, in their order. A new one is a line here, and a file where it shows more than the sections of
// its name. Sections with other names get a tab after the others.

import { layoutsTab, plansTab } from "./layouts/tab.js";
import { timelineTab } from "./timeline/tab.js";
import { memoryTab } from "./tabs/memory.js";
import { compareTab } from "./tabs/compare.js";
import { sectionTab } from "./tabs/section.js";
import { key } from "./texts.js";

/** @type {import("./types").Tab[]} */
const known = [
    layoutsTab,
    plansTab,
    timelineTab,
    sectionTab("findings", key("Findings")),
    sectionTab("estimate", key("Estimate")),
    sectionTab("calibration", key("Calibration")),
    sectionTab("plan", key("Plan")),
    sectionTab("breakdown", key("Breakdown")),
    sectionTab("layers", key("Layers")),
    sectionTab("operators", key("Operators")),
    sectionTab("communication", key("Communication")),
    memoryTab,
    sectionTab("sweep", key("Sweep")),
    compareTab,
    sectionTab("host", key("Host")),
    sectionTab("ranks", key("Ranks")),
    sectionTab("files", key("Files")),
];

/** Kinds of runs by the tab that opens first; for all others it is the timeline. @type {[string, string][]} */
const first_of = [
    ["diagnosis", "findings"],
    ["layout", "layouts"],
    ["sweep", "sweep"],
    ["plan", "timeline"],
    ["trace", "timeline"],
    ["index", "timeline"],
    ["step", "timeline"],
    ["estimate", "estimate"],
    ["calibration", "calibration"],
    ["memory", "memory"],
];

/**
 * The tab that opens where the address names none: a missing timeline opens last.
 * @param {import("./types").Tab[]} tabs @param {import("./types").Run} run
 * @returns {import("./types").Tab | undefined}
 */
export function firstTab(tabs, run) {
    const shown = tabs.filter(({ id }) => id !== "timeline" || run.timeline !== null);
    const id = first_of.find(([kind]) => run.kinds.includes(kind))?.[1];
    return shown.find((tab) => tab.id === id) ?? shown[0] ?? tabs[0];
}

/**
 * The tabs with content.
 * @param {import("./types").Context} context
 */
export function tabsOf(context) {
    const ids = new Set(known.map((tab) => tab.id));
    const others = new Set(context.run.sections.map((section) => section.name).filter((name) => !ids.has(name)));
    return [...known, ...[...others].map((id) => sectionTab(id))].filter((tab) => tab.present(context));
}
