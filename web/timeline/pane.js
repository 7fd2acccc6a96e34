// The rows of one source in a rectangle of the picture: the visible ones, painted into a buffer of pixels, with labels
// and names at their left. Two panes make a comparison; their common state (time, colours) is passed in.

import { numberLetters } from "../block_name.js";
import { allTracks, passes } from "../rows.js";
import { askForLabels, fitName, letterWidth, newLabels, writeLabels } from "./labels.js";
import { GAP, defaultFolds, isFolded, isHidden, lineAt, layOut, moved, placeOf, rowAt, withFolds } from "./layout.js";
import { extremes, lanesOf, paintCurve } from "./curves.js";
import { newLook } from "./look.js";
import { askedStretch } from "./scale.js";
import { DIM, copyLine, newLiner, paintLine } from "./raster.js";

const PATH = 3; // height of the critical path's line

const LETTERS = 11; // pixels, of labels in boxes
const GAP_FROM = 5; // rows of at least this height are separated by a line of the ground
const LABELS_FROM = 13; // rows of at least this height have labels
const LEAST_STEP = 6; // pixels of a step to be shaded
const TICK_STRENGTH = 1;

/** @typedef {import("../types").Context} Context */
/** @typedef {{x: number, y: number, width: number, height: number}} Rectangle  pixels of the page */
/** @typedef {import("./palette.js").Palette} Palette */

/**
 * @param {Context} context  with a source
 * @param {{own: boolean}} options  own: it has its own selection, folding and scrolling, because the view's are another
 *        pane's
 */
