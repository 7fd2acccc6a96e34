// The meaning of the colours of the timeline: its types of events. Of a simulated plan with several chunks also the
// order of their shades.

import { chunksOf } from "../block_name.js";
import { element, fill } from "../dom.js";
import { say, told } from "../texts.js";

/** Types in the rows of a class, for a server, which does not send the names. @type {Record<string, string[]>} */
const of_class = {
    stage: ["forward", "backward"],
    step: ["step"],
    overlap: ["all computing", "all communication", "communication not overlapped", "idle"],
    compute: ["computing", "copy", "memory set", "wait"],
    communication: ["communication", "communication task"],
    scope: ["scope"],
    host: ["framework", "python", "data loading", "step"],
    runtime: ["runtime"],
};

/**
 * Numbers of the types that a timeline has, in the document's order.
 * @param {import("../types").Timeline} timeline @param {string[]} types
 */
export function typesOf(timeline, types) {
    const there = new Set(timeline.names === null
        ? timeline.groups.flatMap(({ tracks }) => tracks.flatMap((track) => (of_class[track.class] ?? []).map((name) => types.indexOf(name))))
        : timeline.names.type);
    return types.map((_, type) => type).filter((type) => there.has(type));
}

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showLegend(root, context) {
    const { state, source, colors } = context;
    const { types } = context.document;
    const n_chunks = chunksOf(source.timeline);
    const list = element("ul", { class: "colors", "aria-label": say("Colours of the timeline") });
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Colours"))), list);

    function draw() {
        const shades = n_chunks < 2 ? null : element("li", {},
            Array.from({ length: Math.min(n_chunks, 8) }, (_, at) => element("span", { class: "swatch joined",
                style: { background: colors.chunk(types.indexOf("forward"), at, Math.min(n_chunks, 8)) } })),
            ` ${say("chunk 0 to {0}", n_chunks - 1)}`);
        fill(list, typesOf(source.timeline, types).map((type) =>
            element("li", {}, element("span", { class: "swatch", style: { background: colors.type(type) } }), told(types[type]))), shades,
            source.timeline.path.length === 0 ? null : element("li", {},
                element("span", { class: "swatch path" }), say("critical path: the line below a header or stage")),
            source.timeline.curves.some((curve) => curve.track) ? element("li", {}, element("span", { class: "swatch of-curve" }),
                say("queue length: launched, not begun; launch delay: from launch to begin")) : null);
    }
    draw();
    return state.on(["theme"], draw);
}
