// Maps of allocations on a canvas: time to the right, addresses or the sum of the blocks upwards. The pointer shows a
// block, a click marks a time and selects the block, dragging zooms to a rectangle, the keys move the mark. Below it
// the blocks at the mark: by role, and the largest as a table with their frames.

import { inflate } from "../document.js";
import { element, fill } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { inkOf, penOf } from "../layouts/looks.js";
import { choice, makePart, onWidth } from "../tabs/part.js";
import { niceTicks, tickText } from "../tabs/scale.js";
import { showTable } from "../tabs/table.js";
import { say, told } from "../texts.js";
import { hideTip, showTip } from "../tabs/tip.js";
import { decodeMap, framesOf, liveAt, sumsByType, totalsOf } from "./block_map.js";
import { paint, rasterPlaced, rasterStacked } from "./raster.js";

const HEIGHT = 400;
const [LEFT, RIGHT, TOP, BOTTOM] = [76, 14, 12, 30];
const MB = 1 << 20;
const MOST_ROWS = 500;
const MOST_FRAMES = 8;
const DRAG_FROM = 5; // pixels
const SHADES = [0, 0.16, -0.14, 0.28, -0.24]; // of the sites of a role, towards white and black

/** Decoded once for a map, since a change of colours builds the tab again. @type {WeakMap<object, import("./block_map.js").BlockMap>} */
const decoded = new WeakMap();

/** @param {number} value byte @param {number} shade */
const shaded = (value, shade) => Math.round(shade > 0 ? value + (255 - value) * shade : value * (1 + shade));

/** "rgb(1 2 3)" and "rgb(1, 2, 3)" as 0xAABBGGRR. @param {string} css @param {number} shade */
function pixelOf(css, shade = 0) {
    const [r, g, b] = (css.match(/[\d.]+/g) ?? ["0", "0", "0"]).map((text) => shaded(Number(text), shade));
    return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
}

/** @param {number} pixel */
const darker = (pixel) => (0xff000000 | ((pixel >> 1) & 0x7f7f7f)) >>> 0;

/** A time of the map in words. @param {import("./block_map.js").BlockMap} map @param {import("../types").Format} format @param {number} time @param {number} [step] */
function timeText(map, format, time, step) {
    return map.ticked ? say("event {0}", format.value(Math.round(time / 1000), "count")) : format.time(time, "ns", step);
}

/** The properties of a block, a line each. @param {import("./block_map.js").BlockMap} map @param {import("../types").Context} context @param {number} i */
function textOf(map, context, i) {
    const { format } = context;
    const [name, type] = map.sites[map.site[i]];
    const from = map.begin[i] === -Infinity ? say("before the record") : timeText(map, format, map.begin[i]);
    const to = map.end[i] === Infinity ? say("still there at its end") : say("to {0}", timeText(map, format, map.end[i]));
    const frames = framesOf(map, i);
    return [
        `${name} (${told(context.document.types[type] ?? "other")})`,
        say("{0}, from {1} {2}", format.value(map.bytes[i] / MB, "MB"), from, to),
        ...frames.slice(0, MOST_FRAMES),
        ...(frames.length > MOST_FRAMES ? [say("and {0} frames more", frames.length - MOST_FRAMES)] : []),
    ].join("\n");
}

/** The largest blocks at a time, as a table. @param {import("./block_map.js").BlockMap} map @param {number[]} live @returns {import("../types").Table} */
function tableOf(map, live, title, types) {
    const column = (name, of, unit) => ({ name, title: of, unit, search: false });
    const frames = map.stacks.length > 0;
    const at = (value) => (Number.isFinite(value) ? (map.ticked ? Math.round(value / 1000) : value) : null);
    const unit = map.ticked ? "count" : "ns";
    const largest = live.sort((a, b) => map.bytes[b] - map.bytes[a] || a - b).slice(0, MOST_ROWS);
    return {
        id: "blocks-at", title,
        columns: [
            column("number", say("No."), "text"), column("name", say("Allocated by"), "text"), column("role", say("In"), "text"),
            column("mb", say("Size"), "MB"), column("begin", say("From"), unit), column("end", say("To"), unit),
            ...(frames ? [column("frames", say("Frames, innermost first"), "text")] : []),
        ],
        rows: largest.map((i, k) => [
            String(k + 1), map.sites[map.site[i]][0], told(types[map.sites[map.site[i]][1]] ?? "other"), map.bytes[i] / MB,
            at(map.begin[i]), at(map.end[i]), ...(frames ? [framesOf(map, i).join(" < ")] : []),
        ]),
        sort: { column: 3, descending: true },
    };
}

