// Gets the document: from the page itself, or from the server of the page. A served document takes a while to be
// computed; the timeline is there at once, and the rest follows.

import { parseDocument } from "./document.js";
import { messageOf } from "./errors.js";
import { say } from "./texts.js";

const again_ms = 1000;

/** @typedef {import("./types").Document} Document */

/** @param {Response} answer */
async function textOf(answer) {
    const text = await answer.text();
    if (!answer.ok) throw new Error(text.trim() || say("The server answers with status {0}.", answer.status));
    return text;
}

/** Requests the document until it is complete. @param {(doc: Document) => void} complete @param {(message: string) => void} failed */
async function wait(complete, failed) {
    try {
        for (;;) {
            const answer = await fetch("document", { cache: "no-store" });
            if (answer.status !== 202) return complete(parseDocument(await textOf(answer)));
            await new Promise((resolve) => setTimeout(resolve, again_ms));
        }
    } catch (error) {
        failed(say("The tables of this run could not be had: {0}", messageOf(error)));
    }
}

/**
 * @param {(doc: Document) => void} complete  called with all of a served document, once it is there
 * @param {(message: string) => void} failed  called when it will not be
 * @returns {Promise<Document>}
 */
export async function loadDocument(complete, failed) {
    const text = document.getElementById("document")?.textContent?.trim() ?? "";
    if (text !== "") return parseDocument(text);
    if (!location.protocol.startsWith("http")) {
        throw new Error(say("This page holds no document. Write one with `evenkeel view FILE --out report.html`."));
    }
    const first = parseDocument(await textOf(await fetch("timeline", { cache: "no-store" })));
    void wait(complete, failed);
    return first;
}
