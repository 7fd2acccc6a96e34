// The tab of layers: forward, backward and recompute of each layer and stage.

import { sectionTab } from "./section.js";

/** @type {import("../types").Tab} */
export const layersTab = sectionTab("layers", "Layers");
