// The top of the page: title, selected run, theme and help; below it the run's facts and notes.

import { element, fill } from "./dom.js";
import { showHelp } from "./help.js";
import { key, language, languages, say, told } from "./texts.js";

/** @type {[import("./types").View["theme"], string][]} */
const themes = [
    ["auto", key("As the system")],
    ["light", key("Light")],
    ["dark", key("Dark")],
];

/**
 * @param {string} label @param {[string, string][]} options @param {string} value @param {(value: string) => void} changed
 */
function choice(label, options, value, changed) {
    const select = element("select", { onchange: () => changed(select.value) },
        options.map(([id, text]) => element("option", { value: id, selected: id === value }, text)));
    return { node: element("label", {}, label, select), select };
}

/**
 * @param {HTMLElement} root
 * @param {import("./types").Document} doc
 * @param {import("./types").State} state
 * @param {(run: number) => void} openRun
 * @returns {() => void}
 */
export function showHeader(root, doc, state, openRun) {
    const runs = choice(say("Run"), doc.runs.map((run, i) => [String(i), run.name]), String(state.view.run), (value) => openRun(Number(value)));
    const theme = choice(say("Theme"), themes.map(([id, text]) => [id, say(text)]), state.view.theme, (value) =>
        state.set({ theme: /** @type {import("./types").View["theme"]} */ (value) }));
    const lang = choice(say("Language"), Object.entries(languages), language(), (value) =>
        state.set({ lang: value }));
    fill(root,
        element("h1", { title: told(doc.title) }, told(doc.title)),
        element("span", { class: "gap" }),
        doc.runs.length > 1 ? runs.node : null,
        theme.node,
        lang.node,
        element("button", { onclick: showHelp, title: say("Keys (?)") }, say("Keys")));
    return state.on(["run", "theme"], () => {
        runs.select.value = String(state.view.run);
        theme.select.value = state.view.theme;
    });
}

/**
 * @param {HTMLElement} root
 * @param {import("./types").Run} run
 * @param {import("./types").Format} format
 */
export function showFacts(root, run, format) {
    const facts = run.facts.map((fact) =>
        element("div", {},
            element("dt", {}, fact.label),
            element("dd", {}, fact.text ?? format.value(fact.value, fact.unit),
                fact.basis === null ? null : element("span", { class: "basis" }, ` ${fact.basis}`))));
    const n_notes = run.notes.length;
    root.hidden = facts.length === 0 && n_notes === 0;
    fill(root,
        facts.length > 0 ? element("dl", { class: "facts", "aria-label": say("Facts about this run") }, facts) : null,
        n_notes > 0
            ? element("details", { class: "notes" },
                element("summary", {}, n_notes === 1 ? say("1 note") : say("{0} notes", n_notes)),
                element("ul", {}, run.notes.map((note) => element("li", {}, note))))
            : null);
}
