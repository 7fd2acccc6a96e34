// The appearance of both charts of layouts: colours of an axis' values from low to high, a canvas that is as sharp as
// the screen, and the colours of the page.

import { fromOklch } from "../colors.js";

/** Is the page dark now? */
const isDark = () => document.documentElement.style.colorScheme === "dark";

/** A hue for each of n values, from violet for the least over green to brown. @param {number} n @returns {string[]} */
export function ramp(n) {
    const dark = isDark();
    return Array.from({ length: n }, (_, k) => {
        const share = n > 1 ? k / (n - 1) : 0;
        const rgb = fromOklch(dark ? 0.74 : 0.48 + 0.2 * share, 0.14, 300 - 250 * share);
        return `rgb(${rgb.join(" ")})`;
    });
}

/** Colours of the style sheet, the page's own also where the system gives those of elements: a chart is one picture, on a
 *  ground of its own. @param {Element} node */
export function inkOf(node) {
    const style = getComputedStyle(node);
    const of = (/** @type {string} */ name) => {
        const probe = document.createElement("i");
        probe.hidden = true;
        probe.style.setProperty("forced-color-adjust", "none");
        probe.style.color = `var(${name})`;
        node.append(probe);
        const color = getComputedStyle(probe).color;
        probe.remove();
        return color;
    };
    return {
        font: style.fontFamily, ink: of("--ink"), quiet: of("--quiet"), line: of("--line"), strong: of("--strong"),
        ground: of("--ground"), alarm: of("--alarm"), accent: of("--accent"),
    };
}

/**
 * Give a canvas its size and ground; drawing is in pixels of the page.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height @param {string} [ground]
 */
export function penOf(canvas, width, height, ground) {
    const dense = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * dense);
    canvas.height = Math.round(height * dense);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    if (ground !== undefined) {
        pen.fillStyle = ground;
        pen.fillRect(0, 0, width, height);
    }
    return pen;
}
