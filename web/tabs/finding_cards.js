// The findings of a diagnosis as cards, in their order: their cost and the gain of a remedy as bars on one scale, the
// evidence, the setting to change with a button that copies it, and the link to its place in the timeline.

import { element } from "../dom.js";
import { messageOf, showError } from "../errors.js";
import { placeWords, readPlace, showPlace } from "../place.js";
import { copyButton } from "./part.js";
import { say } from "../texts.js";

/** A figure as a bar on the scale of all findings, with its text. */
function figure(label, value, most, text, kind) {
    if (value === null || value === undefined) return null;
    const share = most > 0 ? Math.max(0, Math.min(1, value / most)) : 0;
    return element(
        "div",
        { class: `figure ${kind}` },
        element("span", { class: "figure-label" }, label),
        element(
            "div",
            { class: "figure-track", "aria-hidden": "true" },
            element("div", { style: { width: `${100 * share}%` } }),
        ),
        element("span", { class: "figure-text" }, text),
    );
}

function evidenceList(evidence, context) {
    const items = evidence.map((item) => {
        const where = [
            item.rank >= 0 ? say("rank {0}", item.rank) : null,
            item.step !== null && item.step !== "" ? say("step {0}", item.step) : null,
            item.file,
        ]
            .filter(Boolean)
            .join(", ");
        return element(
            "li",
            {},
            item.text,
            where === "" ? null : element("span", { class: "quiet" }, where),
            placeButton(item, context, "link", () => say("show in timeline")),
        );
    });
    return items.length === 0
        ? null
        : [element("h3", {}, say("What was seen")), element("ul", { class: "evidence" }, items)];
}

function settingBlock(setting) {
    return [
        element("h3", {}, say("Setting")),
        element(
            "div",
            { class: "setting" },
            element("pre", { tabindex: 0 }, element("code", {}, setting)),
            copyButton(say("Copy"), () => setting),
        ),
    ];
}

/** The button that leads to the place of the evidence; null where that is not in the timeline. */
function placeButton(seen, context, kind, words) {
    const { group, begin, end } = seen;
    const raw = group === null || group === undefined ? null : [group, begin ?? null, end ?? null, null];
    const place = readPlace(/** @type {import("../types").RawPlace | null} */ (raw), context.run.timeline);
    if (place === null) return null;
    const go = () => void showPlace(context, place).catch((error) => showError(messageOf(error)));
    const where = placeWords(context, place);
    return element("button", { type: "button", class: kind, onclick: go, "aria-label": say("Show in timeline: {0}", where) }, words(where));
}

function costs(finding, most, format) {
    const share =
        finding.gain_share === null || finding.gain_share === undefined
            ? ""
            : say(" ({0} of the step)", format.value(100 * finding.gain_share, "%"));
    return [
        figure(
            say("Costs a step"),
            finding.cost,
            most,
            finding.cost === null ? "" : format.value(finding.cost, "ns"),
            "cost",
        ),
        figure(
            say("Could gain"),
            finding.gain,
            most,
            finding.gain === null ? "" : format.value(finding.gain, "ns") + share,
            "gain",
        ),
    ];
}

function card(finding, most, context) {
    const { format } = context;
    const rank = finding.rank > 0 ? `${finding.rank}. ` : "";
    const words = [finding.topic, finding.basis]
        .filter(Boolean)
        .map((word) => element("span", { class: "word" }, word));
    const labelled = (label, text, kind) =>
        text ? element("p", { class: kind }, element("b", {}, `${label} `), text) : null;
    return element(
        "article",
        { class: "finding", "aria-label": finding.title },
        element("header", {}, element("h2", {}, rank + finding.title), words),
        costs(finding, most, format),
        evidenceList(finding.evidence, context),
        labelled(say("What to do:"), finding.change),
        finding.setting ? settingBlock(finding.setting) : null,
        labelled(say("Caution:"), finding.caution, "caution"),
        labelled(say("The gain rests on:"), finding.rests_on, "quiet"),
        placeButton(finding, context, "to-place", (where) => say("Show in timeline: {0}", where)),
    );
}

/**
 * @param {HTMLElement} root @param {import("../types").Finding[]} findings @param {import("../types").Context} context
 * @returns {() => void}
 */
export function showFindings(root, findings, context) {
    const most = findings.reduce((sum, finding) => Math.max(sum, finding.cost ?? 0, finding.gain ?? 0), 0);
    const list = element(
        "div",
        { class: "findings" },
        findings.length === 0
            ? element("p", {}, say("Nothing was found that holds this run back."))
            : findings.map((finding) => card(finding, most, context)),
    );
    root.append(list);
    return () => list.remove();
}
