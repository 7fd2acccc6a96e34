// The tab of memory: memory alive at the pointer, the map of allocations, then the sections (parts of each stage with
// the limit, largest tensors).

import { showBlockMaps } from "../memory/chart.js";
import { hasHeld, showHeld } from "./held.js";
import { sectionsOf, showPage, showSection } from "./section.js";
import { key } from "../texts.js";

/** @type {import("../types").Tab} */
export const memoryTab = {
    id: "memory",
    title: key("Memory"),
    present: (context) => sectionsOf(context.run, "memory").length > 0 || hasHeld(context),
    show: (root, context) =>
        showPage(root, context, (page) => [
            ...(hasHeld(context) ? [showHeld(page, context)] : []),
            ...sectionsOf(context.run, "memory").flatMap((section) => [
                ...(section.blocks ? [showBlockMaps(page, section.blocks, context)] : []),
                ...showSection(page, section, context),
            ]),
        ]),
};
