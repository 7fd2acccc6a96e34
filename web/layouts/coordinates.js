// Parallel coordinates: an upright axis for each degree, the step and the memory, and a line for each layout. A drag
// along an axis is a brush: layouts outside of it fade, here and in the other chart. By the keyboard Left and Right go
// from axis to axis, Up and Down brush one value after the other, Escape takes a brush away.

import { element } from "../dom.js";
import { makePart, onWidth } from "../tabs/part.js";
import { inkOf, penOf } from "./looks.js";
import { brushed, coordinatesOf } from "./space.js";
import { say } from "../texts.js";

const HEIGHT = 300;
const [TOP, BOTTOM, SIDE] = [34, 28, 52];
const STEPS = 20; // of the keyboard's brush on an axis without values of its own
const REACH = 24;

/**
 * @param {HTMLElement} root
 * @param {import("./tab.js").Shared} shared
 * @param {import("../types").Context} context
 * @returns {{ draw: () => void, end: () => void }}
 */
export function showCoordinates(root, shared, context) {
    const { space } = shared;
    const { format } = context;
    const axes = coordinatesOf(space);
    const places = axes.map((axis) => Float32Array.from({ length: space.n }, (_, i) => axis.place(axis.of(i))));
    /** @type {Map<string, [number, number]>} */
    const brushes = new Map();
    const faint = document.createElement("canvas");
    let faint_width = 0;
    let width = 0;
    let at = 0; // axis of the keyboard
    /** @type {{ axis: number, from: number } | null} */
    let drag = null;

    const count = element("span", { class: "count", role: "status" });
    const clear = element("button", { type: "button", onclick: () => change(() => brushes.clear()) }, say("Show all"));
    const { part, body } = makePart(say("Layouts across all axes"), count, clear);
    const canvas = element("canvas", {
        class: "layouts-chart", tabindex: 0, role: "application", "aria-roledescription": say("parallel coordinates"),
        "aria-label": say("Layouts across all axes: Left and Right choose an axis, Up and Down brush its values, Escape ends a brush"),
    });
    body.append(canvas, element("p", { class: "quiet" }, say("Drag along an axis to keep what lies there; click it to let go.")));
    root.append(part);

    const toX = (/** @type {number} */ axis) => SIDE + (axes.length > 1 ? axis / (axes.length - 1) : 0.5) * (width - 2 * SIDE);
    const toY = (/** @type {number} */ place) => TOP + (1 - place) * (HEIGHT - TOP - BOTTOM);
    const ofY = (/** @type {number} */ y) => Math.min(1, Math.max(0, 1 - (y - TOP) / (HEIGHT - TOP - BOTTOM)));

    /** Apply a change of the brushes, and update the other chart. @param {() => void} how */
    function change(how) {
        how();
        shared.keep(brushes.size > 0 ? brushed(space.n, axes, brushes) : null);
    }

    /** @param {CanvasRenderingContext2D} pen @param {(i: number) => boolean} wanted */
    const drawLines = (pen, wanted) => {
        for (let i = 0; i < space.n; i++) {
            if (!wanted(i)) continue;
            pen.beginPath();
            places.forEach((place, k) => (k === 0 ? pen.moveTo(toX(k), toY(place[i])) : pen.lineTo(toX(k), toY(place[i]))));
            pen.stroke();
        }
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink */
    const drawAxes = (pen, ink) => {
        axes.forEach((axis, k) => {
            pen.strokeStyle = ink.strong;
            pen.lineWidth = 1;
            pen.beginPath();
            pen.moveTo(toX(k), TOP);
            pen.lineTo(toX(k), HEIGHT - BOTTOM);
            pen.stroke();
            const brush = brushes.get(axis.name);
            if (brush !== undefined) {
                pen.globalAlpha = 0.35;
                pen.fillStyle = ink.accent;
                pen.fillRect(toX(k) - 6, toY(brush[1]) - 3, 12, toY(brush[0]) - toY(brush[1]) + 6);
                pen.globalAlpha = 1;
            }
            pen.textAlign = "center";
            pen.font = `600 12px ${ink.font}`;
            pen.fillStyle = ink.ink;
            pen.fillText(axis.name, toX(k), 14);
            if (canvas.matches(":focus-visible") && k === at) pen.fillRect(toX(k) - 16, 19, 32, 2);
            pen.font = `11px ${ink.font}`;
            for (const [value, text] of ticksOf(axis)) label(pen, ink, k, toY(axis.place(value)) + 4, text);
        });
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink @param {number} k @param {number} y @param {string} text */
    const label = (pen, ink, k, y, text) => {
        const right = k === axes.length - 1;
        const room = pen.measureText(text).width;
        pen.textAlign = "left";
        pen.fillStyle = ink.ground;
        pen.globalAlpha = 0.8;
        pen.fillRect(right ? toX(k) + 5 : toX(k) - room - 9, y - 10, room + 4, 13);
        pen.globalAlpha = 1;
        pen.fillStyle = ink.quiet;
        pen.fillText(text, right ? toX(k) + 7 : toX(k) - room - 7, y);
    };
    /** @param {import("./space.js").Coordinate} axis @returns {[number, string][]} */
    const ticksOf = (axis) => {
        if (axis.values === null) {
            const text = (/** @type {number} */ value) =>
                axis.name === "step" ? format.value(1e9 * value, "ns") : `${format.value(Number((value / 1024).toPrecision(3)), "")} GB`;
            return axis.low === axis.high ? [[axis.low, text(axis.low)]] : [[axis.low, text(axis.low)], [axis.high, text(axis.high)]];
        }
        const every = Math.ceil(axis.values.length / Math.floor((HEIGHT - TOP - BOTTOM) / 14));
        return axis.values.filter((_, k) => k % every === 0).map((value) => [value, String(value)]);
    };
    /** All lines, below the bright ones: drawn once for a width. @param {ReturnType<typeof inkOf>} ink */
    const faded = (ink) => {
        if (faint_width === width) return faint;
        const pen = penOf(faint, width, HEIGHT);
        pen.strokeStyle = ink.line;
        pen.globalAlpha = Math.max(0.03, Math.min(0.5, 60 / space.n));
        drawLines(pen, () => true);
        faint_width = width;
        return faint;
    };
    const draw = () => {
        if (width === 0) return;
        const ink = inkOf(part);
        const pen = penOf(canvas, width, HEIGHT, ink.ground);
        const { inside } = shared;
        const kept = inside === null ? space.n : inside.reduce((sum, one) => sum + one, 0);
        pen.lineWidth = 1;
        if (inside !== null) pen.drawImage(faded(ink), 0, 0, width, HEIGHT);
        pen.strokeStyle = ink.quiet;
        pen.globalAlpha = Math.max(0.03, Math.min(0.8, 120 / Math.max(1, kept)));
        drawLines(pen, (i) => inside === null || inside[i] === 1);
        pen.globalAlpha = 0.9;
        pen.strokeStyle = ink.accent;
        pen.lineWidth = 1.3;
        drawLines(pen, (i) => space.fates[space.number.fate[i]] === "plan" && (inside === null || inside[i] === 1));
        pen.globalAlpha = 1;
        pen.strokeStyle = ink.alarm;
        pen.lineWidth = 2.5;
        drawLines(pen, (i) => i === shared.selected);
        drawAxes(pen, ink);
        count.textContent = say("{0} of {1} layouts; blue: the best plans; red: selected", format.value(kept, "count"), format.value(space.n, "count"));
        clear.disabled = brushes.size === 0;
    };
    /** The nearest of an axis' values. @param {number} axis @param {number} place */
    const snapped = (axis, place) => {
        const { values, place: of } = axes[axis];
        return values === null ? place : values.map(of).reduce((best, one) => (Math.abs(one - place) < Math.abs(best - place) ? one : best));
    };
    /** @param {PointerEvent} event */
    const where = (event) => {
        const box = canvas.getBoundingClientRect();
        const [x, y] = [event.clientX - box.left, event.clientY - box.top];
        const axis = axes.findIndex((_, k) => Math.abs(toX(k) - x) <= Math.min(REACH, (width - 2 * SIDE) / axes.length / 2));
        return { axis, place: ofY(y) };
    };
    canvas.addEventListener("pointerdown", (event) => {
        const { axis, place } = where(event);
        if (axis < 0) return;
        canvas.setPointerCapture(event.pointerId);
        drag = { axis, from: place };
        at = axis;
    });
    canvas.addEventListener("pointermove", (event) => {
        canvas.style.cursor = where(event).axis >= 0 ? "ns-resize" : "default";
        if (drag === null) return;
        const { axis, from } = drag;
        const { place } = where(event);
        if (Math.abs(toY(place) - toY(from)) < 3) return;
        const { values } = axes[axis];
        // A stretch between two values of a degree has none: then the nearest one is used.
        const [low, high] = [Math.min(from, place), Math.max(from, place)];
        const some = values === null || values.some((value) => axes[axis].place(value) >= low && axes[axis].place(value) <= high);
        change(() => brushes.set(axes[axis].name, some ? [low, high] : [snapped(axis, place), snapped(axis, place)]));
    });
    canvas.addEventListener("pointerup", (event) => {
        if (drag === null) return;
        const { axis, from } = drag;
        drag = null;
        if (Math.abs(toY(where(event).place) - toY(from)) < 3) change(() => brushes.delete(axes[axis].name));
    });
    canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const { name, values, place } = axes[at];
        const stops = values === null ? Array.from({ length: STEPS + 1 }, (_, k) => k / STEPS) : values.map(place);
        const brush = brushes.get(name);
        const now = brush === undefined ? -1 : stops.findIndex((stop) => Math.abs(stop - brush[1]) < 1e-6);
        const turn = { ArrowUp: 1, ArrowDown: -1 }[event.key];
        const aside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (turn !== undefined) {
            const next = now < 0 ? (turn > 0 ? 0 : stops.length - 1) : Math.max(0, Math.min(stops.length - 1, now + turn));
            // An axis without values of its own is cut from above.
            change(() => brushes.set(name, [values === null ? 0 : stops[next], stops[next]]));
        } else if (aside !== undefined) {
            at = Math.max(0, Math.min(axes.length - 1, at + aside));
            draw();
        } else if (event.key === "Escape") change(() => brushes.delete(name));
        else return;
        event.preventDefault();
        event.stopPropagation();
    });
    canvas.addEventListener("focus", draw);
    canvas.addEventListener("blur", draw);
    const ended = onWidth(body, (now) => {
        width = now;
        draw();
    });
    return {
        draw,
        end() {
            ended();
            part.remove();
        },
    };
}
