// The tab of communication: which rank sends how much to which, over which links and in which groups.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const communicationTab = sectionTab("communication", "Communication");
