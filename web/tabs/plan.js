// The tab of a plan: what each stage holds and does.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const planTab = sectionTab("plan", "Plan");
