// The picture of the timeline, as a file: SVG, PNG as on the screen, or a page of its events. This page makes all of
// them itself.

import { element, fill } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { pageWith, rangeDocument } from "../range_page.js";
import { fileName, saveFile } from "../save.js";
import { say } from "../texts.js";

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
            showError(say("The picture cannot be made: {0}", messageOf(error)));
        }
    }

    const page = element("button", { onclick: savePage, "aria-label": say("Save a page of the events that are shown") }, say("Page"));
    async function savePage() {
        const { begin, end } = context.state.view;
        page.disabled = true;
        try {
            const title = say("{0}, a stretch", context.document.title);
            const doc = await rangeDocument(context, begin, end, title);
            saveFile(fileName(title, "html"), new Blob([pageWith(doc)], { type: "text/html;charset=utf-8" }));
        } catch (error) {
            showError(say("The page cannot be made: {0}", messageOf(error)));
        }
        page.disabled = false;
    }

    root.classList.add("unprinted");
    fill(root, element("div", { class: "head" }, element("h2", {}, say("Save what is shown")), element("div", { class: "row" },
        element("button", { onclick: saveSvg, "aria-label": say("Save the picture as SVG") }, "SVG"),
        element("button", { onclick: savePng, "aria-label": say("Save the picture as PNG") }, "PNG"), page)));
    return () => {};
}
