// The page's texts in the reader's language. English is the key: say("{0} rows", n) for the page's own texts, told()
// for texts of the document, whose sentences have their values in them already and are matched against the same kind of
// keys. A text that a language does not have stays English completely. To add a language: a file as texts_zh.json and a
// line in `languages`.

/**
 * @typedef {object} Texts
 * @property {Record<string, string>} page      keys of say()
 * @property {Record<string, string>} document  keys of told(); in a text {=0} is a value that is translated as well, {0} data
 *
 * @typedef {object} Pattern
 * @property {RegExp} match
 * @property {string} part   the longest piece between values: where it is missing, no match is tried
 * @property {number} known  letters between values
 * @property {string} text
 */

/** Names in the languages themselves, by the code in the address and in `<html lang>`. @type {Record<string, string>} */
export const languages = { en: "English", zh: "中文" };

const most_remembered = 20000; // texts of the document
const deepest = 4; // values that are sentences with values
const enough_known = 14; // letters: a key with fewer, as "{0} of {1}", matches many sentences, and then has only data
let chosen = "en";
/** @type {Map<string, Texts>} */
const texts = new Map([["en", { page: {}, document: {} }]]);
let { page, document: sentences } = /** @type {Texts} */ (texts.get("en"));
/** @type {Pattern[] | null} of the chosen language, those with most letters first */
let patterns = null;
/** @type {Map<string, string>} */
const remembered = new Map();

export const language = () => chosen;

/** @param {string} id */
export const hasTexts = (id) => texts.has(id);

/** @param {string} id @param {Texts} of_language */
export const addTexts = (id, of_language) => void texts.set(id, of_language);

/** @param {string} id  one without texts is English */
export function setLanguage(id) {
    chosen = texts.has(id) ? id : "en";
    ({ page, document: sentences } = /** @type {Texts} */ (texts.get(chosen)));
    patterns = null;
    remembered.clear();
}

/** @param {string} text @param {(at: number, said: boolean) => unknown} value */
const fill = (text, value) => text.replace(/\{(=?)(\d)\}/g, (_, said, at) => String(value(Number(at), said !== "")));

/**
 * A text of the page.
 * @param {string} english  key, with {0}, {1} ... for the values
 * @param {unknown[]} values
 */
export function say(english, ...values) {
    const text = Object.hasOwn(page, english) ? page[english] : english;
    return values.length === 0 ? text : fill(text, (at) => values[at]);
}

/** Marks a key that say() gets later, where texts are listed before the language is known. @param {string} english */
export const key = (english) => english;

/** @param {string} english @param {string} text @returns {Pattern} */
function patternOf(english, text) {
    const pieces = english.split(/\{\d\}/);
    // A full stop before a value is not the point of a number or of a file's name.
    const source = pieces.map((piece) => piece.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/\.$/, ".(?=\\s|$)")).join("([^]*?)");
    const part = pieces.reduce((longest, piece) => (piece.length > longest.length ? piece : longest), "");
    return { match: new RegExp(`^${source}$`), part, known: pieces.join("").length, text };
}

/** Words that only a sentence has; names, numbers and paths have none. @param {string} text */
const isSentence = (text) => /[a-z]{2,} [a-z]{2,}/.test(text);

/** A text by a pattern, null where a sentence within it is not known. @param {Pattern} pattern @param {string} text @param {number} depth */
function byPattern(pattern, text, depth) {
    if (!text.includes(pattern.part)) return null;
    const found = pattern.match.exec(text);
    if (found === null) return null;
    let complete = true;
    let changed = /[^\x00-\u2fff\uff00-\uffff]/.test(pattern.text); // or it has only values
    const made = fill(pattern.text, (at, said) => {
        const value = found[at + 1];
        if (!said) {
            complete &&= pattern.known >= enough_known || !isSentence(value);
            return value;
        }
        const other = toldAt(value, depth + 1);
        complete &&= other !== value || !isSentence(value);
        changed ||= other !== value;
        return other;
    });
    return complete && changed ? made : null;
}

/** A text that is a key; also one that begins or ends a sentence where the key does not, or the other way round. @param {string} text */
function exactly(text) {
    if (Object.hasOwn(sentences, text)) return sentences[text];
    const small = text.charAt(0).toLowerCase() + text.slice(1);
    if (Object.hasOwn(sentences, small)) return sentences[small];
    for (const start of [text, small]) {
        if (Object.hasOwn(sentences, `${start}.`)) return sentences[`${start}.`].replace(/。$/, "");
        if (start.endsWith(".") && Object.hasOwn(sentences, start.slice(0, -1))) return `${sentences[start.slice(0, -1)]}。`;
    }
    return null;
}

/** @param {string} text @param {number} depth @param {number} [least]  letters of a key with values @returns {string} */
function toldAt(text, depth, least = 0) {
    const exact = exactly(text);
    if (exact !== null) return exact;
    if (depth > deepest || !/[A-Za-z]/.test(text)) return text;
    patterns ??= Object.entries(sentences)
        .filter(([english]) => /\{\d\}/.test(english))
        .map(([english, other]) => patternOf(english, other))
        .sort((a, b) => b.known - a.known);
    for (const pattern of patterns) {
        if (pattern.known < least) break;
        const other = byPattern(pattern, text, depth);
        if (other !== null) return other;
    }
    return text;
}

/**
 * A text of the document: unchanged where it is data or the language does not have it. The first call takes the number
 * of keys times the text's length, later ones a lookup.
 * @template T
 * @param {T} text  other values than texts are returned unchanged
 * @returns {T}
 */
export function told(text) {
    if (chosen === "en" || typeof text !== "string") return text;
    const known = remembered.get(text);
    if (known !== undefined) return /** @type {any} */ (known);
    const made = toldAt(text, 0);
    if (remembered.size >= most_remembered) remembered.clear();
    remembered.set(text, made);
    return /** @type {any} */ (made);
}

/**
 * The same of a cell with a setting to paste, or a sentence in its place: a setting is never changed, although its
 * words may be keys.
 * @template T
 * @param {T} text
 * @returns {T}
 */
export const toldSentence = (text) => (chosen === "en" || typeof text !== "string" ? text : /** @type {any} */ (toldAt(text, 0, enough_known)));

/** The first language: of the address, else the reader's last choice, else of the document. @param {string[]} wanted */
export const firstLanguage = (...wanted) => wanted.find((id) => Object.hasOwn(languages, id)) ?? "en";

const kept_as = "evenkeel-language";

/** The reader's last choice; "" where none, or where pages may not store it. */
export function keptLanguage() {
    try {
        return localStorage.getItem(kept_as) ?? "";
    } catch {
        return "";
    }
}

/** @param {string} id */
export function keepLanguage(id) {
    try {
        localStorage.setItem(kept_as, id);
    } catch {
        // Then it is valid for this page only.
    }
}
