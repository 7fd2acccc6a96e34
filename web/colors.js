// Colours of the page. Every type of event has one hue; light and dark differ in lightness only, and adjacent types
// differ in lightness too, so that they can be distinguished without hues. Names of one type get shades of it, blocks
// of a simulated plan by their chunk, from light to dark as in its SVG picture. The document has the list
// (src/report/role_colors.c), which pictures of the command use too. Colours are computed in OKLCH (equal steps look
// equal) once per theme, and looked up while drawing.

import { blockOf } from "./block_name.js";

export const n_shades = 8;
const n_chunk_shades = 8;
const n_all = n_shades + n_chunk_shades; // of a type
const most_names = 1 << 22; // with stored shades; others have the plain one
const shade_steps = [0, 0.045, -0.04, 0.025, -0.02, 0.06, -0.055, 0.012];
const shade_turns = [0, 7, -7, -12, 12, 4, -4, 0];

// Colours of series without a type: lightness and chroma on a light background, hue in degrees. On a dark one lightness
// moves towards the middle.
/** @type {[number, number, number][]} */
const of_series = [
    [0.58, 0.14, 252],
    [0.7, 0.16, 55],
    [0.66, 0.13, 165],
    [0.55, 0.15, 325],
    [0.76, 0.13, 95],
    [0.68, 0.11, 220],
    [0.58, 0.18, 25],
    [0.6, 0.05, 260],
];

/** Linear light to the value for a screen. @param {number} x */
const gamma = (x) => (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);

/**
 * OKLCH to sRGB bytes (Ottosson 2020); chroma is lowered until the colour can be shown.
 * @param {number} lightness
 * @param {number} chroma
 * @param {number} hue  degrees
 * @returns {[number, number, number]}
 */
export function fromOklch(lightness, chroma, hue) {
    for (let c = chroma; ; c -= 0.01) {
        const a = Math.max(c, 0) * Math.cos((hue * Math.PI) / 180);
        const b = Math.max(c, 0) * Math.sin((hue * Math.PI) / 180);
        const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
        const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
        const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
        const rgb = [
            4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
            -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
            -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
        ];
        if (c <= 0 || rgb.every((x) => x >= -0.0005 && x <= 1.0005)) {
            const [r, g, blue] = rgb.map((x) => Math.round(255 * gamma(Math.min(1, Math.max(0, x)))));
            return [r, g, blue];
        }
    }
}

/**
 * Relative luminance of sRGB bytes, 0 to 1.
 * @param {number[]} rgb
 */
export function luminance(rgb) {
    const linear = (/** @type {number} */ byte) => {
        const x = byte / 255;
        return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
}

/** @param {number} lightness @param {boolean} dark */
const forTheme = (lightness, dark) => (dark ? 0.62 + (lightness - 0.62) * 0.75 : lightness);

const lightest = 0.8; // of a chunk on a light background
const chunk_spread = 0.14;

/** Lightness of a chunk's shade, by its place among them from 0 to 1. @param {number} lightness @param {number} place @param {boolean} dark */
function chunkLightness(lightness, place, dark) {
    const high = dark ? lightness + chunk_spread : Math.min(lightest, lightness + chunk_spread);
    const low = lightness - chunk_spread;
    return dark ? low + place * (high - low) : high - place * (high - low);
}

/** @param {number[]} rgb */
const css = (rgb) => `rgb(${rgb[0]} ${rgb[1]} ${rgb[2]})`;

/**
 * FNV-1a, with its bits mixed once more: the same text has the same shade on every rank and in every run.
 * @param {string} text
 */
function hashed(text) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * @param {[number, number, number][]} base  document.colors
 * @param {boolean} dark
 */
function tables(base, dark) {
    const pixel = new Uint32Array(base.length * n_all);
    /** @type {string[]} */
    const ink = [];
    base.forEach(([lightness, chroma, hue], i) => {
        const plain_lightness = forTheme(lightness, dark);
        for (let shade = 0; shade < n_all; shade++) {
            const rgb = shade < n_shades
                ? fromOklch(plain_lightness + shade_steps[shade], chroma, hue + shade_turns[shade])
                : fromOklch(chunkLightness(plain_lightness, (shade - n_shades) / (n_chunk_shades - 1), dark), chroma, hue);
            pixel[i * n_all + shade] = (0xff000000 | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0]) >>> 0;
            // The better contrast of the two: equal where luminance is 0.179.
            ink.push(luminance(rgb) > 0.179 ? "#000" : "#fff");
        }
    });
    const plain = (/** @type {[number, number, number]} */ [l, c, h]) => css(fromOklch(forTheme(l, dark), c, h));
    return { pixel, ink, type: base.map(plain), series: of_series.map(plain) };
}

/** The shade of a chunk: a single one has the plain colour. @param {number} chunk @param {number} of */
const chunkShade = (chunk, of) => (of < 2 ? 0 : n_shades + Math.round((Math.min(chunk, of - 1) * (n_chunk_shades - 1)) / (of - 1)));

/**
 * Colours of one run.
 * @param {[number, number, number][]} base  document.colors
 * @param {(name: number) => string} nameOf  text of a name; "" while it is loading: then the shade is the plain one
 * @param {number} [n_chunks]  of a simulated plan, whose blocks have shades by their chunk
 * @returns {import("./types").Colors & { setDark(dark: boolean): void }}
 */
export function makeColors(base, nameOf, n_chunks = 0) {
    const light = tables(base, false);
    let table = light;
    let shades = new Uint8Array(1024); // by name: shade + 1; 0 is not known yet

    /** @param {number} name */
    function shadeOf(name) {
        if (name < shades.length && shades[name] !== 0) return shades[name] - 1;
        const text = nameOf(name);
        if (text === "" || name >= most_names) return 0;
        if (name >= shades.length) {
            const larger = new Uint8Array(Math.min(most_names, 2 * name));
            larger.set(shades);
            shades = larger;
        }
        const block = n_chunks > 0 ? blockOf(text) : null;
        shades[name] = 1 + (block === null ? hashed(text) % n_shades : chunkShade(block.chunk, n_chunks));
        return shades[name] - 1;
    }

    const at = (/** @type {number} */ type, /** @type {number} */ name) =>
        (type < base.length ? type : 0) * n_all + shadeOf(name);
    return {
        type: (type) => table.type[type] ?? table.type[0],
        pixel: (type, name) => table.pixel[at(type, name)],
        ink: (type, name) => table.ink[at(type, name)],
        chunk: (type, chunk, of) => {
            const pixel = table.pixel[type * n_all + chunkShade(chunk, of)];
            return css([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]);
        },
        series: (number) => table.series[number % table.series.length],
        light: {
            type: (type) => light.type[type] ?? light.type[0],
            series: (number) => light.series[number % light.series.length],
        },
        setDark(dark) {
            table = tables(base, dark);
        },
    };
}
