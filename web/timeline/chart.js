// The timeline on a canvas: puts panes, frame, curves, selection and input together. All that is shown follows from the
// shared view; a change of it, of the size or of what the source has asks for one frame, and a frame draws everything.

import { element } from "../dom.js";
import { addMark } from "../side/marks.js";
import { panFrames } from "./bench.js";
import { LANE, extremes, lanesOf } from "./curves.js";
import { drawArrows, drawChosen } from "./flows.js";
import * as frame_parts from "./frame.js";
import { firstCurvesHeight, placeParts, regionAt } from "./geometry.js";
import { listen } from "./input.js";
import { cut } from "./labels.js";
import { paintOverview, rowsForOverview } from "./overview.js";
import { readPalette } from "./palette.js";
import { newPane } from "./pane.js";
import { everything, fit, limitsOf, moveBy, reveal, zoomAt } from "./scale.js";
import { boxAt, newSelection } from "./selection.js";
import { newTip } from "./tip.js";

const ZOOM_RATE = 3.2; // of a held key: e^this per second
const MOVE_RATE = 0.9; // of what is shown per second
const SCROLL_RATE = 700; // pixels per second
const WHEEL_ZOOM = 0.0022; // per pixel of a wheel
const POINTER_EVERY = 60; // milliseconds between changes of view.pointer
const NEAR = 4; // pixels from which on an event counts as hit

const DATE = /^\d{4}-\d\d-\d\d /;

/** @typedef {import("../types").Context} Context */
/** @typedef {ReturnType<typeof newPane>} Pane */
/** @typedef {import("./scale.js").Stretch} Stretch */

/**
 * @param {HTMLElement} root  filled; what it had is removed at the end
 * @param {Context[]} contexts one, or two that are shown above each other on one axis; of one state, each with a source
 * @returns {() => void}
 */
