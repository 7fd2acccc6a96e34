// The live memory at the pointer: for one group a strip of memory over time by type, with the memory curve and the
// limit over it, and below it the list of live memory at the time of the pointer. The pointer is the timeline's: it
// moves by a slider (arrow keys), by dragging over the strip, or to the peak.

import { element, fill, svg } from "../dom.js";
import { extremes, valueAt } from "../timeline/curves.js";
import { areaPaths, curvePath, groupsOf, memoryCurves, unitOf } from "./held_curves.js";
import { heldList } from "./held_list.js";
import { peakOf, sampleHeld } from "./held_sums.js";
import { choice, makePart, onWidth } from "./part.js";
import { niceTicks, placeOf, tickText } from "./scale.js";
import { textWidth } from "./shorten.js";
import { say, told } from "../texts.js";

const HEIGHT = 210;
const [TOP, BOTTOM, RIGHT] = [12, 26, 14];
const COLUMNS_PER_PIXEL = 0.25;
const MOST_LOOKS = 1e7; // at a piece at a time: some tenths of a second
const SLIDER_STEPS = 2000;

/** Does this part have content? @param {import("../types").Context} context */
export function hasHeld(context) {
    return context.source !== null && groupsOf(context.source.timeline).length > 0;
}

/**
 * @param {HTMLElement} root @param {import("../types").Context} context with a source @returns {() => void}
 */
