// The timeline on a canvas, built and updated: the picture follows from the shared view; a change of it, of the size or
// of the source's data requests one frame, and a frame draws everything.

import { element } from "../dom.js";
import { foldsOf } from "../reveal.js";
import { panFrames } from "./bench.js";
import { newChoosing } from "./choosing.js";
import { newControls } from "./controls.js";
import { newModel } from "./model.js";
import { newPicture } from "./picture.js";
import { newPointing } from "./pointing.js";
import { everything, moveBy } from "./scale.js";
import { svgPicture } from "./svg_picture.js";
import { say } from "../texts.js";

/** @typedef {import("./model.js").Model} Model */

/**
 * Follow the view, the size, the theme and the sources. @param {Model} it @param {() => void} dropOverview
 * @returns {() => void} ends it
 */
function follow(it, dropOverview) {
    const { state, view, panes } = it;
    const stop = new AbortController();
    const undress = () => {
        it.dressed = false;
        it.ask();
    };
    const off = [
        state.on(["begin", "end", "top", "range", "area", "marks", "arrows"], it.ask),
        state.on(["selected"], () => {
            if (view.selected !== null) {
                // The only selection, of the first pane now.
                panes.slice(1).forEach((pane) => pane.select(null));
            }
            it.ask();
        }),
        state.on(["pointer"], () => {
            it.pointer_time = view.pointer;
            it.ask();
        }),
        state.on(["query", "theme"], undress),
        state.on(["filter", "folded", "pinned", "hidden", "order"], () => {
            it.dressed = false;
            it.displace();
        }),
    ];
    const sized = new ResizeObserver(() => it.displace());
    sized.observe(it.holder);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", undress, { signal: stop.signal });
    const before = panes.map((pane) => pane.source.changed);
    panes.forEach((pane, at) => {
        pane.source.changed = () => {
            before[at]?.();
            dropOverview();
            it.fresh = true;
            it.ask();
        };
    });
    return () => {
        off.forEach((end) => end());
        sized.disconnect();
        stop.abort();
        panes.forEach((pane, at) => {
            pane.source.changed = before[at];
        });
    };
}

/** @typedef {{at: number, chosen: import("./selection.js").Chosen | null, go: (event: import("../types").EventSeen) => void,
 *  clear: () => void}} Told */

/**
 * @param {HTMLElement} root  filled; emptied at the end
 * @param {import("../types").Context[]} contexts one, or two that are shown above each other on one axis; of one state,
 *        each with a source
 * @param {(told: Told) => void} [tell]  called with the selected event and its pane; `go` selects and shows another event there
 * @returns {() => void}
 */
export function mountChart(root, contexts, tell = () => {}) {
    const canvas = element("canvas", {
        tabindex: "0",
        role: "application",
        "aria-label": say("Timeline: W and S zoom, A and D move, Enter selects, comma and full stop go to the next event"),
    });
    const holder = element("div", { class: "timeline" }, canvas);
    root.replaceChildren(holder);
    const it = newModel(canvas, holder, contexts);
    const { view, limits, panes } = it;
    const pointing = newPointing(it);
    const picture = newPicture(it, pointing.hover);
    const choosing = newChoosing(it, pointing);
    const controls = newControls(it, pointing, choosing);
    let asked = 0;
    let ended = false;

    function frame() {
        asked = 0;
        const again = controls.actOnKeys();
        picture.draw();
        if (again) {
            it.ask();
        }
    }
    it.ask = () => {
        if (asked === 0 && !ended) {
            asked = requestAnimationFrame(frame);
        }
    };
    it.told = (chosen) => {
        choosing.tellSelected(chosen);
        tell({ at: chosen === null ? 0 : panes.indexOf(chosen.pane), chosen, go: (event) => go(chosen, event), clear });
    };

    const clear = () => choosing.select(null, null);

    /** @param {import("./selection.js").Chosen | null} chosen @param {import("../types").EventSeen} event */
    function go(chosen, event) {
        const pane = chosen?.pane ?? panes[0];
        pane.fold(foldsOf(pane.source, event.row), false);
        it.displace();
        it.revealing = true;
        choosing.select(pane, { row: event.row, index: event.index });
    }
    const unfollow = follow(it, picture.dropOverview);
    // The range of the first of two runs is not the range of both.
    const [{ begin: first, end: last }] = panes.map((pane) => pane.timeline);
    const whole = panes.length > 1 && view.begin <= first && view.end >= last;
    const shown = view.end - view.begin;
    if (!(shown >= limits.least) || shown > 1.05 * (limits.end - limits.begin) || whole) {
        it.show(everything(limits));
    }
    if (/\bbench\b/.test(window.location.hash)) {
        const measured = {
            move: (share) => it.show(moveBy(it.stretch(), share * (view.end - view.begin), limits)),
            draw: picture.draw,
            events: () => panes.reduce((sum, pane) => sum + pane.events_drawn, 0),
        };
        /** @type {any} */ (window).evenkeel_bench = { panFrames: panFrames(measured) };
    }
    it.ask();
    const shared = contexts[0].chart;
    shared.current = {
        svg: () => svgPicture(it),
        png() {
            picture.draw();
            return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
        },
    };

    return () => {
        ended = true;
        shared.current = null;
        cancelAnimationFrame(asked);
        unfollow();
        controls.end();
        root.replaceChildren();
    };
}
