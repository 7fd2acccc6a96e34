// The tab of a sweep: how a figure moves with what was varied.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const sweepTab = sectionTab("sweep", "Sweep");
