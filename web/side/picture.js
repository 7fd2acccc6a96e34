// The picture of what the timeline shows, as a file: SVG, PNG as it is on the screen, or a page of its events. This page
// makes all of them itself.

import { element, fill } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { pageWith, rangeDocument } from "../range_page.js";
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

    const page = element("button", { onclick: savePage, "aria-label": "Save a page of the events that are shown" }, "Page");
    async function savePage() {
        const { begin, end } = context.state.view;
        page.disabled = true;
        try {
            const title = `${context.document.title}, a stretch`;
            const doc = await rangeDocument(context, begin, end, title);
            saveFile(fileName(title, "html"), new Blob([pageWith(doc)], { type: "text/html;charset=utf-8" }));
        } catch (error) {
            showError(`The page cannot be made: ${messageOf(error)}`);
        }
        page.disabled = false;
    }

    fill(root, element("div", { class: "head" }, element("h2", {}, "Save what is shown"), element("div", { class: "row" },
        element("button", { onclick: saveSvg, "aria-label": "Save the picture as SVG" }, "SVG"),
        element("button", { onclick: savePng, "aria-label": "Save the picture as PNG" }, "PNG"), page)));
    return () => {};
}
