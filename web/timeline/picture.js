// A frame: recomputes positions where needed, reads colours after a change of theme, and draws everything into the
// canvas from back to front.

import { LANE } from "./curves.js";
import { drawArrows, drawChosen } from "./flows.js";
import * as frame_parts from "./frame.js";
import { firstCurvesHeight, placeParts } from "./geometry.js";
import { cut } from "./labels.js";
import { paintOverview, rowsForOverview } from "./overview.js";
import { readPalette } from "./palette.js";
import { say } from "../texts.js";

const DATE = /^\d{4}-\d\d-\d\d /;

/** @param {import("./model.js").Model} it @param {() => void} hover  the target under the pointer changed */
export function newPicture(it, hover) {
    const { view, canvas, canvas2d, holder, panes, all_lanes, limits, unit, origin, steps, selection } = it;
    const { paneAt, duration, amount } = it;
    const overview_rows = rowsForOverview(panes[0].timeline);
    let palette = readPalette(holder);
    let few_arrows = true;
    let drawn = { begin: NaN, end: NaN }; // the stretch of time of the last picture
    /** @type {HTMLCanvasElement | null} */
    let overview = null;

    function arrange() {
        const width = holder.clientWidth,
            height = holder.clientHeight;
        it.ratio = window.devicePixelRatio || 1;
        const device = [Math.max(1, Math.round(width * it.ratio)), Math.max(1, Math.round(height * it.ratio))];
        if (canvas.width !== device[0] || canvas.height !== device[1]) {
            [canvas.width, canvas.height] = device;
        }
        const place = () => {
            it.parts = placeParts({
                width,
                height,
                n_panes: panes.length,
                n_lanes: it.lanes.length,
                steps: steps.length > 0,
                curves: it.curves_height ?? firstCurvesHeight(height, it.lanes.length),
            });
            panes.forEach((pane, at) => pane.place(it.parts.panes[at]));
        };
        place();
        const shown = all_lanes.filter(({ lane, pane }) => lane.group < 0 || pane.layout.of_group[lane.group] >= 0);
        if (shown.length !== it.lanes.length) {
            it.lanes = shown; // more or less room for rows
            place();
        }
        it.curves_top = Math.max(0, Math.min(it.curves_top, it.lanes.length * LANE - it.parts.curves.height));
        it.placed = true;
    }

    function dress() {
        palette = readPalette(holder);
        panes.forEach((pane) => pane.dress(palette));
        overview = null;
        it.dressed = true;
    }

    /** The strip above, painted again. */
    function refreshOverview() {
        const pane = panes[0];
        const width = Math.round(it.parts.overview.width * it.ratio),
            height = Math.round((it.parts.overview.height - 6) * it.ratio);
        const painted = paintOverview(
            pane.source,
            overview_rows,
            width,
            height,
            limits,
            palette.ground,
            it.contexts[0].colors.pixel,
        );
        overview ??= document.createElement("canvas");
        [overview.width, overview.height] = [painted.width, painted.height];
        overview.getContext("2d")?.putImageData(painted, 0, 0);
    }

    function draw() {
        const moved = !it.placed;
        if (moved) {
            arrange();
        }
        if (!it.dressed) {
            dress();
        }
        if (it.parts.width < 2 || it.parts.height < 2) {
            return;
        }
        if (overview === null || overview.width !== Math.round(it.parts.overview.width * it.ratio)) {
            refreshOverview();
        }
        panes.forEach((pane) => selection.follow(pane));
        const time = { begin: view.begin, end: view.end };
        const ticks = frame_parts.ticksFor(it.parts, time, {
            unit,
            zero: limits.begin,
            origin: it.absolute ? origin : null,
        });
        canvas2d.setTransform(it.ratio, 0, 0, it.ratio, 0, 0);
        const lines = { times: ticks.ticks.map((tick) => tick.time) };
        few_arrows = true;
        for (const pane of panes) {
            pane.paint(canvas2d, time, lines, palette, it.ratio, pane === panes[0] ? overview_rows : []);
            pane.paintNames(
                canvas2d,
                it.parts.gutter,
                palette,
                it.over !== null && paneAt(it.over.y) === pane ? it.hovered : -1,
            );
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
            it.parts,
            time,
            it.lanes,
            { top: it.curves_top, pointer: it.pointer_time, ratio: it.ratio, value: amount },
            palette,
        );
        frame_parts.drawSplit(canvas2d, it.parts, palette);
        frame_parts.drawAxis(canvas2d, it.parts, time, ticks, palette, cornerText(ticks.base));
        frame_parts.drawSteps(canvas2d, it.parts, time, steps, palette);
        frame_parts.drawOverview(canvas2d, it.parts, time, limits, overview, palette, shownText(ticks.base));
        if (view.range !== null) {
            const text = duration(view.range[1] - view.range[0]);
            const lines = view.area === null ? null : panes[0].placesOf(view.area);
            frame_parts.drawRange(canvas2d, it.parts, time, view.range, lines, text, palette);
        }
        frame_parts.drawMarks(canvas2d, it.parts, time, view.marks, duration, palette);
        if (it.pointer_time !== null) {
            frame_parts.drawPointer(canvas2d, it.parts, time, it.pointer_time, palette);
        }
        canvas2d.fillStyle = palette.css.strong;
        canvas2d.fillRect(it.parts.gutter - 1, 0, 1, it.parts.height);
        drawScrollbars();
        const slid = view.begin !== drawn.begin || view.end !== drawn.end;
        if ((moved || slid || it.fresh) && it.over !== null) {
            hover();
        }
        drawn = time;
        it.fresh = false;
        if (panes.every((pane) => pane.layout.lines.length === 0)) {
            drawHint(
                panes.some((pane) => pane.timeline.row_events.length > 0) ? say("No row passes the filter") : say("No events"),
            );
        } else if (!few_arrows) {
            drawHint(say("Too many arrows to draw: zoom in to see them"));
        }
    }

    /** The text beside the axis: the zero of its times. @param {string} base */
    function cornerText(base) {
        if (base !== "") {
            return `${base.replace(DATE, "")} +`;
        }
        return origin === null ? "" : say("From the start (click: clock)");
    }

    /** The text beside the overview. @param {string} base */
    function shownText(base) {
        const text = duration(view.end - view.begin);
        const date = DATE.exec(base);
        return date === null ? say("Shown: {0}", text) : say("{0}, shown: {1}", date[0].trim(), text);
    }

    function drawTitles() {
        if (panes.length < 2) {
            return;
        }
        for (const pane of panes) {
            const y = pane.box.y - it.parts.title;
            canvas2d.fillStyle = palette.css.strong;
            canvas2d.fillRect(0, y, it.parts.width, it.parts.title);
            canvas2d.fillStyle = palette.css.text;
            canvas2d.font = `600 12px ${palette.font}`;
            canvas2d.textAlign = "left";
            canvas2d.textBaseline = "middle";
            canvas2d.fillText(cut(pane.context.run.name, 120), 8, y + it.parts.title / 2);
        }
    }

    function drawScrollbars() {
        const bar = (box, top, whole) => {
            if (whole > box.height + 1 && box.height > 20) {
                const height = Math.max(24, (box.height * box.height) / whole);
                const y = box.y + ((box.height - height) * top) / (whole - box.height);
                canvas2d.fillStyle = palette.css.strong;
                canvas2d.fillRect(it.parts.width - 6, y, 5, height);
            }
        };
        panes.forEach((pane) => bar(pane.box, pane.top, pane.layout.height));
        bar(it.parts.curves, it.curves_top, it.lanes.length * LANE);
    }

    /** @param {string} text */
    function drawHint(text) {
        const bottom = it.parts.rows.y + it.parts.rows.height;
        canvas2d.font = `11px ${palette.font}`;
        canvas2d.textAlign = "left";
        canvas2d.textBaseline = "middle";
        const width = canvas2d.measureText(text).width + 16,
            x = it.parts.width - width - 12;
        canvas2d.fillStyle = palette.css.head;
        canvas2d.fillRect(x, bottom - 26, width, 20);
        canvas2d.fillStyle = palette.css.quiet;
        canvas2d.fillText(text, x + 8, bottom - 16);
    }

    return {
        draw,
        /** The strip above has to be painted again. */
        dropOverview() {
            overview = null;
        },
    };
}
