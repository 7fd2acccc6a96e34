// The tab that shows where a step's time goes, by rank and step.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const breakdownTab = sectionTab("breakdown", "Breakdown");
