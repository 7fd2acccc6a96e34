// The tab of operators: what takes how long, how often, as a table.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const operatorsTab = sectionTab("operators", "Operators");
