// Step against memory on a canvas: bounds hollow, plans filled, the best numbered, the limit, both fronts. The pointer
// and the arrow keys show a layout, a click selects it.

import { element } from "../dom.js";
import { choice, makePart, onWidth } from "../tabs/part.js";
import { niceTicks, tickText } from "../tabs/scale.js";
import { hideTip, showTip } from "../tabs/tip.js";
import { inkOf, penOf, ramp } from "./looks.js";
import { extentOf, logTicks, markAt } from "./space.js";
import { say } from "../texts.js";

const HEIGHT = 430;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 14, 18, 44];
const REACH = 12; // pixels

/**
 * @param {HTMLElement} root
 * @param {import("./tab.js").Shared} shared
 * @param {import("../types").Context} context
 * @returns {{ draw: () => void, end: () => void }}
 */
export function showScatter(root, shared, context) {
    const { space } = shared;
    const { format } = context;
    const degrees = space.axes.filter((axis) => new Set(space.number[axis]).size > 1);
    let color = degrees.includes("tp") ? "tp" : (degrees[0] ?? "tp");
    let near = false;
    let width = 0;
    let active = -1;
    const [x, y] = [new Float64Array(space.n), new Float64Array(space.n)];
    const weight = Float64Array.from(space.number.found, (found) => (found ? 8 : 0));
    /** The order of the arrow keys. */
    const by_step = Array.from({ length: space.n }, (_, i) => i).sort((a, b) => space.seconds[a] - space.seconds[b] || a - b);

    const { part, body } = makePart(
        say("Step against memory"),
        choice(say("Colours"), (degrees.length > 0 ? degrees : ["tp"]).map((axis) => [axis, axis]), color, (value) => {
            color = value;
            draw();
        }),
        choice(say("Show"), [["all", say("all layouts")], ["near", say("near the best")]], "all", (value) => {
            near = value === "near";
            draw();
        }),
    );
    const canvas = element("canvas", {
        class: "layouts-chart", tabindex: 0, role: "application", "aria-roledescription": say("scatter chart"),
        "aria-label": say("Step against memory: arrow keys go from layout to layout by step, Enter selects"),
    });
    const legend = element("ul", { class: "legend" });
    const said = element("p", { class: "unseen", role: "status" });
    body.append(canvas, legend, said);
    root.append(part);
    const base = document.createElement("canvas");

    const left_of = (/** @type {number} */ share) => LEFT + share * (width - LEFT - RIGHT);
    /** @type {{ x: [number, number], y: [number, number] }} */
    let extent = extentOf(space, false);
    const toX = (/** @type {number} */ mb) => left_of((mb - extent.x[0]) / (extent.x[1] - extent.x[0]));
    const toY = (/** @type {number} */ seconds) =>
        TOP + (1 - Math.log(seconds / extent.y[0]) / Math.log(extent.y[1] / extent.y[0])) * (HEIGHT - TOP - BOTTOM);
    const inside = (/** @type {number} */ mb, /** @type {number} */ seconds) =>
        mb >= extent.x[0] && mb <= extent.x[1] && seconds >= extent.y[0] && seconds <= extent.y[1];

    const place = () => {
        extent = extentOf(space, near);
        for (let i = 0; i < space.n; i++) {
            const there = inside(space.mb[i], space.seconds[i]) && (shared.inside === null || shared.inside[i] === 1);
            x[i] = there ? toX(space.mb[i]) : NaN;
            y[i] = there ? toY(space.seconds[i]) : NaN;
        }
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink */
    const drawAxes = (pen, ink) => {
        const [low, high] = extent.x.map((mb) => mb / 1024);
        const gb = high >= 8;
        const unit = gb ? 1024 : 1;
        const nice = niceTicks(gb ? low : extent.x[0], gb ? high : extent.x[1], Math.max(3, Math.floor(width / 110)));
        const text = tickText("", high, nice.step);
        pen.font = `12px ${ink.font}`;
        pen.strokeStyle = ink.line;
        pen.fillStyle = ink.quiet;
        pen.textAlign = "center";
        for (const tick of nice.ticks) {
            const at = toX(tick * unit);
            if (at < LEFT - 1 || at > width - RIGHT + 1) continue;
            line(pen, at, TOP, at, HEIGHT - BOTTOM);
            pen.fillText(text.text(tick), at, HEIGHT - BOTTOM + 16);
        }
        pen.textAlign = "right";
        for (const tick of logTicks(extent.y[0], extent.y[1], 8)) {
            line(pen, LEFT, toY(tick), width - RIGHT, toY(tick));
            pen.fillText(String(tick), LEFT - 6, toY(tick) + 4);
        }
        pen.textAlign = "center";
        pen.fillText(say("memory of the fullest stage, {0}", gb ? "GB" : "MB"), (LEFT + width - RIGHT) / 2, HEIGHT - 8);
        pen.save();
        pen.translate(13, (TOP + HEIGHT - BOTTOM) / 2);
        pen.rotate(-Math.PI / 2);
        pen.fillText(say("step, s"), 0, 0);
        pen.restore();
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink */
    const drawLimit = (pen, ink) => {
        const limit = space.limit_mb;
        if (limit === null || limit < extent.x[0] || limit > extent.x[1]) return;
        pen.strokeStyle = pen.fillStyle = ink.alarm;
        pen.setLineDash([6, 4]);
        line(pen, toX(limit), TOP, toX(limit), HEIGHT - BOTTOM);
        pen.setLineDash([]);
        const text = say("limit {0}", `${format.value(limit / (limit >= 8192 ? 1024 : 1), "")} ${limit >= 8192 ? "GB" : "MB"}`);
        const room = width - RIGHT - toX(limit) > pen.measureText(text).width + 8;
        pen.textAlign = room ? "left" : "right";
        pen.fillText(text, toX(limit) + (room ? 5 : -5), TOP + 10);
    };
    /**
     * @param {CanvasRenderingContext2D} pen @param {{ point: number }[]} front
     * @param {ArrayLike<number>} mb @param {ArrayLike<number>} seconds
     */
    const drawFront = (pen, front, mb, seconds) => {
        if (front.length === 0) return;
        pen.beginPath();
        front.forEach(({ point }, k) => {
            const at = toX(mb[point]);
            if (k === 0) pen.moveTo(at, TOP);
            else pen.lineTo(at, toY(seconds[front[k - 1].point]));
            pen.lineTo(at, toY(seconds[point]));
        });
        const end = space.limit_mb === null ? Infinity : toX(space.limit_mb);
        pen.lineTo(Math.min(end, width - RIGHT), toY(seconds[front[front.length - 1].point]));
        pen.stroke();
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink @param {(i: number) => string} colorOf */
    const drawMarks = (pen, ink, colorOf) => {
        pen.lineWidth = 1;
        for (let i = 0; i < space.n; i++) {
            if (space.number.found[i] || Number.isNaN(x[i])) continue;
            pen.strokeStyle = colorOf(i);
            circle(pen, x[i], y[i], 2.2);
            pen.stroke();
        }
        for (let k = by_step.length - 1; k >= 0; k--) {
            const i = by_step[k];
            if (!space.number.found[i] || Number.isNaN(x[i])) continue;
            pen.fillStyle = colorOf(i);
            pen.strokeStyle = ink.ground;
            circle(pen, x[i], y[i], space.fates[space.number.fate[i]] === "plan" ? 6 : 4);
            pen.fill();
            pen.stroke();
        }
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink */
    const drawBest = (pen, ink) => {
        pen.strokeStyle = ink.ink;
        pen.fillStyle = ink.ink;
        pen.lineWidth = 1.3;
        for (const { point, proved } of space.front) {
            if (!proved || Number.isNaN(x[point])) continue;
            circle(pen, x[point], y[point], 9);
            pen.stroke();
        }
        if (space.today !== null && inside(space.today.mb, space.today.seconds)) {
            const [at, on] = [toX(space.today.mb), toY(space.today.seconds)];
            pen.lineWidth = 2;
            pen.strokeRect(at - 6, on - 6, 12, 12);
            pen.textAlign = at > width - RIGHT - 60 ? "right" : "left";
            pen.fillText("today", at + (pen.textAlign === "left" ? 11 : -11), on - 8);
        }
        if (!near) return;
        pen.font = `600 12px ${ink.font}`;
        pen.textAlign = "left";
        pen.strokeStyle = ink.ground;
        pen.lineWidth = 4;
        pen.lineJoin = "round";
        /** @type {[number, number][]} */
        const taken = [];
        space.plans.forEach(({ point }, k) => {
            if (point < 0 || Number.isNaN(x[point])) return;
            for (const [dx, dy] of [[10, 4], [9, -7], [9, 15], [-22, 4], [-20, -7], [-20, 15]]) {
                const spot = /** @type {[number, number]} */ ([x[point] + dx, y[point] + dy]);
                if (taken.some(([a, b]) => Math.abs(a - spot[0]) < 16 && Math.abs(b - spot[1]) < 12)) continue;
                taken.push(spot);
                pen.strokeText(String(k + 1), spot[0], spot[1]);
                pen.fillText(String(k + 1), spot[0], spot[1]);
                return;
            }
        });
    };
    const drawMarker = () => {
        const pen = penOf(canvas, width, HEIGHT);
        pen.setTransform(1, 0, 0, 1, 0, 0);
        pen.drawImage(base, 0, 0);
        const dense = window.devicePixelRatio || 1;
        pen.setTransform(dense, 0, 0, dense, 0, 0);
        const ink = inkOf(part);
        for (const [i, size] of [[shared.selected, 11], [active, 8]]) {
            if (i < 0 || Number.isNaN(x[i])) continue;
            pen.strokeStyle = i === shared.selected ? ink.accent : ink.ink;
            pen.lineWidth = 2.5;
            circle(pen, x[i], y[i], size);
            pen.stroke();
        }
    };
    const draw = () => {
        if (width === 0) return;
        const ink = inkOf(part);
        const pen = penOf(base, width, HEIGHT, ink.ground);
        const values = [...new Set(space.number[color])].sort((a, b) => a - b);
        const colors = new Map(ramp(values.length).map((css, k) => [values[k], css]));
        place();
        drawAxes(pen, ink);
        pen.save();
        pen.beginPath();
        pen.rect(LEFT, TOP, width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        pen.clip();
        drawMarks(pen, ink, (i) => colors.get(space.number[color][i]) ?? ink.quiet);
        pen.lineWidth = 1;
        pen.strokeStyle = ink.quiet;
        pen.setLineDash([3, 3]);
        drawFront(pen, space.bounds, space.least_mb, space.least_seconds);
        pen.setLineDash([]);
        pen.lineWidth = 1.5;
        pen.strokeStyle = ink.ink;
        drawFront(pen, space.front, space.mb, space.seconds);
        pen.restore();
        drawLimit(pen, ink);
        drawBest(pen, ink);
        drawMarker();
        legend.replaceChildren(
            ...values.map((value) => element("li", {}, element("i", { class: "swatch", style: { background: colors.get(value) } }), `${color} ${value}`)),
            element("li", { class: "quiet" }, say("filled: balanced, the best large; hollow: at its bounds")),
            element("li", { class: "quiet" }, say("solid: front of the balanced; dashed: no plan is below; ringed: proved")),
        );
    };
    /** @param {number} i @param {number} at_x @param {number} at_y */
    const activate = (i, at_x, at_y) => {
        active = i;
        drawMarker();
        if (i < 0) {
            hideTip();
            return;
        }
        said.textContent = shared.textOf(i).replaceAll("\n", ", ");
        showTip(shared.textOf(i), at_x, at_y);
    };
    /** @param {MouseEvent} event */
    const under = (event) => {
        const box = canvas.getBoundingClientRect();
        return markAt(x, y, weight, event.clientX - box.left, event.clientY - box.top, REACH);
    };
    canvas.addEventListener("pointermove", (event) => {
        const i = under(event);
        canvas.style.cursor = i >= 0 ? "pointer" : "default";
        if (i !== active || i >= 0) activate(i, event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", () => activate(-1, 0, 0));
    canvas.addEventListener("blur", () => activate(-1, 0, 0));
    canvas.addEventListener("click", (event) => shared.select(under(event)));
    canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            shared.select(active);
            return;
        }
        const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, Home: -space.n, End: space.n }[event.key];
        const order = by_step.filter((i) => !Number.isNaN(x[i]));
        if (step === undefined || order.length === 0) return;
        event.preventDefault();
        event.stopPropagation();
        const from = order.indexOf(active >= 0 ? active : shared.selected);
        const to = Math.max(0, Math.min(order.length - 1, from < 0 ? 0 : from + step));
        const box = canvas.getBoundingClientRect();
        activate(order[to], box.left + x[order[to]], box.top + y[order[to]]);
    });
    const ended = onWidth(body, (now) => {
        width = now;
        draw();
    });
    return {
        draw,
        end() {
            ended();
            hideTip();
            part.remove();
        },
    };
}

/** @param {CanvasRenderingContext2D} pen @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(pen, x1, y1, x2, y2) {
    pen.beginPath();
    pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
    pen.stroke();
}

/** @param {CanvasRenderingContext2D} pen @param {number} x @param {number} y @param {number} r */
function circle(pen, x, y, r) {
    pen.beginPath();
    pen.arc(x, y, r, 0, 2 * Math.PI);
}
