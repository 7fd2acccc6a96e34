// Boxes of a row into pixels, without the canvas: one line of pixels is painted and then copied as often as the row is
// high, because tens of thousands of fillRect calls a frame are too slow where no graphics hardware helps. A box of
// three pixels or more is a span of its colour with one pixel left free at its end; narrower ones are summed up per
// pixel, each weighed by its part of the pixel, and the pixel is their mean colour over the background, as strong as it
// is filled but never fainter than LEAST, so that a single short event is still visible. Boxes of a row must not
// overlap.

export const LEAST = 0.35;
export const WIDE = 3;
const NARROWEST = 1 / 64; // weight of an event without length

/** Flags of a name, see `look`. */
export const DIM = 1;
export const MARKED = 2;

/**
 * A line of pixels with the buffers to paint one; reused between frames.
 * @typedef {object} Liner
 * @property {number} width
 * @property {Uint32Array} body   [width] the row's pixels
 * @property {Uint32Array} edge   [width] of its first and last lines: as body, with marked boxes in another colour
 * @property {Float32Array} weight @property {Float32Array} red @property {Float32Array} green @property {Float32Array}
 *        blue
 * @property {Uint8Array} marked  [width]
 * @property {Int32Array} first @property {Int32Array} last @property {Uint32Array} color  [n_spans] of wide boxes
 * @property {Uint32Array} box    [n_spans] which box
 * @property {number} n_spans
 * @property {boolean} any_marked
 * @property {number} n_events  summed over all lines painted
 */

/** @param {number} width @returns {Liner} */
export function newLiner(width) {
    const spans = Math.ceil(width / (WIDE - 1)) + 4;
    return {
        width,
        body: new Uint32Array(width),
        edge: new Uint32Array(width),
        weight: new Float32Array(width),
        red: new Float32Array(width),
        green: new Float32Array(width),
        blue: new Float32Array(width),
        marked: new Uint8Array(width),
        first: new Int32Array(spans),
        last: new Int32Array(spans),
        color: new Uint32Array(spans),
        box: new Uint32Array(spans),
        n_spans: 0,
        any_marked: false,
        n_events: 0,
    };
}

/** Two colours (0xAABBGGRR), `share` of the first. @param {number} color @param {number} ground @param {number} share
 *  */
export function mix(color, ground, share) {
    const rest = 1 - share;
    const red = (color & 255) * share + (ground & 255) * rest;
    const green = ((color >> 8) & 255) * share + ((ground >> 8) & 255) * rest;
    const blue = ((color >> 16) & 255) * share + ((ground >> 16) & 255) * rest;
    return (0xff000000 | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5)) >>> 0;
}

/** The strength of a pixel filled by `weight`. @param {number} weight */
function strength(weight) {
    return LEAST + (1 - LEAST) * Math.min(1, weight);
}

/** The filled share of a box. @param {import("../types").Boxes} boxes @param {number} i */
export function fullness(boxes, i) {
    if (boxes.count === null || boxes.busy === null || boxes.count[i] < 2) {
        return 1;
    }
    const length = boxes.end[i] - boxes.begin[i];
    return length > 0 ? Math.min(1, boxes.busy[i] / length) : 1;
}

/** Add a narrow box to the pixels it touches. @param {Liner} liner @param {number} x0 @param {number} x1
 *  @param {number} full @param {number} color @param {boolean} marked */
function sumUp(liner, x0, x1, full, color, marked) {
    const from = Math.max(0, Math.floor(x0));
    const to = Math.min(liner.width - 1, Math.max(from, Math.ceil(x1) - 1));
    const red = color & 255,
        green = (color >> 8) & 255,
        blue = (color >> 16) & 255;
    for (let x = from; x <= to; x++) {
        const weight = Math.max((Math.min(x1, x + 1) - Math.max(x0, x)) * full, NARROWEST);
        liner.weight[x] += weight;
        liner.red[x] += weight * red;
        liner.green[x] += weight * green;
        liner.blue[x] += weight * blue;
        if (marked) {
            liner.marked[x] = 1;
        }
    }
}

