// The colours of roles, as src/report/role_colors.c lists them, in the order of the document's types.

import { readFileSync } from "node:fs";

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const listed = [...read("include/evenkeel/trace_index.h").matchAll(/^ +X\(([A-Z_]+), +"([^"]+)"\)/gm)];
const source = read("src/report/role_colors.c");

export const types = listed.map((match) => match[2]);
/** @type {[number, number, number][]} */
export const roles = listed.map(([, name]) => {
    const found = new RegExp(`\\[EK_VIEW_${name}\\] = \\{([^}]+)\\}`).exec(source);
    if (found === null) throw new Error(`${name} has no colour`);
    return found[1].split(",").map(Number);
});
