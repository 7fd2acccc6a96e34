// The actions of presses, the wheel and keys at each place of the timeline.

import { addMark } from "../side/marks.js";
import { LANE } from "./curves.js";
import { regionAt } from "./geometry.js";
import { listen } from "./input.js";
import { newMenu } from "./menu.js";
import { everything, fit, moveBy, zoomAt } from "./scale.js";
import { say } from "../texts.js";

const ZOOM_RATE = 3.2; // of a held key: e^this per second
const MOVE_RATE = 0.9; // of the visible stretch per second
const SCROLL_RATE = 700; // pixels per second
const WHEEL_ZOOM = 0.0022; // per pixel of a wheel
const LEAST_APART = 16; // pixels between two fingers
const SPLIT_STEP = 33; // pixels per key press for the bar between rows and curves
const POINTER_EVERY = 60; // milliseconds between changes of view.pointer

/** @typedef {import("./model.js").Pane} Pane */

/**
 * @param {import("./model.js").Model} it @param {ReturnType<typeof import("./pointing.js").newPointing>} pointing
 * @param {ReturnType<typeof import("./choosing.js").newChoosing>} choosing
 */
export function newControls(it, pointing, choosing) {
    const { state, view, canvas, panes, limits, origin, selection } = it;
    const { stretch, timeAt, perPixel, show, paneAt, anchor } = it;
    const { edgeAt, eventAt, hover } = pointing;
    const { selectAt, fitSelection, clear } = choosing;
    /** @type {ReturnType<typeof setTimeout> | null} */
    let telling = null;

    /** Fold or open the group or track of a line. @param {Pane} pane @param {number} at */
    function toggle(pane, at) {
        const line = pane.layout.lines[at];
        if (line?.folds) {
            pane.fold([line.key], !line.folded);
            it.displace();
        }
    }

    /** The line for keys: of the selected event, else under the pointer. */
    function lineMeant() {
        const { chosen } = selection;
        if (chosen !== null) {
            return { pane: chosen.pane, at: chosen.pane.layout.of_track[chosen.pane.source.row_track[chosen.row]] };
        }
        const pane = (it.over === null ? null : paneAt(it.over.y)) ?? null;
        return pane === null || it.over === null
            ? { pane: panes[0], at: -1 }
            : { pane, at: pane.rowAt(it.over.y).line };
    }

    function foldGroup(every) {
        const { pane, at } = lineMeant(),
            line = pane.layout.lines[at];
        if (line === undefined && !every) {
            return;
        }
        const keys = every ? pane.timeline.groups.map((_, number) => String(number)) : [String(line.group)];
        const close = !pane.folded(keys[0]);
        pane.fold(keys, close);
        it.displace();
    }

    /** @type {Record<string, () => void>} */
    const keys = {
        f: fitSelection,
        z: fitSelection,
        c: changeClock,
        0: () => show(everything(limits)),
        Home: () => show(everything(limits)),
        m: () => {
            state.set({ pointer: it.pointer_time });
            addMark(state, it.over === null ? undefined : (edgeAt(it.over.x, it.over.y) ?? undefined));
        },
        M: () => {
            const { chosen } = selection;
            const ends = chosen !== null ? [chosen.details.begin, chosen.details.end] : view.range;
            ends?.forEach((time) => addMark(state, time));
        },
        Escape: clear,
        Enter: () => {
            const x =
                it.over !== null && it.over.x >= it.parts.gutter
                    ? it.over.x
                    : it.parts.rows.x + it.parts.rows.width / 2;
            const y = it.over !== null && paneAt(it.over.y) !== null ? it.over.y : firstRowInSight();
            selectAt(x, y);
        },
        ".": () => step(1),
        ",": () => step(-1),
        ArrowDown: () => turn(1),
        ArrowUp: () => turn(-1),
        p: () => arrange(pin),
        h: () => arrange(hide),
        H: () => showHidden(),
        r: () => rangeOf(true),
        R: () => rangeOf(false),
        t: () => {
            const { pane, at } = lineMeant();
            toggle(pane, at);
        },
        g: () => foldGroup(false),
        G: () => foldGroup(true),
        "[": () => moveSplit(-SPLIT_STEP),
        "]": () => moveSplit(SPLIT_STEP),
        PageDown: () => page(1),
        PageUp: () => page(-1),
    };

    /** The range for the selection: the track of the selected event or of the pointer, or all. @param {boolean} alone */
    function rangeOf(alone) {
        const { pane, at } = lineMeant(),
            line = pane.layout.lines[at];
        const clamp = (time) => Math.max(limits.begin, Math.min(limits.end, time));
        const area = alone && line !== undefined && pane === panes[0] ? pane.tracksOf(line) : null;
        state.set({ range: [clamp(view.begin), clamp(view.end)], area });
    }

    const menu = newMenu(it.holder, canvas);

    /** The line for arranging, where its pane can be arranged: pinned, hidden and moved lines. */
    function lineToArrange() {
        const { pane, at } = lineMeant(),
            line = pane.layout.lines[at];
        return line === undefined || !pane.arranges ? null : { pane, line };
    }

    /** @param {(pane: Pane, line: import("./layout.js").Line) => void} act */
    function arrange(act) {
        const meant = lineToArrange();
        if (meant !== null) {
            act(meant.pane, meant.line);
        }
    }

    /** @param {Pane} pane @param {import("./layout.js").Line} line */
    const pin = (pane, line) => line.kind === "track" && pane.pin(line.key);
    const hide = (pane, line) => pane.hide(line.key);
    const move = (by) => (pane, line) => !line.pinned && pane.move(line.kind === "track" && !line.indented ? String(line.group) : line.key, by);
    const showHidden = () => state.set({ hidden: [] });

    /** The menu of a line. @param {number} x @param {number} y @param {Pane} pane @param {number} at */
    function openMenu(x, y, pane, at) {
        const line = pane.layout.lines[at];
        const own = line === undefined || !pane.arranges ? [] : entriesOf(pane, line, at);
        const hidden = view.hidden.length > 0 ? [{ text: say("Show what is hidden ({0})", view.hidden.length), key: "Shift+H", act: showHidden }] : [];
        const natural = view.order.length > 0 ? [{ text: say("Order of the file"), key: "", act: () => state.set({ order: [] }) }] : [];
        const entries = [...own, ...hidden, ...natural];
        if (entries.length > 0) {
            it.tip.hide();
            menu.open(x, y, line?.name ?? say("Rows"), entries);
        }
    }

    /** @param {Pane} pane @param {import("./layout.js").Line} line @param {number} at */
    function entriesOf(pane, line, at) {
        const is_track = line.kind === "track";
        return [
            is_track && { text: line.pinned ? say("Unpin") : say("Pin to the top"), key: "P", act: () => pin(pane, line) },
            { text: line.kind === "group" ? say("Hide this group") : say("Hide this track"), key: "H", act: () => hide(pane, line) },
            line.kind !== "curve" && !line.pinned && { text: say("Move up"), key: "Shift+Up", act: () => move(-1)(pane, line) },
            line.kind !== "curve" && !line.pinned && { text: say("Move down"), key: "Shift+Down", act: () => move(1)(pane, line) },
            line.folds && { text: line.folded ? say("Open") : say("Close"), key: is_track ? "T" : "G", act: () => toggle(pane, at) },
        ].filter((entry) => entry !== false);
    }

    /** Middle of the first row in sight. */
    function firstRowInSight() {
        for (const pane of panes) {
            for (const row of pane.rows) {
                const place = pane.placeOf(row);
                if (place !== null && place.y >= pane.box.y) {
                    return place.y + place.height / 2;
                }
            }
        }
        return it.parts.rows.y;
    }

    /** @param {number} by */
    function step(by) {
        it.revealing = true;
        selection.step(by);
        it.ask();
    }

    /** @param {number} by */
    function turn(by) {
        const pane = selection.pane;
        if (pane !== null) {
            it.revealing = true;
            selection.turn(by, pane).then(it.ask);
        }
    }

    /** @param {number} by */
    function page(by) {
        const pane = lineMeant().pane;
        pane.scrollTo(pane.top + by * pane.box.height * 0.85);
        it.ask();
    }

    /** A drag that moves time, and rows when it began on them. @param {number} x @param {number} y @param {boolean}
     *  both */
    function dragTime(x, y, both) {
        const start = stretch(),
            pane = both ? paneAt(y) : null,
            top = pane?.top ?? 0;
        canvas.style.cursor = "grabbing";
        return {
            move: (to_x, to_y) => {
                show(moveBy(start, (x - to_x) * perPixel(), limits));
                pane?.scrollTo(top + y - to_y);
                it.ask();
            },
            drop: () => {},
            click: null,
        };
    }

    /** Two fingers: the stretch between them stays there. @param {number} x0 @param {number} x1 */
    function pinch(x0, x1) {
        const start = stretch(),
            middle = timeAt((x0 + x1) / 2),
            apart = Math.max(LEAST_APART, Math.abs(x1 - x0));
        return (/** @type {number} */ to0, /** @type {number} */ to1) => {
            const next = zoomAt(start, middle, apart / Math.max(LEAST_APART, Math.abs(to1 - to0)), limits);
            const per_pixel = (next[1] - next[0]) / it.parts.rows.width;
            show(moveBy(next, ((x0 + x1) / 2 - (to0 + to1) / 2) * per_pixel, limits));
        };
    }

    /** A dragged name changes places with those that it reaches, within its group. @param {Pane} pane
     *  @param {string} key */
    function dragLine(pane, key) {
        let seen = null;
        return (/** @type {number} */ y) => {
            const { lines } = pane.layout;
            const from = lines.findIndex((line) => line.key === key && !line.pinned),
                to = pane.rowAt(y).line;
            // Lines are at their new places only in the next frame.
            if (seen === pane.layout || from < 0 || to < 0 || to === from || lines[to].pinned) {
                return;
            }
            const same_group = lines[to].group === lines[from].group;
            if (lines[from].kind === "group" ? !same_group : same_group && lines[to].kind === "track") {
                seen = pane.layout;
                pane.move(key, to > from ? 1 : -1);
                it.ask();
            }
        };
    }

    /** A drag over a stretch of time; with `y`, where it began, only of the tracks that it goes over.
     *  @param {number} x @param {number | null} y */
    function dragRange(x, y = null) {
        const from = timeAt(x),
            before = { range: view.range, area: view.area };
        const pane = y === null ? null : paneAt(y);
        const clamp = (time) => Math.max(limits.begin, Math.min(limits.end, time));
        return {
            move: (to_x, to_y) => {
                const to = clamp(timeAt(Math.max(it.parts.gutter, Math.min(it.parts.width, to_x)))),
                    at = clamp(from);
                const area = pane === null || y === null ? null : pane.tracksBetween(y, to_y);
                state.set({ range: at < to ? [at, to] : to < at ? [to, at] : null, area });
            },
            drop: () => {},
            click: (at_x, at_y) => void selectAt(at_x, at_y),
            cancel: () => state.set(before),
        };
    }

    function dragOverview() {
        const span = () => view.end - view.begin;
        const go = (to_x) => {
            const share = (to_x - it.parts.overview.x) / it.parts.overview.width;
            const middle = limits.begin + share * (limits.end - limits.begin);
            show(moveBy(stretch(), middle - span() / 2 - view.begin, limits));
        };
        return { move: go, drop: () => {}, click: go };
    }

    /** The bar between rows and curves: sets the height for the curves. @param {number} height */
    function splitAt(height) {
        it.curves_height = Math.max(0, height);
        it.displace();
    }

    /** From the real position, so that keys beyond an end need not be undone. @param {number} by down */
    function moveSplit(by) {
        if (it.lanes.length > 0) {
            splitAt(it.parts.curves.height - by);
        }
    }

    function dragSplit() {
        return {
            move: (_, y) => splitAt(it.parts.height - y),
            drop: () => {},
            click: null,
        };
    }

    const nothing = { move: () => {}, drop: () => {} };

    /** Times from the start, or of the trace's clock. */
    function changeClock() {
        it.absolute = origin !== null && !it.absolute;
        it.ask();
    }

    /** The effect of dragging the name at a height. @param {number} y */
    function dragName(y) {
        const pane = paneAt(y),
            line = pane?.layout.lines[pane.rowAt(y).line];
        if (!pane?.arranges || line === undefined || line.pinned || line.kind === "curve") {
            return {};
        }
        const drag = dragLine(pane, line.kind === "track" && !line.indented ? String(line.group) : line.key);
        return { move: (/** @type {number} */ _, /** @type {number} */ to_y) => drag(to_y) };
    }

    /** @param {number} x @param {number} y @param {PointerEvent} event */
    function press(x, y, event) {
        const region = regionAt(it.parts, x, y);
        if (event.button === 1 || (event.button === 0 && input.space())) {
            return dragTime(x, y, true);
        }
        if (event.button !== 0) {
            return null;
        }
        switch (region) {
            case "axis":
                return { ...dragTime(x, y, false), click: null };
            case "overview":
                return dragOverview();
            case "corner":
                return { ...nothing, click: changeClock };
            case "names":
                return {
                    ...nothing,
                    ...dragName(y),
                    click: (at_x, at_y) => {
                        const pane = paneAt(at_y);
                        if (pane !== null) {
                            toggle(pane, pane.rowAt(at_y).line);
                        }
                    },
                };
            case "split":
                return dragSplit();
            case "rows":
            case "curves":
                if (event.pointerType === "touch") {
                    return { ...dragTime(x, y, region === "rows"), click: (at_x, at_y) => void selectAt(at_x, at_y) };
                }
                if (region === "curves") {
                    return { ...dragRange(x), click: () => state.set({ range: null, area: null }) };
                }
                return dragRange(x, event.shiftKey && paneAt(y) === panes[0] ? y : null);
            default:
                return null;
        }
    }

    /** @param {number} x @param {number} y @param {number} dx @param {number} dy @param {WheelEvent} event */
    function wheel(x, y, dx, dy, event) {
        if (event.ctrlKey || event.metaKey) {
            show(zoomAt(stretch(), timeAt(Math.max(it.parts.gutter, x)), Math.exp(WHEEL_ZOOM * dy), limits));
            return;
        }
        const pane = paneAt(y) ?? panes[0],
            in_curves = y >= it.parts.curves.y && it.parts.curves.height > 0;
        const [right, down] = event.shiftKey && dx === 0 ? [dy, 0] : [dx, dy];
        if (right !== 0) {
            show(moveBy(stretch(), right * perPixel(), limits));
        }
        if (down !== 0 && in_curves) {
            it.curves_top = Math.max(
                0,
                Math.min(it.curves_top + down, it.lanes.length * LANE - it.parts.curves.height),
            );
        } else if (down !== 0 && pane.layout.height > pane.box.height) {
            pane.scrollTo(pane.top + down);
        } else if (down !== 0) {
            // nothing to scroll: all rows are in sight
            show(zoomAt(stretch(), timeAt(Math.max(it.parts.gutter, x)), Math.exp(WHEEL_ZOOM * down), limits));
        }
        it.ask();
    }

    /** @param {number} x @param {number} y */
    function follow(x, y) {
        it.over = { x, y };
        const region = regionAt(it.parts, x, y);
        canvas.style.cursor =
            region === "split"
                ? "row-resize"
                : region === "axis"
                  ? "grab"
                  : region === "rows"
                    ? "default"
                    : region === "names" || region === "corner"
                      ? "pointer"
                      : "default";
        if (x >= it.parts.gutter) {
            it.pointer_time = timeAt(x);
            if (telling === null) {
                telling = setTimeout(() => {
                    telling = null;
                    state.set({ pointer: it.pointer_time });
                }, POINTER_EVERY);
            }
        }
        hover();
        it.ask();
    }

    const input = listen(canvas, {
        press,
        pinch,
        wheel,
        hover: follow,
        wake: () => it.ask(),
        leave: () => {
            it.over = null;
            hover();
            it.ask();
        },
        open: (x, y) => {
            if (regionAt(it.parts, x, y) === "rows") {
                eventAt(x, y).then(async (found) => {
                    if (found !== null) {
                        const { begin, end } = await found.pane.source.details(found);
                        show(fit(begin, end, limits));
                    }
                });
            } else if (regionAt(it.parts, x, y) === "axis") {
                show(everything(limits));
            }
        },
        menu: (x, y, by_key) => {
            const meant = by_key ? lineMeant() : { pane: paneAt(y), at: paneAt(y)?.rowAt(y).line ?? -1 };
            if (meant.pane !== null) {
                openMenu(by_key ? it.parts.gutter : x, by_key ? it.parts.rows.y : y, meant.pane, meant.at);
            }
        },
        key: (key, event) => {
            if (event.shiftKey && (key === "ArrowUp" || key === "ArrowDown")) {
                arrange(move(key === "ArrowUp" ? -1 : 1));
                return true;
            }
            const act = keys[key] ?? keys[key.toLowerCase()];
            act?.();
            return act !== undefined;
        },
        holds: (key) => !((key === "arrowup" || key === "arrowdown") && selection.pane !== null),
    });

    /** @returns {boolean} are keys down? */
    function actOnKeys() {
        const acts = input.held(performance.now());
        const of = (name) => (acts.get(name) ?? 0) / 1000;
        const zoom = of("out") - of("in"),
            move = of("right") - of("left"),
            scroll = of("down") - of("up");
        if (zoom !== 0) {
            show(zoomAt(stretch(), anchor(), Math.exp(ZOOM_RATE * zoom), limits));
        }
        if (move !== 0) {
            show(moveBy(stretch(), move * MOVE_RATE * (view.end - view.begin), limits));
        }
        if (scroll !== 0) {
            const pane = (it.over === null ? null : paneAt(it.over.y)) ?? panes[0];
            pane.scrollTo(pane.top + scroll * SCROLL_RATE);
        }
        return input.active;
    }

    return {
        actOnKeys,
        end() {
            clearTimeout(telling ?? undefined);
            menu.end();
            input.end();
        },
    };
}
