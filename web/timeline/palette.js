// Colours of the timeline other than those of events: properties of its style sheet, resolved once per theme by a probe
// element (a property itself is only text), so that canvas and page agree; 0xAABBGGRR where pixels are painted.

/** @typedef {ReturnType<typeof readPalette>} Palette */

const NAMES = [
    "ground",
    "band",
    "head",
    "line",
    "text",
    "quiet",
    "accent",
    "select",
    "range",
    "mark",
    "alarm",
    "limit",
    "flow",
    "arrow",
    "curve",
    "curve-fill",
    "found",
    "strong",
];

/** A CSS colour as a pixel over black. @param {CanvasRenderingContext2D} scratch @param {string} color */
function pixelOf(scratch, color) {
    scratch.fillStyle = color;
    scratch.fillRect(0, 0, 1, 1);
    const [red, green, blue] = scratch.getImageData(0, 0, 1, 1).data;
    return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** @param {HTMLElement} root */
export function readPalette(root) {
    const probe = root.appendChild(document.createElement("span"));
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    const scratch = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { willReadFrequently: true }));
    /** @type {Record<string, string>} */
    const css = {};
    for (const name of NAMES) {
        probe.style.color = `var(--timeline-${name})`;
        css[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    const style = getComputedStyle(root);
    return {
        css,
        ground: pixelOf(scratch, css.ground),
        band: pixelOf(scratch, css.band),
        head: pixelOf(scratch, css.head),
        line: pixelOf(scratch, css.line),
        found: pixelOf(scratch, css.found),
        strong: pixelOf(scratch, css.strong),
        path: pixelOf(scratch, css.alarm),
        curve: {
            line: pixelOf(scratch, css.curve),
            fill: pixelOf(scratch, css["curve-fill"]),
            alarm: pixelOf(scratch, css.alarm),
            limit: pixelOf(scratch, css.limit),
        },
        font: style.fontFamily,
        letters: style.getPropertyValue("--timeline-letters").trim() || "monospace",
    };
}