export function mountChart(root, contexts) {
    const { state, format } = contexts[0],
        { view } = state;
    const canvas = element("canvas", {
        tabindex: "0",
        role: "application",
        "aria-label": "Timeline: W and S zoom, A and D move, Enter selects, comma and full stop go to the next event",
    });
    const holder = element("div", { class: "timeline" }, canvas);
    root.replaceChildren(holder);
    const canvas2d = /** @type {CanvasRenderingContext2D} */ (
        canvas.getContext("2d", { alpha: false, willReadFrequently: true })
    );
    const panes = contexts.map((context, at) => newPane(context, { own: at > 0 }));
    const limits = limitsOf(panes.map((pane) => pane.timeline));
    const unit = panes[0].timeline.unit,
        origin = panes.length === 1 ? panes[0].timeline.origin : null;
    const all_lanes = panes.flatMap((pane) =>
        lanesOf(pane.timeline).map((lane) => ({ lane, pane, source: pane.source, group: laneGroup(pane, lane.group) })),
    );
    const still = (lane) => Number(lane.least === lane.most && lane.limit === null);
    all_lanes.sort((a, b) => still(a.lane) - still(b.lane)); // what never changes stands last
    if (panes.length > 1) {
        // the same curve of both runs next to each other
        all_lanes.sort(
            (a, b) => still(a.lane) - still(b.lane) || a.lane.group - b.lane.group || a.lane.curve - b.lane.curve,
        );
    }
    all_lanes
        .filter(({ lane }) => Number.isNaN(lane.most))
        .forEach(({ lane, source }) => {
            const points = source.curve(lane.curve, limits.begin, limits.end, (limits.end - limits.begin) / 2000);
            [lane.least, lane.most] = points === null || points.n === 0 ? [NaN, NaN] : extremes(points);
        });
    const steps = stepsForAxis(panes[0].timeline);
    const overview_rows = rowsForOverview(panes[0].timeline);
    const tip = newTip(holder);
    const selection = newSelection({ changed: tellSelected });
    const stop = new AbortController();

    let palette = readPalette(holder);
    let dressed = false,
        placed = false,
        asked = 0,
        ended = false;
    let absolute = false,
        curves_height = /** @type {number | null} */ (null),
        curves_top = 0,
        lanes = all_lanes;
    let parts = placeParts({ width: 1, height: 1, n_panes: panes.length, n_lanes: 0, steps: false, curves: 0 });
    /** @type {HTMLCanvasElement | null} */
    let overview = null;
    /** @type {{x: number, y: number} | null} */
    let over = null;
    /** @type {ReturnType<typeof setTimeout> | null} */
    let telling = null;
    let pointer_time = /** @type {number | null} */ (view.pointer);
    let fresh = false; // did something come that may have been missing?
    let revealing = false,
        few_arrows = true,
        hovered = -1,
        ratio = 1;

    /** @param {Pane} pane @param {number} group */
    function laneGroup(pane, group) {
        const name = pane.timeline.groups[group]?.name ?? "";
        return panes.length > 1 ? `${pane.context.run.name}: ${name}` : name;
    }

    /** Steps of the axis: those of no group, else of the first group that has any. @param {import("../types").Timeline}
     *  timeline */
    function stepsForAxis(timeline) {
        const shared = timeline.steps.filter((step) => step.group < 0);
        const first = Math.min(...timeline.steps.map((step) => step.group));
        return shared.length > 0 ? shared : timeline.steps.filter((step) => step.group === first);
    }

    // ---- time and place ----

    /** @returns {Stretch} */
    const stretch = () => [view.begin, view.end];
    /** @param {number} x */
    const timeAt = (x) => view.begin + ((x - parts.rows.x) / parts.rows.width) * (view.end - view.begin);
    const perPixel = () => (view.end - view.begin) / parts.rows.width;
    /** @param {Stretch} next */
    const show = (next) => state.set({ begin: next[0], end: next[1] });
    const paneAt = (y) => panes.find((pane) => y >= pane.box.y && y < pane.box.y + pane.box.height) ?? null;
    /** Where keys act: under the pointer, else in the middle. */
    const anchor = () => (over !== null && over.x >= parts.gutter ? timeAt(over.x) : (view.begin + view.end) / 2);
    /** A duration as it is read. @param {number} value */
    const duration = (value) => format.value(value, unit === "ns" ? "ns" : "time");
    /** @param {number} time @param {number} resolution */
    const moment = (time, resolution) => format.time(time - limits.begin, unit, resolution);
    /** @param {number} value @param {string} of */
    const amount = (value, of) => format.value(value, /** @type {import("../types").Unit} */ (of));

    // ---- frames ----

    function ask() {
        if (asked === 0 && !ended) {
            asked = requestAnimationFrame(frame);
        }
    }

    function frame() {
        asked = 0;
        const again = actOnKeys();
        draw();
        if (again) {
            ask();
        }
    }

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
            const pane = (over === null ? null : paneAt(over.y)) ?? panes[0];
            pane.scrollTo(pane.top + scroll * SCROLL_RATE);
        }
        return input.active;
    }

    function arrange() {
        const width = holder.clientWidth,
            height = holder.clientHeight;
        ratio = window.devicePixelRatio || 1;
        const device = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
        if (canvas.width !== device[0] || canvas.height !== device[1]) {
            [canvas.width, canvas.height] = device;
        }
        const place = () => {
            parts = placeParts({
                width,
                height,
                n_panes: panes.length,
                n_lanes: lanes.length,
                steps: steps.length > 0,
                curves: curves_height ?? firstCurvesHeight(height, lanes.length),
            });
            panes.forEach((pane, at) => pane.place(parts.panes[at]));
        };
        place();
        const shown = all_lanes.filter(({ lane, pane }) => lane.group < 0 || pane.layout.of_group[lane.group] >= 0);
        if (shown.length !== lanes.length) {
            lanes = shown; // more or less room for rows
            place();
        }
        curves_top = Math.max(0, Math.min(curves_top, lanes.length * LANE - parts.curves.height));
        placed = true;
    }

    function dress() {
        palette = readPalette(holder);
        panes.forEach((pane) => pane.dress(palette));
        overview = null;
        dressed = true;
    }

    /** The strip above, painted anew. */
    function refreshOverview() {
        const pane = panes[0];
        const width = Math.round(parts.overview.width * ratio),
            height = Math.round((parts.overview.height - 6) * ratio);
        const painted = paintOverview(
            pane.source,
            overview_rows,
            width,
            height,
            limits,
            palette.ground,
            contexts[0].colors.pixel,
        );
        overview ??= document.createElement("canvas");
        [overview.width, overview.height] = [painted.width, painted.height];
        overview.getContext("2d")?.putImageData(painted, 0, 0);
    }

    function draw() {
        const moved = !placed;
        if (moved) {
            arrange();
        }
        if (!dressed) {
            dress();
        }
        if (parts.width < 2 || parts.height < 2) {
            return;
        }
        if (overview === null || overview.width !== Math.round(parts.overview.width * ratio)) {
            refreshOverview();
        }
        panes.forEach((pane) => selection.follow(pane));
        const time = { begin: view.begin, end: view.end };
        const ticks = frame_parts.ticksFor(parts, time, { unit, zero: limits.begin, origin: absolute ? origin : null });
        canvas2d.setTransform(ratio, 0, 0, ratio, 0, 0);
        const lines = { times: ticks.ticks.map((tick) => tick.time) };
        few_arrows = true;
        for (const pane of panes) {
            pane.paint(canvas2d, time, lines, palette, ratio, pane === panes[0] ? overview_rows : []);
            pane.paintNames(canvas2d, parts.gutter, palette, over !== null && paneAt(over.y) === pane ? hovered : -1);
            if (view.arrows) {
                few_arrows = drawArrows(canvas2d, pane, time, palette) && few_arrows;
            }
        }
        if (selection.chosen !== null) {
            drawChosen(canvas2d, selection.chosen, time, palette);
        }
        drawTitles();
        frame_parts.drawLanes(
            canvas2d,
            parts,
            time,
            lanes,
            { top: curves_top, pointer: pointer_time, ratio, value: amount },
            palette,
        );
        frame_parts.drawSplit(canvas2d, parts, palette);
        frame_parts.drawAxis(canvas2d, parts, time, ticks, palette, cornerText(ticks.base));
        frame_parts.drawSteps(canvas2d, parts, time, steps, palette);
        frame_parts.drawOverview(canvas2d, parts, time, limits, overview, palette, shownText(ticks.base));
        if (view.range !== null) {
            const text = duration(view.range[1] - view.range[0]);
            frame_parts.drawRange(canvas2d, parts, time, view.range, text, palette);
        }
        frame_parts.drawMarks(canvas2d, parts, time, view.marks, palette);
        if (pointer_time !== null) {
            frame_parts.drawPointer(canvas2d, parts, time, pointer_time, palette);
        }
        canvas2d.fillStyle = palette.css.strong;
        canvas2d.fillRect(parts.gutter - 1, 0, 1, parts.height);
        drawScrollbars();
        if ((moved || fresh) && over !== null) {
            hover();
        }
        fresh = false;
        if (!few_arrows) {
            drawHint("Too many arrows to draw: zoom in to see them");
        }
    }

    /** What stands beside the axis: from when on its times count. @param {string} base */
    function cornerText(base) {
        if (base !== "") {
            return `${base.replace(DATE, "")} +`;
        }
        return origin === null ? "" : "From the begin (click: clock)";
    }

    /** What stands beside the overview. @param {string} base */
    function shownText(base) {
        const text = `Shown: ${duration(view.end - view.begin)}`;
        const [date] = DATE.exec(base) ?? [""];
        return `${date}${text}`;
    }

    function drawTitles() {
        if (panes.length < 2) {
            return;
        }
        for (const pane of panes) {
            const y = pane.box.y - parts.title;
            canvas2d.fillStyle = palette.css.strong;
            canvas2d.fillRect(0, y, parts.width, parts.title);
            canvas2d.fillStyle = palette.css.text;
            canvas2d.font = `600 12px ${palette.font}`;
            canvas2d.textAlign = "left";
            canvas2d.textBaseline = "middle";
            canvas2d.fillText(cut(pane.context.run.name, 120), 8, y + parts.title / 2);
        }
    }

    function drawScrollbars() {
        const bar = (box, top, whole) => {
            if (whole > box.height + 1 && box.height > 20) {
                const height = Math.max(24, (box.height * box.height) / whole);
                const y = box.y + ((box.height - height) * top) / (whole - box.height);
                canvas2d.fillStyle = palette.css.strong;
                canvas2d.fillRect(parts.width - 6, y, 5, height);
            }
        };
        panes.forEach((pane) => bar(pane.box, pane.top, pane.layout.height));
        bar(parts.curves, curves_top, lanes.length * LANE);
    }

    /** @param {string} text */
    function drawHint(text) {
        const bottom = parts.rows.y + parts.rows.height;
        canvas2d.font = `11px ${palette.font}`;
        canvas2d.textAlign = "left";
        canvas2d.textBaseline = "middle";
        const width = canvas2d.measureText(text).width + 16,
            x = parts.width - width - 12;
        canvas2d.fillStyle = palette.css.head;
        canvas2d.fillRect(x, bottom - 26, width, 20);
        canvas2d.fillStyle = palette.css.quiet;
        canvas2d.fillText(text, x + 8, bottom - 16);
    }

    // ---- what is at a place ----

    /** The box at a place of the page. @param {number} x @param {number} y */
    function hit(x, y) {
        const pane = paneAt(y);
        if (pane === null || x < parts.gutter) {
            return null;
        }
        const { row } = pane.rowAt(y);
        if (row < 0) {
            return null;
        }
        const resolution = perPixel() / ratio,
            time = timeAt(x);
        const boxes = pane.source.boxes(row, view.begin, view.end, resolution);
        const at = boxAt(boxes, time, NEAR * perPixel());
        return at < 0 || boxes === null ? null : { pane, row, boxes, at, time };
    }

    /** @param {number} x @param {number} y @returns {Promise<{pane: Pane, row: number, index: number} | null>} */
    async function eventAt(x, y) {
        const found = hit(x, y);
        if (found === null) {
            return null;
        }
        const { pane, row, boxes, at, time } = found;
        if (boxes.count === null || boxes.count[at] === 1) {
            return { pane, row, index: boxes.index === null ? at : boxes.index[at] };
        }
        const first = /** @type {Uint32Array} */ (boxes.index)[at];
        const within = Math.max(boxes.begin[at], Math.min(time, boxes.end[at]));
        return { pane, row, index: (await pane.source.at(row, within)) ?? first };
    }

    function hover() {
        const found = over === null ? null : hit(over.x, over.y);
        const pane = over === null ? null : paneAt(over.y);
        hovered = over !== null && pane !== null && over.x < parts.gutter ? pane.rowAt(over.y).line : -1;
        if (over === null || found === null) {
            const line = pane !== null && hovered >= 0 ? pane.layout.lines[hovered] : null;
            if (over !== null && pane !== null && line !== null) {
                tip.show(over.x, over.y, line.name, lineTexts(pane, line));
            } else {
                tip.hide();
            }
            return;
        }
        const { boxes, at } = found,
            begin = boxes.begin[at],
            end = boxes.end[at];
        const count = boxes.count === null ? 1 : boxes.count[at];
        const name = found.pane.source.name(boxes.name[at]) || "\u2026";
        if (count > 1) {
            const busy = boxes.busy === null || !(end > begin) ? 1 : Math.min(1, boxes.busy[at] / (end - begin));
            tip.show(over.x, over.y, `${format.value(count, "count")} events`, [
                `${format.value(100 * busy, "%")} of ${duration(end - begin)} filled`,
                `longest: ${name}`,
            ]);
        } else {
            tip.show(over.x, over.y, name, [duration(end - begin), `begins at ${moment(begin, perPixel())}`]);
        }
    }

    /** @param {Pane} pane @param {import("./layout.js").Line} line */
    function lineTexts(pane, line) {
        const texts = line.kind === "track" ? [pane.timeline.groups[line.group].name] : [];
        const left_out = line.kind === "track" ? pane.tracks[line.track].left_out : 0;
        if (left_out > 0) {
            texts.push(`${format.value(left_out, "count")} events could not be nested and are left out`);
        }
        if (line.folds) {
            texts.push(line.folded ? "Click to open" : "Click to close");
        }
        return texts;
    }

    // ---- selecting ----

    /** @param {import("./selection.js").Chosen | null} chosen */
    function tellSelected(chosen) {
        if (chosen === null) {
            tip.say("Nothing is selected");
        } else {
            const { pane, row, details } = chosen,
                track = pane.tracks[pane.source.row_track[row]];
            const where = `${track?.name ?? ""} of ${pane.timeline.groups[track?.group ?? 0]?.name ?? ""}`;
            const length = details.end - details.begin;
            const begins = moment(details.begin, length);
            tip.say(`${details.name}, ${where}, begins at ${begins}, lasts ${duration(length)}`);
            if (revealing) {
                revealing = false;
                bringIntoSight(chosen);
            }
        }
        ask();
    }

    /** @param {import("./selection.js").Chosen} chosen */
    function bringIntoSight(chosen) {
        const { pane, row, details } = chosen,
            place = pane.placeOf(row);
        show(reveal(stretch(), details.begin, details.end, limits));
        if (place !== null && place.y < pane.box.y) {
            pane.scrollTo(pane.top + place.y - pane.box.y - 24);
        } else if (place !== null && place.y + place.height > pane.box.y + pane.box.height) {
            pane.scrollTo(pane.top + place.y + place.height - pane.box.y - pane.box.height + 24);
        }
    }

    /** @param {Pane | null} pane @param {import("../types").EventPlace | null} place */
    function select(pane, place) {
        panes.filter((other) => other !== pane).forEach((other) => other.select(null));
        pane?.select(place);
        ask();
    }

    /** @param {number} x @param {number} y */
    function selectAt(x, y) {
        return eventAt(x, y).then((found) => {
            select(found?.pane ?? null, found === null ? null : { row: found.row, index: found.index });
            return found;
        });
    }

    function fitSelection() {
        if (view.range !== null) {
            show(fit(view.range[0], view.range[1], limits));
        } else if (selection.chosen !== null) {
            show(fit(selection.chosen.details.begin, selection.chosen.details.end, limits));
        }
    }

    function clear() {
        select(null, null);
        state.set({ range: null });
        tip.hide();
    }

    /** Fold or open what stands at a line. @param {Pane} pane @param {number} at */
    function toggle(pane, at) {
        const line = pane.layout.lines[at];
        if (line?.folds) {
            pane.fold([line.key], !line.folded);
            displace();
        }
    }

    /** The line that keys mean: of what is selected, else under the pointer. */
    function lineMeant() {
        const { chosen } = selection;
        if (chosen !== null) {
            return { pane: chosen.pane, at: chosen.pane.layout.of_track[chosen.pane.source.row_track[chosen.row]] };
        }
        const pane = (over === null ? null : paneAt(over.y)) ?? null;
        return pane === null || over === null ? { pane: panes[0], at: -1 } : { pane, at: pane.rowAt(over.y).line };
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
        displace();
    }

    // ---- input ----

    /** @type {Record<string, () => void>} */
    const keys = {
        f: fitSelection,
        z: fitSelection,
        c: changeClock,
        0: () => show(everything(limits)),
        Home: () => show(everything(limits)),
        m: () => {
            state.set({ pointer: pointer_time });
            addMark(state);
        },
        Escape: clear,
        Enter: () => {
            const x = over !== null && over.x >= parts.gutter ? over.x : parts.rows.x + parts.rows.width / 2;
            const y = over !== null && paneAt(over.y) !== null ? over.y : firstRowInSight();
            selectAt(x, y);
        },
        ".": () => step(1),
        ",": () => step(-1),
        ArrowDown: () => turn(1),
        ArrowUp: () => turn(-1),
        t: () => {
            const { pane, at } = lineMeant();
            toggle(pane, at);
        },
        g: () => foldGroup(false),
        G: () => foldGroup(true),
        PageDown: () => page(1),
        PageUp: () => page(-1),
    };

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
        return parts.rows.y;
    }

    /** @param {number} by */
    function step(by) {
        revealing = true;
        selection.step(by);
        ask();
    }

    /** @param {number} by */
    function turn(by) {
        const pane = selection.pane;
        if (pane !== null) {
            revealing = true;
            selection.turn(by, pane).then(ask);
        }
    }

    /** @param {number} by */
    function page(by) {
        const pane = lineMeant().pane;
        pane.scrollTo(pane.top + by * pane.box.height * 0.85);
        ask();
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
                ask();
            },
            drop: () => {},
            click: null,
        };
    }

    /** @param {number} x */
    function dragRange(x) {
        const from = timeAt(x),
            before = view.range;
        const clamp = (time) => Math.max(limits.begin, Math.min(limits.end, time));
        return {
            move: (to_x) => {
                const to = clamp(timeAt(Math.max(parts.gutter, Math.min(parts.width, to_x)))),
                    at = clamp(from);
                state.set({ range: at < to ? [at, to] : to < at ? [to, at] : null });
            },
            drop: () => {},
            click: (at_x, at_y) => void selectAt(at_x, at_y),
            cancel: () => state.set({ range: before }),
        };
    }

    function dragOverview() {
        const span = () => view.end - view.begin;
        const go = (to_x) => {
            const share = (to_x - parts.overview.x) / parts.overview.width;
            const middle = limits.begin + share * (limits.end - limits.begin);
            show(moveBy(stretch(), middle - span() / 2 - view.begin, limits));
        };
        return { move: go, drop: () => {}, click: go };
    }

    function dragSplit() {
        return {
            move: (_, y) => {
                curves_height = Math.max(0, parts.height - y);
                placed = false;
                ask();
            },
            drop: () => {},
            click: null,
        };
    }

    const nothing = { move: () => {}, drop: () => {} };

    /** Times from the begin, or of the trace's clock. */
    function changeClock() {
        absolute = origin !== null && !absolute;
        ask();
    }

    /** @param {number} x @param {number} y @param {PointerEvent} event */
    function press(x, y, event) {
        const region = regionAt(parts, x, y);
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
                return dragRange(x);
            case "curves":
                return { ...dragRange(x), click: () => state.set({ range: null }) };
            default:
                return null;
        }
    }

    /** @param {number} x @param {number} y @param {number} dx @param {number} dy @param {WheelEvent} event */
    function wheel(x, y, dx, dy, event) {
        if (event.ctrlKey || event.metaKey) {
            show(zoomAt(stretch(), timeAt(Math.max(parts.gutter, x)), Math.exp(WHEEL_ZOOM * dy), limits));
            return;
        }
        const pane = paneAt(y) ?? panes[0],
            in_curves = y >= parts.curves.y && parts.curves.height > 0;
        const [right, down] = event.shiftKey && dx === 0 ? [dy, 0] : [dx, dy];
        if (right !== 0) {
            show(moveBy(stretch(), right * perPixel(), limits));
        }
        if (down !== 0 && in_curves) {
            curves_top = Math.max(0, Math.min(curves_top + down, lanes.length * LANE - parts.curves.height));
        } else if (down !== 0 && pane.layout.height > pane.box.height) {
            pane.scrollTo(pane.top + down);
        } else if (down !== 0) {
            // nothing to scroll: all rows are in sight
            show(zoomAt(stretch(), timeAt(Math.max(parts.gutter, x)), Math.exp(WHEEL_ZOOM * down), limits));
        }
        ask();
    }

    /** @param {number} x @param {number} y */
    function follow(x, y) {
        over = { x, y };
        const region = regionAt(parts, x, y);
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
        if (x >= parts.gutter) {
            pointer_time = timeAt(x);
            if (telling === null) {
                telling = setTimeout(() => {
                    telling = null;
                    state.set({ pointer: pointer_time });
                }, POINTER_EVERY);
            }
        }
        hover();
        ask();
    }

    const input = listen(canvas, {
        press,
        wheel,
        hover: follow,
        wake: ask,
        leave: () => {
            over = null;
            hover();
            ask();
        },
        open: (x, y) => {
            if (regionAt(parts, x, y) === "rows") {
                eventAt(x, y).then(async (found) => {
                    if (found !== null) {
                        const { begin, end } = await found.pane.source.details(found);
                        show(fit(begin, end, limits));
                    }
                });
            } else if (regionAt(parts, x, y) === "axis") {
                show(everything(limits));
            }
        },
        key: (key) => {
            const act = keys[key] ?? keys[key.toLowerCase()];
            act?.();
            return act !== undefined;
        },
        holds: (key) => !((key === "arrowup" || key === "arrowdown") && selection.pane !== null),
    });

    // ---- following ----

    const undress = () => {
        dressed = false;
        ask();
    };
    const displace = () => {
        placed = false;
        ask();
    };
    const off = [
        state.on(["begin", "end", "top", "range", "marks", "arrows"], ask),
        state.on(["selected"], () => {
            if (view.selected !== null) {
                // one selection, of the first pane now
                panes.slice(1).forEach((pane) => pane.select(null));
            }
            ask();
        }),
        state.on(["pointer"], () => {
            pointer_time = view.pointer;
            ask();
        }),
        state.on(["query", "theme"], undress),
        state.on(["filter", "folded"], () => {
            dressed = false;
            displace();
        }),
    ];
    const sized = new ResizeObserver(displace);
    sized.observe(holder);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", undress, { signal: stop.signal });
    const before = panes.map((pane) => pane.source.changed);
    panes.forEach((pane) => {
        const earlier = pane.source.changed;
        pane.source.changed = () => {
            earlier?.();
            overview = pane === panes[0] ? null : overview;
            fresh = true;
            ask();
        };
    });
    if (!(view.end > view.begin) || view.end - view.begin < limits.least) {
        show(everything(limits));
    }
    if (/\bbench\b/.test(window.location.hash)) {
        const measured = {
            move: (share) => show(moveBy(stretch(), share * (view.end - view.begin), limits)),
            draw,
            events: () => panes.reduce((sum, pane) => sum + pane.events_drawn, 0),
        };
        /** @type {any} */ (window).evenkeel_bench = { panFrames: panFrames(measured) };
    }
    ask();

    return () => {
        ended = true;
        cancelAnimationFrame(asked);
        clearTimeout(telling ?? undefined);
        off.forEach((end) => end());
        sized.disconnect();
        input.end();
        stop.abort();
        panes.forEach((pane, at) => {
            pane.source.changed = before[at];
        });
        root.replaceChildren();
    };
}
