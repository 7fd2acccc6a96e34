// The tab that compares two runs, A and B: their facts with differences, both timelines on one axis, bars of equal id
// beside each other on one scale, and tables of equal id joined by their first column. Better or worse is shown by a
// word and a sign, not only by colour.

import { element } from "../dom.js";
import { firstView } from "../state.js";
import { timelinePair } from "../timeline/tab.js";
import { showBars } from "./bars.js";
import { longestOf } from "./bars_parts.js";
import { factTable, ONLY_A, ONLY_B } from "./compare_facts.js";
import { joinedTable } from "./compare_tables.js";
import { showLines } from "./lines.js";
import { choice, makePart } from "./part.js";
import { showPage } from "./section.js";
import { key, say } from "../texts.js";

/** The number of run B: the selected one, else the first that is not A. */
function otherRun(context) {
    const { compare, run } = context.state.view;
    const runs = context.document.runs;
    return compare !== null && compare !== run && runs[compare]
        ? compare
        : runs.findIndex(({ kinds }, number) => number !== run && !kinds.includes("layout"));
}

/** The selection of both runs, and a button that swaps them. */
function chooser(context, other) {
    const { state, document } = context;
    const runs = document.runs.flatMap(({ name, kinds }, number) =>
        kinds.includes("layout") ? [] : [/** @type {[string, string]} */ ([String(number), name])],
    );
    const { run } = state.view;
    const open = (a, b) => {
        const { begin, end, top, selected, range, pointer, marks, folded } = firstView(document, a);
        state.set(
            a === run
                ? { compare: b }
                : { run: a, compare: b, begin, end, top, selected, range, pointer, marks, folded },
        );
    };
    // A run chosen twice is swapped, so that A and B are never the same.
    return element(
        "div",
        { class: "chooser" },
        choice("A", runs, String(run), (value) => open(Number(value), Number(value) === other ? run : other)),
        choice("B", runs, String(other), (value) =>
            Number(value) === run ? open(other, run) : open(run, Number(value)),
        ),
        element("button", { type: "button", onclick: () => open(other, run) }, say("Swap A and B")),
        element("span", { class: "quiet" }, say("Differences go from A to B.")),
    );
}

/** Parts of equal id in the sections of equal name: [of A, of B]; and the titles of parts that only one has. */
function pairsOf(a, b, kind) {
    const known = (run) =>
        run.sections.flatMap((section) =>
            (section[kind] ?? []).map((part) => ({ key: `${section.name}/${part.id}`, part })),
        );
    const [all_a, all_b] = [known(a), known(b)];
    const pairs = all_a
        .map(({ key, part }) => [part, all_b.find((other) => other.key === key)?.part])
        .filter(([, other]) => other);
    const alone = (list, others, where) =>
        list
            .filter(({ key }) => !others.some((other) => other.key === key))
            .map(({ part }) => `${part.title}: ${where}`);
    return { pairs, alone: [...alone(all_a, all_b, say(ONLY_A)), ...alone(all_b, all_a, say(ONLY_B))] };
}

function beside(page, title, show_a, show_b) {
    const holder = element("div", { class: "beside", role: "group", "aria-label": title });
    const [left, right] = [element("div"), element("div")];
    holder.append(left, right);
    page.append(holder);
    return [show_a(left), show_b(right)];
}

/** Both timelines, where both runs have one. A promise that comes too late is discarded at once. */
function showTimelines(page, context, other) {
    if (!context.run.timeline || !context.document.runs[other].timeline) {
        if (context.document.served)
            page.append(
                element(
                    "ul",
                    { class: "notes" },
                    element(
                        "li",
                        {},
                        say(
                            "The server has the events of one run: both timelines need servers of their own, or a page that `evenkeel view A --against B` writes without --serve.",
                        ),
                    ),
                ),
            );
        return () => {};
    }
    const { part, body } = makePart(say("Timelines"));
    const holder = element("div", { class: "timeline-pair" });
    page.append(part);
    let end = () => part.remove();
    let ended = false;
    Promise.resolve(context.of(other)).then((of_other) => {
        if (ended || context.source === null || of_other.source === null) return;
        body.append(holder);
        end = timelinePair(holder, context, of_other);
    });
    return () => {
        ended = true;
        end();
    };
}

/** @type {import("../types").Tab} */
export const compareTab = {
    id: "compare",
    title: key("Compare"),
    present: ({ document, run }) =>
        !run.kinds.includes("layout") && document.runs.filter(({ kinds }) => !kinds.includes("layout")).length > 1,
    show(root, context) {
        const { state } = context;
        const build = (page) => {
            const other = otherRun(context);
            const [a, b] = [context.run, context.document.runs[other]];
            const [bars, lines, tables] = ["bars", "lines", "tables"].map((kind) => pairsOf(a, b, kind));
            page.append(chooser(context, other), factTable(a, b, context.format));
            const ends = [
                showTimelines(page, context, other),
                ...bars.pairs.flatMap(([left, right]) => {
                    const longest = Math.max(longestOf(left), longestOf(right), left.limit ?? 0, right.limit ?? 0);
                    return beside(
                        page,
                        left.title,
                        (holder) => showBars(holder, left, context, { longest, title: `${left.title}, A` }),
                        (holder) => showBars(holder, right, context, { longest, title: `${right.title}, B` }),
                    );
                }),
                ...lines.pairs.flatMap(([left, right]) =>
                    beside(
                        page,
                        left.title,
                        (holder) => showLines(holder, { ...left, title: `${left.title}, A` }, context),
                        (holder) => showLines(holder, { ...right, title: `${right.title}, B` }, context),
                    ),
                ),
                ...tables.pairs.map(([left, right]) => joinedTable(page, left, right, context)),
            ];
            const alone = [bars, lines, tables].flatMap((kind) => kind.alone);
            if (alone.length > 0)
                page.append(
                    element("h2", {}, say("Without a counterpart")),
                    element(
                        "ul",
                        { class: "notes" },
                        alone.map((text) => element("li", {}, text)),
                    ),
                );
            return ends;
        };
        let end = showPage(root, context, build);
        const off = state.on(["compare"], (changed) => {
            if (changed.has("run")) return;
            end();
            end = showPage(root, context, build);
            // The controls are built again: the focus returns to the used one.
            /** @type {HTMLElement | undefined} */ (root.querySelectorAll(".chooser select")[1])?.focus();
        });
        return () => {
            off();
            end();
        };
    },
};
