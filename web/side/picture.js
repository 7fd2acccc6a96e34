// The picture of what the timeline shows, as a file: SVG, or PNG as it is on the screen. The page makes both itself.

import { element, fill } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { fileName, saveFile } from "../save.js";

/**
 * @param {HTMLElement} root
 * @param {import("../types").Context & { source: import("../types").Source }} context
 * @returns {() => void}
 */
export function showPicture(root, context) {
    const name = (/** @type {string} */ ending) => fileName(`${context.document.title}-timeline`, ending);

    function saveSvg() {
        const chart = context.chart.current;
        if (chart !== null) saveFile(name("svg"), new Blob([chart.svg()], { type: "image/svg+xml" }));
    }

    async function savePng() {
        try {
            const blob = await context.chart.current?.png();
            if (blob) saveFile(name("png"), blob);
        } catch (error) {
            showError(`The picture cannot be made: ${messageOf(error)}`);
        }
    }

    fill(root, element("div", { class: "head" }, element("h2", {}, "Picture of what is shown"), element("div", { class: "row" },
        element("button", { onclick: saveSvg, "aria-label": "Save the picture as SVG" }, "SVG"),
        element("button", { onclick: savePng, "aria-label": "Save the picture as PNG" }, "PNG"))));
    return () => {};
}