export function newPane(context, options) {
    const source = /** @type {import("../types").Source} */ (context.source);
    const { timeline } = source;
    const { view } = context.state;
    const tracks = allTracks(timeline);
    const defaults = defaultFolds(timeline);
    // Blocks of a plan are numbered only where its longest number fits, so that no row stops at 9.
    const number_letters = numberLetters(timeline.names?.text ?? []);
    const labels = newLabels();
    const path_of = timeline.groups.map((_, at) => timeline.path.filter((stretch) => stretch[0] === at));
    const steps_of = timeline.groups.map((_, at) =>
        timeline.steps.filter((step) => step.group === at || step.group < 0),
    );
    let layout = layOut(timeline, { folded: [], defaults: new Set(), height: 0, shows: () => true });
    let liner = newLiner(1);
    /** @type {ImageData | null} */
    let image = null;
    let pixels = new Uint32Array(0),
        ground = new Uint32Array(1),
        line_ground = new Uint32Array(1);
    /** @type {import("./curves.js").Lane[]} by curve, those among the rows */
    const lanes = [];
    let look = newLook({ name: source.name, pixel: context.colors.pixel, ground: 0, mark: 0, query: "", only: "" });
    let own_top = 0,
        letter = 7,
        quiet_ink = "#888";
    /** @type {string[]} */
    let own_folded = [];
    /** @type {number[]} */
    let rows = [];
    /** @type {Rectangle} */
    let box = { x: 0, y: 0, width: 1, height: 1 };
    /** @type {import("../types").EventPlace | null} */
    let own_selected = null;

    const pane = {
        context,
        source,
        timeline,
        tracks,
        labels_drawn: 0,
        events_drawn: 0,
        get layout() {
            return layout;
        },
        get box() {
            return box;
        },
        get rows() {
            return rows;
        },
        get selected() {
            return options.own ? own_selected : view.selected;
        },
        get top() {
            const top = options.own ? own_top : view.top;
            return Math.max(0, Math.min(top, Math.max(0, layout.height - box.height)));
        },
        /** @param {number} top */
        scrollTo(top) {
            const next = Math.max(0, Math.min(Math.round(top), Math.max(0, layout.height - box.height)));
            if (options.own) {
                own_top = next;
            } else {
                context.state.set({ top: next });
            }
        },
        /** @param {import("../types").EventPlace | null} place */
        select(place) {
            if (options.own) {
                own_selected = place;
            } else {
                context.state.set({ selected: place });
            }
        },

        /** Compute positions again: the filter, the folding or the height changed. @param {Rectangle} next */
        place(next) {
            box = next;
            layout = layOut(timeline, {
                folded: options.own ? own_folded : view.folded,
                defaults,
                height: next.height,
                pinned: options.own ? [] : view.pinned,
                order: options.own ? [] : view.order,
                shows: isShown,
                shows_curve: isCurveShown,
            });
        },

        /** Compute colours again: theme, search or filter changed. @param {Palette} palette */
        dress(palette) {
            look = newLook({
                name: source.name,
                pixel: context.colors.pixel,
                ground: palette.ground,
                mark: palette.found,
                query: view.query,
                only: view.filter.name,
            });
            quiet_ink = palette.css.quiet;
        },

        /** @param {string[]} keys @param {boolean} close */
        fold(keys, close) {
            if (options.own) {
                own_folded = withFolds(own_folded, defaults, keys, close);
            } else {
                context.state.set({ folded: withFolds(view.folded, defaults, keys, close) });
            }
        },
        /** @param {string} key */
        folded: (key) => isFolded(key, options.own ? own_folded : view.folded, defaults),

        /** The line and row at a place of the page, -1 for none. @param {number} y */
        rowAt: (y) => rowAt(layout, y - box.y + (y - box.y < layout.pinned_height ? 0 : pane.top)),

        /** The top of the scrolling rows on the page. */
        get scrolled_from() {
            return box.y + layout.pinned_height;
        },

        /** Put a track above all others, or back. @param {string} key */
        pin(key) {
            const { pinned } = view;
            const next = pinned.includes(key) ? pinned.filter((other) => other !== key) : [...pinned, key];
            context.state.set({ pinned: next });
        },

        /** Hide a track or a group. @param {string} key */
        hide(key) {
            context.state.set({ hidden: [...view.hidden.filter((other) => other !== key), key] });
        },

        /** Move a track among those of its group, or a group among groups. @param {string} key @param {number} by */
        move(key, by) {
            const there = (other) => {
                const [group, track] = other.split("/").map(Number);
                return layout.lines.some((line) => !line.pinned && line.group === group && (track === undefined || line.key === other));
            };
            context.state.set({ order: moved(timeline, view.order, key, by, there) });
        },

        number_letters,
        /** Colour of a box as drawn, 0xAABBGGRR. @param {number} type @param {number} name */
        colorOf: (type, name) => look.color(type, name),

        /** Visible lines, the pinned ones last; clipped: its name has no room. */
        linesInSight: () =>
            inSight(box.height).lines.map((at) => {
                const line = layout.lines[at],
                    least = line.pinned ? box.y : pane.scrolled_from;
                const y = Math.max(least, yOf(line)),
                    end = Math.min(box.y + box.height, yOf(line) + line.height);
                return { line, y, height: Math.max(0, end - y), clipped: yOf(line) < least - 6 || end - y < 12 };
            }),

        /** Rows of a line that are completely visible, and their places. @param {import("./layout.js").Line} line */
        rowsOfLine(line) {
            const least = line.pinned ? box.y : pane.scrolled_from;
            const rows_at = line.summary.length > 0
                ? line.summary.map((row) => ({ row, place: { y: yOf(line) + 3, height: line.pitch - 5 } }))
                : Array.from({ length: line.n_rows }, (_, number) => ({ row: line.first_row + number,
                      place: { y: yOf(line) + number * line.pitch, height: line.pitch } }));
            return rows_at.filter(({ place }) => place.y >= least - 1 && place.y + place.height <= box.y + box.height + 1);
        },

        /** Is a row in the pinned part? @param {number} row */
        isPinned: (row) => layout.lines[layout.of_track[source.row_track[row]]]?.pinned ?? false,

        /** May its tracks be pinned, hidden and moved? */
        arranges: !options.own,

        /** Tracks of a line: a group's header includes all tracks of the group. @param {import("./layout.js").Line} line */
        tracksOf: (line) => (line.kind === "curve" ? [] : line.track >= 0 ? [line.track] : shownTracks(line.group)),

        /** The lane of a line with a curve. @param {import("./layout.js").Line} line */
        laneOf: (line) => curveOf(line.curve),

        /** Tracks between two places of the page, ascending. @param {number} y0 @param {number} y1 */
        tracksBetween(y0, y1) {
            const [from, to] = [Math.min(y0, y1), Math.max(y0, y1)].map((y) => Math.max(box.y, Math.min(box.y + box.height, y)));
            const found = layout.lines.filter((line) => yOf(line) <= to && yOf(line) + line.height > from &&
                (line.pinned || to >= pane.scrolled_from));
            // An open header has no rows of its own.
            const counted = found.filter((line) => line.kind === "track" || line.folded || found.length === 1);
            return [...new Set(counted.flatMap((line) => pane.tracksOf(line)))].sort((a, b) => a - b);
        },

        /** The places of some tracks' lines on the page, clipped to the box. @param {number[]} chosen */
        placesOf(chosen) {
            const lines = new Set(chosen.map((track) => layout.of_track[track] ?? -1));
            return [...lines].filter((at) => at >= 0).map((at) => {
                const line = layout.lines[at];
                const from = Math.max(line.pinned ? box.y : pane.scrolled_from, yOf(line));
                return { y: from, height: Math.min(box.y + box.height, yOf(line) + line.height) - from };
            }).filter(({ height }) => height > 0);
        },

        /**
         * Boxes of a row for the picture. A source in the page computes them once for several frames; a server's has
         * tiles of its own.
         * @param {number} row @param {{begin: number, end: number}} time
         */
        boxesOf(row, time) {
            if (context.document.served) {
                return source.boxes(row, time.begin, time.end, (time.end - time.begin) / liner.width);
            }
            const asked = askedStretch(time.begin, time.end, liner.width);
            return source.boxes(row, asked.begin, asked.end, asked.resolution);
        },

        /** The place of a row on the page; null where it is hidden. @param {number} row */
        placeOf(row) {
            const place = row < 0 ? null : placeOf(layout, row, source.row_track[row]);
            const top = place !== null && place.y < layout.pinned_height ? 0 : pane.top;
            return place === null ? null : { ...place, y: place.y + box.y - top };
        },

        /** Paint the rows into the canvas and write the labels. @param {CanvasRenderingContext2D} context2d scaled by
         *  ratio
         * @param {{begin: number, end: number}} time @param {{times: number[]}} ticks @param {Palette} palette @param
         *        {number} ratio
         *  @param {number[]} also  rows to request with the visible ones */
        paint(context2d, time, ticks, palette, ratio, also) {
            const width = Math.max(1, Math.round(box.width * ratio)),
                height = Math.max(1, Math.round(box.height * ratio));
            if (image === null || image.width !== width || image.height !== height) {
                image = new ImageData(width, height);
                pixels = new Uint32Array(image.data.buffer);
                liner = newLiner(width);
                ground = new Uint32Array(width);
                line_ground = new Uint32Array(width);
            }
            const scale = width / (time.end - time.begin);
            const font = `${Math.round(LETTERS * ratio)}px ${palette.letters}`;
            letter = letterWidth(context2d, font);
            labels.n = 0;
            liner.n_events = 0;
            const seen = inSight(height / ratio);
            rows = seen.rows;
            source.frame(withRows(rows, also), time.begin, time.end, 1 / scale);
            paintGround(-1, time, scale, ticks, palette);
            for (let y = 0; y < height; y++) {
                pixels.set(ground, y * width);
            }
            let group = -1;
            for (const at of seen.lines) {
                const line = layout.lines[at];
                if (line.group !== group) {
                    group = line.group;
                    paintGround(group, time, scale, ticks, palette);
                }
                paintLineOf(line, time, scale, ratio, height, palette);
                if (line.kind === "curve") {
                    paintCurveOf(line, time, scale, ratio, palette);
                }
                if (line.kind === "group" || !line.indented) paintPath(line, time, scale, ratio, height, palette);
            }
            paintPinnedEdge(ratio, height, palette);
            context2d.putImageData(image, Math.round(box.x * ratio), Math.round(box.y * ratio));
            write(context2d, font, ratio);
            pane.labels_drawn = labels.n;
            pane.events_drawn = liner.n_events;
        },

        /** Names of groups and tracks at the left. @param {CanvasRenderingContext2D} context2d @param {number} gutter
         *  @param {Palette} palette @param {number} hovered  line under the pointer */
        paintNames(context2d, gutter, palette, hovered) {
            context2d.save();
            context2d.beginPath();
            context2d.rect(0, box.y, gutter, box.height);
            context2d.clip();
            context2d.fillStyle = palette.css.ground;
            context2d.fillRect(0, box.y, gutter, box.height);
            const seen = inSight(box.height);
            for (const at of seen.lines) {
                nameLine(context2d, layout.lines[at], gutter, palette, at === hovered);
            }
            context2d.restore();
        },
    };

    /** Shown tracks of a group, open or not. @param {number} group */
    function shownTracks(group) {
        const all = tracks.map((_, number) => number);
        return all.filter((number) => tracks[number].group === group && layout.of_track[number] >= 0);
    }

    /** The place of a line on the page. @param {import("./layout.js").Line} line */
    function yOf(line) {
        return line.y + box.y - (line.pinned ? 0 : pane.top);
    }

    /** Is a track neither filtered nor hidden? @param {number} group @param {number} track  of the group */
    function isShown(group, track) {
        const of = timeline.groups[group];
        return passes(view.filter, of, of.tracks[track]) && (options.own || !isHidden(view.hidden, group, track));
    }

    /** @param {number} group @param {string} key @param {string} name  of a curve */
    function isCurveShown(group, key, name) {
        const hidden = !options.own && (view.hidden.includes(String(group)) || view.hidden.includes(key));
        return !hidden && passes(view.filter, timeline.groups[group], { ...timeline.groups[group].tracks[0], name, class: "curve" });
    }

    /** A curve as a lane, with its extremes once its points are there. @param {number} number */
    function curveOf(number) {
        const lane = lanes[number] ?? (lanes[number] = lanesOf(timeline)[number]);
        if (!Number.isFinite(lane.most)) {
            const all = source.curve(number, timeline.begin, timeline.end, (timeline.end - timeline.begin) / 4096);
            if (all !== null && all.n > 0) {
                [lane.least, lane.most] = extremes(all);
            }
        }
        return lane;
    }

    /** A curve among the rows. @param {import("./layout.js").Line} line */
    function paintCurveOf(line, time, scale, ratio, palette) {
        const lane = curveOf(line.curve);
        const points = source.curve(line.curve, time.begin, time.end, 1 / scale);
        const clock = { begin: time.begin, scale, end: timeline.end };
        const from = Math.round((line.y - pane.top) * ratio);
        const least = Math.round(layout.pinned_height * ratio);
        // Not over pinned lines: those are painted afterwards.
        if (from + line.height * ratio > least) {
            paintCurve(pixels, ground.length, from, Math.round(line.height * ratio), lane, points, clock, palette.curve, ratio);
        }
    }

    /** Visible lines and rows: the scrolling ones first, so that the pinned ones are drawn over them.
     *  @param {number} height */
    function inSight(height) {
        const first = Math.max(layout.n_pinned, lineAt(layout, pane.top + layout.pinned_height));
        /** @type {number[]} */
        const lines = [],
            seen = [];
        for (let at = first; at < layout.lines.length && layout.lines[at].y < pane.top + height; at++) {
            lines.push(at);
        }
        for (let at = 0; at < layout.n_pinned; at++) {
            lines.push(at);
        }
        for (const at of lines) {
            const line = layout.lines[at],
                top = line.pinned ? 0 : pane.top;
            const from = Math.max(0, Math.floor((top - line.y) / line.pitch));
            const to = Math.min(line.n_rows, Math.ceil((top + height - line.y) / line.pitch));
            for (let number = from; number < to; number++) {
                seen.push(...(line.summary.length > 0 ? line.summary : [line.first_row + number]));
            }
        }
        return { lines, rows: seen.sort((a, b) => a - b) };
    }

    /** A line below the pinned ones. */
    function paintPinnedEdge(ratio, height, palette) {
        if (layout.n_pinned > 0) {
            const y = Math.round((layout.pinned_height - 2) * ratio);
            for (let at = y; at < Math.min(height, y + Math.max(1, Math.round(ratio))); at++) {
                pixels.fill(palette.strong, at * ground.length, (at + 1) * ground.length);
            }
        }
    }

    /** The line of pixels under the boxes: every other step is shaded, ticks go through. @param {number} group
     *  */
    function paintGround(group, time, scale, ticks, palette) {
        ground.fill(palette.ground);
        const steps = group < 0 ? [] : steps_of[group];
        for (let at = 0; at < steps.length; at++) {
            const from = (steps[at].begin - time.begin) * scale,
                to = (steps[at].end - time.begin) * scale;
            if (at % 2 === 1 && to > 0 && from < ground.length && to - from >= LEAST_STEP) {
                ground.fill(palette.band, Math.max(0, Math.round(from)), Math.max(0, Math.round(to)));
            }
        }
        for (const tick of ticks.times) {
            const x = Math.round((tick - time.begin) * scale);
            if (x >= 0 && x + TICK_STRENGTH <= ground.length) {
                ground.fill(palette.line, x, x + TICK_STRENGTH);
            }
        }
    }

    /** One line's boxes. @param {import("./layout.js").Line} line */
    function paintLineOf(line, time, scale, ratio, height, palette) {
        const top = line.pinned ? 0 : pane.top,
            y_of = (y) => Math.round((y - top) * ratio);
        const width = ground.length;
        const least = line.pinned ? 0 : Math.round(layout.pinned_height * ratio);
        const head = line.kind === "group";
        const behind = head ? line_ground : ground;
        if (head) {
            line_ground.fill(palette.head);
        } else {
            line_ground.set(ground);
        }
        const bottom = y_of(line.y + line.height + (head ? 0 : GAP));
        for (let y = Math.max(least, y_of(line.y)); y < Math.min(height, bottom); y++) {
            pixels.set(behind, y * width);
        }
        const from = Math.max(0, Math.floor((top - line.y) / line.pitch));
        for (let number = from; number < line.n_rows; number++) {
            const y0 = y_of(line.y + number * line.pitch),
                y1 = y_of(line.y + (number + 1) * line.pitch);
            if (y0 >= height) {
                break;
            }
            let boxes = null;
            for (const row of line.summary.length > 0 ? line.summary : [line.first_row + number]) {
                boxes = pane.boxesOf(row, time);
                paintLine(liner, boxes, time.begin, scale, line_ground, look);
                if (line.summary.length > 0) {
                    line_ground.set(liner.body);
                }
            }
            const gap = line.pitch >= GAP_FROM ? Math.max(1, Math.round(ratio)) : 0;
            const inset = head ? Math.round(3 * ratio) : 0;
            copyLine(
                liner,
                pixels,
                height,
                Math.max(least, y0 + inset),
                y1 - gap - inset,
                y1 - y0 >= 10 * ratio ? Math.round(2 * ratio) : 1,
            );
            if (boxes !== null && line.pitch >= LABELS_FROM && !head && (y0 + y1 - gap) / 2 > least) {
                askForLabels(labels, liner, boxes, (y0 + y1 - gap) / 2, letter * (line.class === "stage" && number_letters > 0 ? number_letters + 0.2 : 2.1));
            }
        }
    }

    /** The critical path on a group: a line at the lower edge of its header, or of its first line. */
    function paintPath(line, time, scale, ratio, height, palette) {
        const width = ground.length;
        const edge = line.y + line.height - (line.pinned ? 0 : pane.top);
        const from = Math.max(line.pinned ? 0 : Math.round(layout.pinned_height * ratio), Math.round((edge - PATH) * ratio));
        const to = Math.min(height, Math.round(edge * ratio));
        for (const [, begin, end] of path_of[line.group]) {
            const x0 = Math.max(0, Math.round((begin - time.begin) * scale));
            const x1 = Math.min(width, Math.max(x0 + 1, Math.round((end - time.begin) * scale)));
            for (let y = from; y < to && x0 < x1; y++) pixels.fill(palette.path, y * width + x0, y * width + x1);
        }
    }

    /** @param {CanvasRenderingContext2D} context2d @param {string} font @param {number} ratio */
    function write(context2d, font, ratio) {
        context2d.save();
        context2d.setTransform(1, 0, 0, 1, 0, 0);
        context2d.beginPath();
        context2d.rect(
            Math.round(box.x * ratio),
            Math.round(box.y * ratio),
            ground.length,
            Math.round(box.height * ratio),
        );
        context2d.clip();
        context2d.font = font;
        const ink = (type, name) => ((look.flags(name) & DIM) !== 0 ? quiet_ink : context.colors.ink(type, name));
        writeLabels(
            context2d,
            labels,
            Math.round(box.x * ratio),
            Math.round(box.y * ratio) + 0.5,
            letter,
            source.name,
            ink,
        );
        context2d.restore();
    }

    /** @param {CanvasRenderingContext2D} context2d @param {import("./layout.js").Line} line */
    function nameLine(context2d, line, gutter, palette, hovered) {
        const y = yOf(line),
            head = line.kind === "group";
        if (head || hovered || line.pinned) {
            context2d.fillStyle = head ? palette.css.head : hovered ? palette.css.band : palette.css.ground;
            context2d.fillRect(0, y, gutter, line.height + (line.pinned ? GAP : 0));
        }
        const first_height = line.n_rows === 1 || line.folded || head ? line.height : Math.max(line.pitch, 18);
        const middle = Math.max(y + first_height / 2, Math.min((line.pinned ? box.y : pane.scrolled_from) + 11, y + line.height - 11));
        const left = line.indented ? 24 : 8;
        if (line.folds) {
            drawTriangle(context2d, line.indented ? 14 : 8, middle, line.folded, palette.css.quiet);
        }
        const bold = head || !line.indented;
        context2d.font = `${bold ? "600 12px" : "12px"} ${palette.font}`;
        context2d.fillStyle = palette.css.text;
        context2d.textAlign = "left";
        context2d.textBaseline = "middle";
        const x = line.folds || line.indented ? left + (line.indented ? 0 : 8) : left;
        const most = line.kind === "curve" ? amount(line) : "";
        const room = gutter - x - 8 - (most === "" ? 0 : context2d.measureText(most).width + 6);
        context2d.fillText(fitName(context2d, line.name, room, bold ? "bold" : "name"), x, middle);
        if (most !== "") {
            context2d.textAlign = "right";
            context2d.fillStyle = palette.css.quiet;
            context2d.fillText(most, gutter - 6, y + 9);
        }
    }

    /** The maximum of a curve, at its axis. @param {import("./layout.js").Line} line */
    function amount(line) {
        const { most, unit } = curveOf(line.curve);
        return Number.isFinite(most) ? context.format.value(most, /** @type {import("../types").Unit} */ (unit)) : "";
    }

    return pane;
}

/** Both lists' rows, ascending. @param {number[]} rows @param {number[]} also */
function withRows(rows, also) {
    return also.length === 0 ? rows : [...new Set([...rows, ...also])].sort((a, b) => a - b);
}

/** A small triangle: to the right for closed lines, down for open ones. @param {CanvasRenderingContext2D} context
 *  */
function drawTriangle(context, x, y, closed, color) {
    context.fillStyle = color;
    context.beginPath();
    if (closed) {
        context.moveTo(x - 2, y - 4);
        context.lineTo(x + 3, y);
        context.lineTo(x - 2, y + 4);
    } else {
        context.moveTo(x - 4, y - 2);
        context.lineTo(x + 4, y - 2);
        context.lineTo(x, y + 3);
    }
    context.closePath();
    context.fill();
}
