// Unpacks the texts of a language, which stand in the page in an element of their own: a reader of English never does.

import { inflate } from "./document.js";
import { addTexts, hasTexts } from "./texts.js";

/** @param {string} id  of a language; nothing happens for one that the page does not have */
export async function loadTexts(id) {
    const packed = document.getElementById(`texts-${id}`)?.textContent?.trim() ?? "";
    if (hasTexts(id) || packed === "") return;
    try {
        addTexts(id, JSON.parse(new TextDecoder().decode(await inflate(packed))));
    } catch {
        throw new Error("The texts of the chosen language are damaged; the page stays English. Write the page anew.");
    }
}
