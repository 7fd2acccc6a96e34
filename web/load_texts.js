// Unpacks the texts of a language, which are in the page in an element of their own: not used for English.

import { inflateBytes } from "./document.js";
import { addTexts, hasTexts } from "./texts.js";

/** Digits of base 85 as embed.py writes them: 4 bytes are 5 of them, the last ones fewer. */
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

/** @param {string} text */
export function fromBase85(text) {
    const missing = (5 - (text.length % 5)) % 5;
    const value = new Map([...digits].map((digit, at) => [digit, at]));
    const full = text + "~".repeat(missing);
    const bytes = new Uint8Array((full.length / 5) * 4);
    const view = new DataView(bytes.buffer);
    for (let at = 0; at < full.length; at += 5) {
        let number = 0;
        for (let k = 0; k < 5; k++) number = number * 85 + (value.get(full[at + k]) ?? NaN);
        view.setUint32((at / 5) * 4, number);
    }
    return bytes.subarray(0, bytes.length - missing);
}

/** @param {string[]} keys @param {string[]} texts */
const together = (keys, texts) => Object.fromEntries(keys.map((key, at) => [key, texts[at]]));

/** @param {string} id  of a language; nothing happens for one that the page does not have */
export async function loadTexts(id) {
    const packed = document.getElementById(`texts-${id}`)?.textContent?.trim() ?? "";
    if (hasTexts(id) || packed === "") return;
    try {
        const [page, sentences, of_page, of_sentences] = JSON.parse(new TextDecoder().decode(await inflateBytes(fromBase85(packed))));
        addTexts(id, { page: together(page, of_page), document: together(sentences, of_sentences) });
    } catch {
        throw new Error("The texts of the chosen language are damaged; the page stays English. Write the page anew.");
    }
}
