// Builds elements of the page. Content is always added as text or is a node already: neither this file nor the rest of
// the page ever parses markup from a text, so names from a trace stay text.

const svg_space = "http://www.w3.org/2000/svg";

/** A text, a number, a node, nothing, or a list of those. @typedef {any} Content */

/**
 * @param {Element} node
 * @param {Record<string, any>} attributes
 */
function give(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined) continue;
        if (name.startsWith("aria-")) node.setAttribute(name, String(value));
        else if (value === false) continue;
        else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
        else if (name === "style") Object.assign(/** @type {HTMLElement} */ (node).style, value);
        else node.setAttribute(name, value === true ? "" : String(value));
    }
}

/**
 * Append content to a node: texts as text, lists piece by piece, nothing for null.
 * @param {Node} node
 * @param {Content[]} content
 */
export function append(node, ...content) {
    for (const piece of content) {
        if (piece === null || piece === undefined) continue;
        if (Array.isArray(piece)) append(node, ...piece);
        else node.appendChild(piece instanceof Node ? piece : document.createTextNode(String(piece)));
    }
}

/**
 * An element: element("button", { class: "quiet", onclick: close }, "Close"). An attribute that is true is set empty, one
 * that is false or null is left out; `style` is an object of properties, `onNAME` a listener.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes]
 * @param {Content[]} content
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...content) {
    const node = document.createElement(tag);
    give(node, attributes);
    append(node, ...content);
    return node;
}

/**
 * The same for a drawing: svg("rect", { x: 1, y: 2, width: 3, height: 4 }).
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {Content[]} content
 */
export function svg(tag, attributes = {}, ...content) {
    const node = document.createElementNS(svg_space, tag);
    give(node, attributes);
    append(node, ...content);
    return node;
}

/**
 * Replace the content of a node.
 * @param {Element} node
 * @param {Content[]} content
 */
export function fill(node, ...content) {
    node.replaceChildren();
    append(node, ...content);
}
