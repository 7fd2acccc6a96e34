// Facts of two runs side by side, with their difference, in percent too, and its meaning in a word.

import { element } from "../dom.js";
import { betterWay, difference, joinLabels } from "./difference.js";
import { makePart, signed } from "./part.js";
import { shortenTo } from "./shorten.js";
import { key, say } from "../texts.js";

const WIDEST_NAME = 260;
export const ONLY_A = key("only in A");
export const ONLY_B = key("only in B");
/** By the verdict of a difference; the words are classes too. @type {Record<string, string>} */
const VERDICTS = { same: key("same"), better: key("better"), worse: key("worse") };

const MOST_SHARE = 10; // of a figure that was next to zero the difference is more useful

/** A share with its sign, in percent; "" where it has no meaning. @param {number | null} share */
function shareText(share) {
    return share === null || Math.abs(share) > MOST_SHARE ? "" : `${share > 0 ? "+" : share < 0 ? "\u2212" : ""}${Math.abs(100 * share).toFixed(1)} %`;
}

/** A word for the meaning of a difference, with an arrow for its direction. */
export function verdictText(change) {
    const arrow = change.absolute > 0 ? "\u25b2" : change.absolute < 0 ? "\u25bc" : "";
    return `${arrow} ${change.verdict ? say(VERDICTS[change.verdict]) : change.absolute > 0 ? say("more") : say("less")}`.trim();
}

function factCell(fact, format) {
    if (!fact) return element("td", { class: "number quiet" }, "\u2013");
    return element(
        "td",
        { class: "number" },
        fact.text ?? format.value(fact.value, fact.unit),
        fact.basis ? element("span", { class: "basis" }, fact.basis) : null,
    );
}

/**
 * Facts of both, side by side. @param {import("../types").Run} a @param {import("../types").Run} b
 * @param {import("../types").Format} format @returns {HTMLElement}
 */
export function factTable(a, b, format) {
    const rows = joinLabels(
        a.facts.map((fact) => fact.label),
        b.facts.map((fact) => fact.label),
    ).map(([row_a, row_b]) => {
        const [fact_a, fact_b] = [row_a === null ? null : a.facts[row_a], row_b === null ? null : b.facts[row_b]];
        const { label, unit } = /** @type {import("../types").Fact} */ (fact_a ?? fact_b);
        const same_unit = !fact_a || !fact_b || fact_a.unit === fact_b.unit;
        const change = same_unit ? difference(fact_a?.value, fact_b?.value, betterWay((fact_a ?? fact_b)?.better)) : null;
        const text_change = fact_a && fact_b && !change && fact_a.text !== fact_b.text ? say("differs") : "";
        const alone = !fact_a ? say(ONLY_B) : !fact_b ? say(ONLY_A) : text_change;
        return element(
            "tr",
            {},
            element(
                "th",
                { scope: "row" },
                fact_a && fact_b && fact_a.label !== fact_b.label ? `${fact_a.label} / ${fact_b.label}` : label,
            ),
            factCell(fact_a, format),
            factCell(fact_b, format),
            element(
                "td",
                { class: `number change ${change?.verdict ?? ""}` },
                change && change.absolute !== 0 ? signed(format, change.absolute, unit) : "",
            ),
            element(
                "td",
                { class: `number change ${change?.verdict ?? ""}` },
                change && change.absolute !== 0 ? shareText(change.share) : "",
            ),
            element("td", { class: change?.verdict ?? "" }, change ? verdictText(change) : alone),
        );
    });
    const nameOf = (letter, run) => shortenTo(`${letter}: ${run.name}`, WIDEST_NAME);
    const heads = [say("Fact"), nameOf("A", a), nameOf("B", b), say("Difference"), say("Percent"), say("Meaning")].map((title, i) =>
        element("th", { scope: "col", class: i > 0 && i < 5 ? "number" : null }, title),
    );
    const { part, body } = makePart(say("Facts"));
    body.append(
        element(
            "div",
            { class: "scroller", tabindex: 0, role: "region", "aria-label": say("Facts of both") },
            element(
                "table",
                { class: "facts-pair" },
                element("thead", {}, element("tr", {}, heads)),
                element("tbody", {}, rows),
            ),
        ),
    );
    return part;
}