/**
 * @param {HTMLElement} root @param {import("../types").RawBlockMap[]} maps one at least
 * @param {import("../types").Context} context @returns {() => void}
 */
export function showBlockMaps(root, maps, context) {
    const { part, body } = makePart(
        say("Map of allocations"),
        maps.length > 1
            ? choice(say("Of"), maps.map(({ title }, i) => [String(i), title]), "0", (value) => open(Number(value)))
            : null,
    );
    const title = element("p", { class: "quiet" });
    const holder = element("div", { class: "block-map" });
    body.append(title, holder);
    root.append(part);
    let end = () => {};
    let shown = -1;
    const open = async (/** @type {number} */ number) => {
        shown = number;
        const raw = maps[number];
        try {
            const map = decoded.get(raw) ?? decodeMap(raw, raw.data === null ? new Uint8Array() : await inflate(raw.data));
            decoded.set(raw, map);
            if (shown !== number) return;
            end();
            holder.replaceChildren();
            const count = (/** @type {number} */ n) => context.format.value(n, "count");
            fill(title, map.title, map.n < map.n_all ? say(": the largest {0} of {1} allocations", count(map.n), count(map.n_all)) : "");
            title.hidden = maps.length > 1 && map.n === map.n_all;
            end = showMap(holder, map, context);
        } catch (error) {
            showError(say("The map of allocations cannot be shown: {0}", messageOf(error)));
        }
    };
    open(0);
    return () => {
        shown = -1;
        end();
        part.remove();
    };
}