/** The sums of [from, to) are painted over the line, and reset. @param {Liner} liner */
function settle(liner, from, to) {
    const { weight, red, green, blue, body } = liner;
    for (let x = from; x < to; x++) {
        const of = weight[x];
        if (of > 0) {
            const ground = body[x],
                share = strength(of),
                rest = 1 - share,
                scale = share / of;
            body[x] =
                (0xff000000 |
                    ((blue[x] * scale + ((ground >> 16) & 255) * rest + 0.5) << 16) |
                    ((green[x] * scale + ((ground >> 8) & 255) * rest + 0.5) << 8) |
                    (red[x] * scale + (ground & 255) * rest + 0.5)) >>>
                0;
            weight[x] = red[x] = green[x] = blue[x] = 0;
        }
    }
}

/**
 * Paint a row's boxes into liner.body (and liner.edge where a box is marked) over `ground`. Wide boxes are listed in
 * first, last, box for the writers of labels. O(boxes + width).
 * @param {Liner} liner
 * @param {import("../types").Boxes | null} boxes
 * @param {number} begin  time at the left end of pixel 0
 * @param {number} scale  pixels per unit of time
 * @param {Uint32Array} ground  [width]
 * @param {{color: (type: number, name: number) => number, flags: (name: number) => number, mark: number}} look color:
 *        of a box as it is drawn (dimmed where it is); mark: colour of the edge of marked boxes
 */
export function paintLine(liner, boxes, begin, scale, ground, look) {
    const { width, body } = liner;
    body.set(ground);
    liner.n_spans = 0;
    liner.any_marked = false;
    if (boxes === null || boxes.from >= boxes.to) {
        return;
    }
    let least = width,
        most = 0;
    for (let i = boxes.from; i < boxes.to; i++) {
        const x0 = (boxes.begin[i] - begin) * scale,
            x1 = (boxes.end[i] - begin) * scale;
        if (x0 >= width || (x1 <= 0 && x0 < 0)) {
            continue;
        }
        liner.n_events += boxes.count === null ? 1 : boxes.count[i];
        const name = boxes.name[i],
            color = look.color(boxes.type[i], name);
        const marked = (look.flags(name) & MARKED) !== 0,
            full = fullness(boxes, i);
        if (marked) {
            liner.any_marked = true;
        }
        if (x1 - x0 < WIDE) {
            sumUp(liner, x0, x1, full, color, marked);
            least = Math.min(least, Math.max(0, Math.floor(x0)));
            most = Math.max(most, Math.min(width, Math.ceil(x1) + 1));
            continue;
        }
        const at = liner.n_spans++;
        liner.first[at] = Math.max(0, Math.round(x0));
        liner.last[at] = Math.min(width, Math.round(x1) - 1);
        liner.color[at] = full < 1 ? mix(color, ground[liner.first[at]] ?? ground[0], strength(full)) : color;
        liner.box[at] = i;
        if (marked) {
            liner.marked.fill(1, liner.first[at], liner.last[at]);
        }
    }
    settle(liner, least, most);
    for (let at = 0; at < liner.n_spans; at++) {
        body.fill(liner.color[at], liner.first[at], Math.max(liner.first[at], liner.last[at]));
    }
    if (liner.any_marked) {
        const { edge, marked } = liner;
        for (let x = 0; x < width; x++) {
            edge[x] = marked[x] !== 0 ? look.mark : body[x];
        }
        marked.fill(0);
    }
}

/**
 * Copy the painted line into lines [from, to) of a picture, clipped to its `height` lines.
 * @param {Liner} liner @param {Uint32Array} pixels [height][liner.width] @param {number} height
 * @param {number} from @param {number} to @param {number} rim  lines at each end that show the edge
 */
export function copyLine(liner, pixels, height, from, to, rim) {
    for (let y = Math.max(0, from); y < Math.min(height, to); y++) {
        const at_rim = liner.any_marked && (y < from + rim || y >= to - rim);
        pixels.set(at_rim ? liner.edge : liner.body, y * liner.width);
    }
}