export function showHeld(root, context) {
    const { state, format, colors } = context;
    const source = /** @type {import("../types").Source} */ (context.source);
    const { timeline } = source;
    const groups = groupsOf(timeline);
    const selected = state.view.selected ? source.row_group[state.view.selected.row] : -1;
    let group = groups.includes(selected) ? selected : groups[0];
    let zoomed = false;
    let width = 0;
    let [begin, end] = [timeline.begin, timeline.end];
    let toX = (_time) => 0;
    let frame = 0;

    const curveAt = (number) => (from, to, resolution) => source.curve(number, from, to, resolution);
    const peakTime = () => {
        const [first] = memoryCurves(timeline, group);
        return first ? peakOf(curveAt(first.curve), timeline.begin, timeline.end) : null;
    };
    const pointer = () => state.view.pointer ?? peakTime() ?? (timeline.begin + timeline.end) / 2;
    const zoom_box = element("input", {
        type: "checkbox",
        onchange: () => {
            zoomed = zoom_box.checked;
            draw();
        },
    });
    const slider = element("input", {
        type: "range",
        min: 0,
        max: SLIDER_STEPS,
        step: 1,
        "aria-label": say("Time of the pointer"),
        oninput: () => state.set({ pointer: begin + ((end - begin) * Number(slider.value)) / SLIDER_STEPS }),
    });
    const { part, body } = makePart(
        timeline.n_held > 0 ? say("What is alive at the pointer") : say("Memory at the pointer"),
        choice(
            say("Of"),
            groups.map((number) => [String(number), told(timeline.groups[number].name)]),
            String(group),
            (value) => {
                group = Number(value);
                draw();
            },
        ),
        element("label", { class: "choice" }, zoom_box, element("span", {}, say("Only what the timeline shows"))),
        element(
            "button",
            {
                type: "button",
                onclick: () => {
                    const peak = peakTime();
                    if (peak !== null) state.set({ pointer: peak });
                },
            },
            say("Go to the peak"),
        ),
    );
    const picture = svg("svg", { class: "lines strip", role: "img", "aria-label": say("What is held over time, by type") });
    const line = svg("line", { class: "pointer", y1: TOP - 6, y2: HEIGHT - BOTTOM });
    const list = element("div", { class: "held-list" });
    const legend = element("ul", { class: "legend" });
    body.append(legend, picture, slider, list);
    root.append(part);

    const movePointer = () => {
        const time = pointer();
        const x = toX(time);
        line.setAttribute("x1", String(x));
        line.setAttribute("x2", String(x));
        line.style.display = time < begin || time > end ? "none" : "";
        slider.value = String(Math.round(SLIDER_STEPS * placeOf(time, begin, end)));
        slider.setAttribute("aria-valuetext", format.time(time, timeline.unit));
        if (timeline.n_held > 0)
            fill(list, heldList(source.held(group, time), time, told(timeline.groups[group].name), context));
        else fill(list, curveValues(time));
    };
    const curveValues = (time) =>
        element(
            "ul",
            { class: "notes" },
            memoryCurves(timeline, group).map((lane) => {
                const points = source.curve(lane.curve, begin, end, (end - begin) / width);
                const value = points ? valueAt(points, lane.steps, time) : null;
                const unit = /** @type {import("../types").Unit} */ (lane.unit);
                const size = value === null ? say("no value") : format.value(value, unit);
                return element("li", {}, say("{0}: {1} at {2}", lane.name, size, format.time(time, timeline.unit)));
            }),
        );
    const draw = () => {
        if (width === 0) return;
        [begin, end] = zoomed ? [state.view.begin, state.view.end] : [timeline.begin, timeline.end];
        const affordable = MOST_LOOKS / Math.max(1, timeline.n_held);
        const n = Math.floor(Math.max(60, Math.min(width * COLUMNS_PER_PIXEL, affordable)));
        const samples =
            timeline.n_held > 0
                ? sampleHeld((time) => source.held(group, time), begin, end, n)
                : { types: [], mb: new Map(), total: new Float64Array(n) };
        const curves = memoryCurves(timeline, group).map((lane) => ({
            lane,
            points: source.curve(lane.curve, begin, end, (end - begin) / width),
        }));
        drawPicture(samples, curves);
        movePointer();
    };
    const drawPicture = (samples, curves) => {
        const unit = unitOf(timeline);
        const limits = [...new Set(curves.map(({ lane }) => lane.limit).filter((limit) => typeof limit === "number"))];
        let most = samples.total.reduce((a, b) => Math.max(a, b), 0);
        for (const { points } of curves) most = points ? Math.max(most, extremes(points)[1]) : most;
        const y = niceTicks(0, Math.max(most, ...limits), 4);
        const y_text = tickText(unit, y.high, y.step);
        const left = Math.ceil(Math.max(...y.ticks.map((tick) => textWidth(`${y_text.text(tick)} ${unit}`)))) + 12;
        const x = niceTicks(begin, end, Math.max(2, Math.floor((width - left) / 110)));
        toX = (time) => left + placeOf(time, begin, end) * (width - left - RIGHT);
        const toY = (value) => TOP + (1 - placeOf(value, y.low, y.high)) * (HEIGHT - TOP - BOTTOM);
        const ticks = x.ticks.filter((tick) => tick >= begin && tick <= end);
        picture.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
        picture.setAttribute("height", String(HEIGHT));
        slider.style.marginLeft = `${left - 8}px`;
        slider.style.width = `${width - left - RIGHT + 16}px`;
        fill(
            picture,
            areaPaths(samples, begin, end, toX, toY).map(({ type, path }) =>
                svg("path", { d: path, fill: colors.type(type) }),
            ),
            y.ticks.map((tick, i) => [
                svg("line", { class: "grid", x1: left, x2: width - RIGHT, y1: toY(tick), y2: toY(tick) }),
                svg(
                    "text",
                    { x: left - 6, y: toY(tick) + 4, "text-anchor": "end" },
                    i === y.ticks.length - 1 ? `${y_text.text(tick)} ${unit}` : y_text.text(tick),
                ),
            ]),
            ticks.map((tick) =>
                svg(
                    "text",
                    { x: toX(tick), y: HEIGHT - 8, "text-anchor": "middle" },
                    format.time(tick, timeline.unit, x.step),
                ),
            ),
            curves.map(
                ({ lane, points }, i) =>
                    points &&
                    svg("path", {
                        class: "curve",
                        d: curvePath(points, lane.steps, toX, toY, toX(end)),
                        stroke: curves.length > 1 ? colors.series(i) : "currentColor",
                    }),
            ),
            limits.map((limit) => [
                svg("line", { class: "limit", x1: left, x2: width - RIGHT, y1: toY(limit), y2: toY(limit) }),
                svg(
                    "text",
                    {
                        class: "limit-text",
                        x: width - RIGHT - 4,
                        y: toY(limit) + (toY(limit) < 30 ? 14 : -5),
                        "text-anchor": "end",
                    },
                    say("limit {0}", format.value(limit, unit)),
                ),
            ]),
            line,
        );
        fill(
            legend,
            samples.types.map((type) =>
                element(
                    "li",
                    {},
                    element("span", { class: "swatch", style: { background: colors.type(type) } }),
                    told(context.document.types[type] ?? ""),
                ),
            ),
            curves.map(({ lane }, i) =>
                element(
                    "li",
                    {},
                    element("span", {
                        class: "line-swatch",
                        style: { background: curves.length > 1 ? colors.series(i) : "currentColor" },
                    }),
                    lane.name,
                ),
            ),
        );
    };
    const drag = (event) => {
        if (event.buttons !== 1) return;
        const box = picture.getBoundingClientRect();
        const [left, right] = [toX(begin), toX(end)];
        const share = Math.min(1, Math.max(0, (event.clientX - box.left - left) / (right - left)));
        state.set({ pointer: begin + (end - begin) * share });
    };
    picture.addEventListener("pointerdown", (event) => {
        picture.setPointerCapture(event.pointerId);
        drag(event);
    });
    picture.addEventListener("pointermove", drag);
    const soon = (what) => () => {
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(what);
    };
    const before = source.changed;
    source.changed = soon(draw);
    const off_pointer = state.on(["pointer"], soon(movePointer));
    const off_zoom = state.on(["begin", "end"], () => zoomed && soon(draw)());
    const ended = onWidth(body, (now) => {
        width = now;
        draw();
    });
    return () => {
        cancelAnimationFrame(frame);
        source.changed = before;
        off_pointer();
        off_zoom();
        ended();
        part.remove();
    };
}