/** @param {HTMLElement} root @param {import("./block_map.js").BlockMap} map @param {import("../types").Context} context @returns {() => void} */
function showMap(root, map, context) {
    const { format, colors } = context;
    const high = map.addresses ? map.height : Math.max(map.peak, 1);
    const whole = { begin: 0, end: Math.max(1, map.length), low: 0, high: Math.max(1, high) };
    const totals = map.addresses ? null : totalsOf(map);
    let seen = { ...whole };
    let [width, mark, selected] = [0, map.peak_at, -1];
    /** @type {Int32Array} */
    let pick = new Int32Array();
    let [columns, rows] = [0, 0];
    /** @type {{ x: number, y: number } | null} */
    let pressed = null;
    let dragged = false;
    let frame = 0;
    let endTable = () => {};
    const base = element("canvas", {});

    const canvas = element("canvas", {
        class: "block-canvas", tabindex: 0, role: "application", "aria-roledescription": say("map of allocations"),
        "aria-label": say("{0}: arrow keys move the mark in time, plus and minus zoom, 0 shows all", map.title),
    });
    const button = (/** @type {string} */ text, /** @type {() => void} */ does) => element("button", { type: "button", onclick: does }, text);
    const tools = element("div", { class: "part-tools" },
        button(say("Go to the peak"), () => moveTo(map.peak_at)), button(say("Zoom in"), () => zoom(0.5)), button(say("Zoom out"), () => zoom(2)),
        button(say("Show all"), () => see(whole)));
    const legend = element("ul", { class: "legend" });
    const said = element("p", { class: "unseen", role: "status" });
    const list = element("div", { class: "block-list" });
    root.append(tools, canvas, legend, said, list);

    const toX = (/** @type {number} */ time) => LEFT + ((time - seen.begin) / (seen.end - seen.begin)) * (width - LEFT - RIGHT);
    const toY = (/** @type {number} */ bytes) => TOP + (1 - (bytes - seen.low) / (seen.high - seen.low)) * (HEIGHT - TOP - BOTTOM);
    const timeAt = (/** @type {number} */ x) => seen.begin + ((x - LEFT) / (width - LEFT - RIGHT)) * (seen.end - seen.begin);
    const bytesAt = (/** @type {number} */ y) => seen.low + (1 - (y - TOP) / (HEIGHT - TOP - BOTTOM)) * (seen.high - seen.low);
    const clamped = (/** @type {number} */ time) => Math.min(whole.end, Math.max(whole.begin, time));

    /** Colour of each site by its role, a shade of it. */
    const siteColors = () => {
        const n_of = new Map();
        return Uint32Array.from(map.sites, ([, type]) => {
            const k = n_of.get(type) ?? 0;
            n_of.set(type, k + 1);
            return pixelOf(colors.type(type), SHADES[k % SHADES.length]);
        });
    };
    /** @param {CanvasRenderingContext2D} pen @param {ReturnType<typeof inkOf>} ink */
    const drawAxes = (pen, ink) => {
        pen.font = `12px ${ink.font}`;
        pen.fillStyle = ink.quiet;
        pen.strokeStyle = ink.line;
        pen.textAlign = "right";
        const y = niceTicks(seen.low / MB, seen.high / MB, 6);
        const y_text = tickText("MB", y.high, y.step);
        for (const tick of y.ticks) {
            const at = toY(tick * MB);
            if (at < TOP - 1 || at > HEIGHT - BOTTOM + 1) continue;
            line(pen, LEFT - 4, at, LEFT, at);
            pen.fillText(y_text.text(tick), LEFT - 7, at + 4);
        }
        pen.save();
        pen.translate(13, (TOP + HEIGHT - BOTTOM) / 2);
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "center";
        pen.fillText(map.addresses ? say("addresses in use, MB") : say("allocated, MB"), 0, 0);
        pen.restore();
        pen.textAlign = "center";
        const x = niceTicks(seen.begin, seen.end, Math.max(2, Math.floor((width - LEFT) / 130)));
        for (const tick of x.ticks) {
            const at = toX(tick);
            if (at < LEFT - 1 || at > width - RIGHT + 1) continue;
            line(pen, at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 4);
            pen.fillText(timeText(map, format, tick, x.step), Math.min(at, width - 40), HEIGHT - BOTTOM + 18);
        }
    };
    const drawBase = () => {
        if (width === 0) return;
        const dense = window.devicePixelRatio || 1;
        const ink = inkOf(root);
        const pen = penOf(base, width, HEIGHT, ink.ground);
        [columns, rows] = [Math.max(1, Math.round((width - LEFT - RIGHT) * dense)), Math.round((HEIGHT - TOP - BOTTOM) * dense)];
        pick = totals === null ? rasterPlaced(map, seen, columns, rows) : rasterStacked(map, totals, seen, columns, rows);
        const by_site = siteColors();
        const image = pen.createImageData(columns, rows);
        paint(pick, columns, new Uint32Array(image.data.buffer), {
            of: (i) => by_site[map.site[i]], edge: darker, nothing: pixelOf(ink.ground), reserved: pixelOf(ink.line),
            selected: pixelOf(ink.ink),
        }, selected);
        pen.putImageData(image, Math.round(LEFT * dense), Math.round(TOP * dense));
        drawAxes(pen, ink);
        drawMark();
    };
    /** The picture with the mark and the dragged rectangle. @param {{ x: number, y: number } | null} to */
    const drawMark = (to = null) => {
        const ink = inkOf(root);
        const pen = penOf(canvas, width, HEIGHT);
        pen.setTransform(1, 0, 0, 1, 0, 0);
        pen.drawImage(base, 0, 0);
        const dense = window.devicePixelRatio || 1;
        pen.setTransform(dense, 0, 0, dense, 0, 0);
        pen.strokeStyle = ink.ink;
        pen.lineWidth = 1.5;
        if (mark >= seen.begin && mark <= seen.end) line(pen, toX(mark), TOP - 6, toX(mark), HEIGHT - BOTTOM);
        if (pressed !== null && to !== null && dragged) {
            pen.strokeStyle = ink.accent;
            pen.strokeRect(Math.min(pressed.x, to.x), Math.min(pressed.y, to.y), Math.abs(to.x - pressed.x), Math.abs(to.y - pressed.y));
        }
    };
    const showList = () => {
        const live = liveAt(map, mark);
        const total = live.reduce((sum, i) => sum + map.bytes[i], 0);
        const when = timeText(map, format, mark);
        said.textContent = say("{0} in {1} allocations at {2}", format.value(total / MB, "MB"), live.length, when);
        fill(legend, sumsByType(map, live).map(({ type, n, bytes }) => element("li", {},
            element("span", { class: "swatch", style: { background: colors.type(type) } }), told(context.document.types[type] ?? "other"),
            element("span", { class: "quiet" }, say(" {0} in {1}", format.value(bytes / MB, "MB"), format.value(n, "count"))))),
            map.addresses ? element("li", {}, element("span", { class: "swatch reserved" }), say("reserved, not allocated")) : null);
        endTable();
        const of = live.length > MOST_ROWS ? say(", the largest {0} of {1}", MOST_ROWS, format.value(live.length, "count")) : "";
        endTable = showTable(list, tableOf(map, live, say("There at {0}: {1}{2}", when, format.value(total / MB, "MB"), of), context.document.types), context);
    };
    const soon = () => {
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(() => {
            drawMark();
            showList();
        });
    };
    const moveTo = (/** @type {number} */ time) => {
        mark = clamped(time);
        if (mark < seen.begin || mark > seen.end) {
            const half = (seen.end - seen.begin) / 2;
            const begin = Math.min(whole.end - 2 * half, Math.max(whole.begin, mark - half));
            seen = { ...seen, begin, end: begin + 2 * half };
            drawBase();
        }
        soon();
    };
    const see = (/** @type {import("./raster.js").Window} */ next) => {
        seen = { ...next };
        drawBase();
    };
    /** Times around the mark. @param {number} factor */
    const zoom = (factor) => {
        const span = Math.min(whole.end - whole.begin, Math.max(1, (seen.end - seen.begin) * factor));
        const share = mark >= seen.begin && mark <= seen.end ? (mark - seen.begin) / (seen.end - seen.begin) : 0.5;
        const middle = share === 0.5 ? (seen.begin + seen.end) / 2 : mark;
        const begin = Math.min(whole.end - span, Math.max(whole.begin, middle - share * span));
        see({ ...seen, begin, end: begin + span, ...(factor > 1 && span === whole.end - whole.begin ? { low: whole.low, high: whole.high } : {}) });
    };
    /** @param {PointerEvent} event */
    const where = (event) => {
        const box = canvas.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    /** @param {{ x: number, y: number }} at */
    const blockAt = ({ x, y }) => {
        const column = Math.floor(((x - LEFT) / (width - LEFT - RIGHT)) * columns);
        const row = Math.floor(((y - TOP) / (HEIGHT - TOP - BOTTOM)) * rows);
        return column < 0 || column >= columns || row < 0 || row >= rows ? -1 : Math.max(-1, pick[row * columns + column]);
    };
    canvas.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        pressed = where(event);
        dragged = false;
        canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
        const at = where(event);
        if (pressed !== null) {
            dragged ||= Math.abs(at.x - pressed.x) > DRAG_FROM || Math.abs(at.y - pressed.y) > DRAG_FROM;
            hideTip();
            drawMark(at);
            return;
        }
        const i = blockAt(at);
        if (i >= 0) showTip(textOf(map, context, i), event.clientX, event.clientY);
        else hideTip();
    });
    canvas.addEventListener("pointerup", (event) => {
        const [from, to] = [pressed, where(event)];
        pressed = null;
        if (from === null) return;
        if (!dragged) {
            selected = blockAt(to);
            drawBase();
            moveTo(timeAt(to.x));
            return;
        }
        const [left, right] = [clamped(timeAt(Math.min(from.x, to.x))), clamped(timeAt(Math.max(from.x, to.x)))];
        const inside = (/** @type {number} */ y) => Math.min(whole.high, Math.max(whole.low, bytesAt(y)));
        const [low, top] = [inside(Math.max(from.y, to.y)), inside(Math.min(from.y, to.y))];
        // A drag along one axis does not change the other.
        const wide = Math.abs(to.x - from.x) > DRAG_FROM;
        const tall = Math.abs(to.y - from.y) > 4 * DRAG_FROM;
        see({ ...seen, ...(wide && right > left ? { begin: left, end: right } : {}), ...(tall && top > low ? { low, high: top } : {}) });
    });
    canvas.addEventListener("pointercancel", () => {
        pressed = null;
        drawMark();
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("dblclick", () => see(whole));
    canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
        const does = {
            Home: () => moveTo(whole.begin), End: () => moveTo(whole.end), "+": () => zoom(0.5), "-": () => zoom(2), 0: () => see(whole),
        }[event.key] ?? (step === undefined ? undefined : () => moveTo(mark + (step * (seen.end - seen.begin)) / 100));
        if (does === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        does();
    });
    const ended = onWidth(root, (now) => {
        width = now;
        drawBase();
    });
    showList();
    return () => {
        cancelAnimationFrame(frame);
        ended();
        endTable();
        hideTip();
    };
}

/** @param {CanvasRenderingContext2D} pen @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function line(pen, x1, y1, x2, y2) {
    pen.beginPath();
    pen.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    pen.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
    pen.stroke();
}
