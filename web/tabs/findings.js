// The tab of a diagnosis: what holds a run back and what to do about it.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const findingsTab = sectionTab("findings", "Findings");
