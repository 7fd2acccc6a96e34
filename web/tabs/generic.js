// Tabs for sections whose name no other tab knows.

import { sectionTab } from "./section.js";

/**
 * Their notes, charts and tables under that name, with a capital in front.
 * @param {string} name
 * @returns {import("../types").Tab}
 */
export function genericTab(name) {
    return sectionTab(name, name.charAt(0).toUpperCase() + name.slice(1));
}
