// Long texts shortened in the middle, because names of operators differ at their ends: as many characters of both
// ends as fit, with an ellipsis between.

/**
 * @param {string} text @param {(text: string) => boolean} fits is true for all shorter texts of one that fits
 * @returns {string} text itself where it fits
 */
export function shorten(text, fits) {
    if (fits(text)) return text;
    const characters = Array.from(text);
    const kept = (n) =>
        characters.slice(0, Math.ceil(n / 2)).join("") +
        "\u2026" +
        (n > 1 ? characters.slice(-Math.floor(n / 2)).join("") : "");
    let [low, high] = [1, characters.length - 1];
    while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (fits(kept(middle))) low = middle;
        else high = middle - 1;
    }
    return kept(low);
}

/** @type {{ pen: CanvasRenderingContext2D, font: string } | null} */
let measure = null;

/** Width in pixels of a text as tables and charts write it. @param {string} text @param {boolean} [bold] as titles */
export function textWidth(text, bold = false) {
    measure ??= {
        pen: /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d")),
        font: `13px ${getComputedStyle(document.body).fontFamily}`,
    };
    measure.pen.font = bold ? `600 ${measure.font}` : measure.font;
    return measure.pen.measureText(text).width;
}

/** A text shortened in the middle to a width in pixels. */
export function shortenTo(text, width) {
    // No character is narrower than two pixels: longer texts are too long without measuring.
    return shorten(text, (part) => part.length * 2 <= width && textWidth(part) <= width);
}
