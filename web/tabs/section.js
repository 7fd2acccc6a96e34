// Sections of a document: their notes, findings, bars, heat maps, lines and tables, one below the other, and tabs
// that are just the sections of one name.

import { element } from "../dom.js";
import { showBars } from "./bars.js";
import { showFindings } from "./finding_cards.js";
import { showLines } from "./lines.js";
import { showMatrix } from "./matrix.js";
import { showStrip } from "./strip.js";
import { choice } from "./part.js";
import { showTable } from "./table.js";
import { say } from "../texts.js";

const CONTENTS_FROM = 4;
const FAMILY_FROM = 5; // tables of one kind, a rank each: one is shown, a list selects it

/** Sentences as a list, or nothing. @param {string[] | undefined} notes */
function notesOf(notes) {
    return notes && notes.length > 0
        ? element(
              "ul",
              { class: "notes" },
              notes.map((note) => element("li", {}, note)),
          )
        : null;
}

/** Sections of a run by their name. @param {import("../types").Run} run @param {string} name */
export function sectionsOf(run, name) {
    return run.sections.filter((section) => section.name === name);
}

/** Tables with ids that differ by a number at the end, together. @param {import("../types").Table[]} tables */
export function familiesOf(tables) {
    /** @type {import("../types").Table[][]} */
    const families = [];
    const kind = ({ id }) => (/-\d+$/.test(id) ? id.replace(/\d+$/, "") : null);
    for (const table of tables) {
        const last = families[families.length - 1];
        if (last && kind(table) !== null && kind(last[0]) === kind(table)) last.push(table);
        else families.push([table]);
    }
    return families.flatMap((family) => (family.length < FAMILY_FROM ? family.map((table) => [table]) : [family]));
}

/** One of many tables, and a list of all. @param {HTMLElement} root @param {import("../types").Table[]} family */
function showFamily(root, family, context) {
    const holder = element("div", { class: "family" });
    const titles = family.map((table, i) => /** @type {[string, string]} */ ([String(i), table.title]));
    let end = () => {};
    const show = (value) => {
        end();
        end = showTable(holder, family[Number(value)], context);
    };
    holder.append(choice(say("One of {0} tables", family.length), titles, "0", show));
    root.append(holder);
    show("0");
    return () => {
        end();
        holder.remove();
    };
}

/**
 * @param {HTMLElement} root @param {import("../types").Section} section @param {import("../types").Context} context
 * @returns {(() => void)[]} functions that end its parts
 */
export function showSection(root, section, context) {
    const notes = notesOf(section.notes);
    if (notes) root.append(notes);
    return [
        ...(section.findings ? [showFindings(root, section.findings, context)] : []),
        ...(section.tables ?? []).filter(({ id }) => section.name === "plan" && id === "plan").map((table) => showStrip(root, table, context)),
        ...(section.bars ?? []).map((bars) => showBars(root, bars, context)),
        ...(section.matrices ?? []).map((matrix) => showMatrix(root, matrix, context)),
        ...(section.lines ?? []).map((lines) => showLines(root, lines, context)),
        ...familiesOf(section.tables ?? []).map((family) =>
            family.length > 1 ? showFamily(root, family, context) : showTable(root, family[0], context),
        ),
    ];
}

/** Where a page has many parts: buttons that go to each. Of adjacent parts the first is enough. */
function showContents(page) {
    const parts = [...page.querySelectorAll(".part")].filter(
        (part) => !part.parentElement?.closest(".part") && !part.matches(".beside > :not(:first-child) .part"),
    );
    if (parts.length < CONTENTS_FROM) return;
    const go = (part) => () => {
        part.scrollIntoView({ block: "start" });
        part.querySelector(".scroller, [tabindex='0']")?.focus({ preventScroll: true });
    };
    const titleOf = (part) => part.closest(".beside")?.getAttribute("aria-label") ?? part.getAttribute("aria-label");
    const contents = element(
        "nav",
        { class: "contents", "aria-label": say("Parts of this page") },
        parts.map((part) => element("button", { type: "button", class: "link", onclick: go(part) }, titleOf(part))),
    );
    const chooser = page.querySelector(".chooser");
    if (chooser) chooser.after(contents);
    else page.prepend(contents);
}

/**
 * Builds into a root of its own, and again when colours change. `build` returns the functions that end its parts.
 * @param {HTMLElement} root @param {import("../types").Context} context
 * @param {(page: HTMLElement) => (() => void)[]} build
 */
export function showPage(root, context, build) {
    const page = element("div", { class: "tab-page" });
    root.append(page);
    let ends = build(page);
    showContents(page);
    const end = () => {
        ends.forEach((ended) => ended());
        page.replaceChildren();
    };
    const off = context.state.on(["theme"], () => {
        end();
        ends = build(page);
        showContents(page);
    });
    return () => {
        off();
        end();
        page.remove();
    };
}

/**
 * The tab of all sections of a name, which is its title too, with a capital in front.
 * @param {string} id of the tab, and name of its sections @param {string} [title] where the page has it in other languages
 * @returns {import("../types").Tab}
 */
export function sectionTab(id, title = id.charAt(0).toUpperCase() + id.slice(1)) {
    return {
        id,
        title,
        present: (context) => sectionsOf(context.run, id).length > 0,
        show: (root, context) =>
            showPage(root, context, (page) =>
                sectionsOf(context.run, id).flatMap((section) => showSection(page, section, context)),
            ),
    };
}
