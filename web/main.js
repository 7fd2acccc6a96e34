// The start of the page: loads the document, builds the parts around the tabs, and shows the tab that the view names. A
// tab is built when it is opened and removed when it is left; an error in one is shown in its place.

import { chunksOf } from "./block_name.js";
import { makeColors } from "./colors.js";
import { tellDocument } from "./document_texts.js";
import { append, element, fill } from "./dom.js";
import { messageOf, showError, watchErrors } from "./errors.js";
import { format } from "./format.js";
import { showFacts, showHeader } from "./header.js";
import { showHelp } from "./help.js";
import { loadDocument } from "./load.js";
import { loadTexts } from "./load_texts.js";
import { showDetails } from "./side/details.js";
import { showEvents } from "./side/events.js";
import { showLegend } from "./side/legend.js";
import { showMarks } from "./side/marks.js";
import { showMatches } from "./side/matches.js";
import { showPicture } from "./side/picture.js";
import { showSums } from "./side/sums.js";
import { showTools } from "./side/tools.js";
import { openEmbedded } from "./source_embedded.js";
import { Gone, makeClient, makeServed } from "./source_served.js";
import { decodeView, firstView, makeState } from "./state.js";
import { firstTab, tabsOf } from "./tabs.js";
import { firstLanguage, keepLanguage, keptLanguage, language, say, setLanguage, told } from "./texts.js";

/** @typedef {import("./types").Document} Document */
/** @typedef {import("./types").Context} Context */
/** @typedef {import("./types").Tab} Tab */

/** Members of a view that belong to the page, not to the run that is shown. @type {(keyof import("./types").View)[]} */
const of_page = ["tab", "theme", "lang", "arrows", "query", "filter"];

/** A tab's name is any text; an id has no spaces. @param {Tab} tab */
const buttonId = (tab) => `tab-${tab.id.replace(/[^\w-]+/g, "-")}`;

/** @param {Document} doc */
function page(doc) {
    const tabIn = (/** @type {string} */ address) => new URLSearchParams(address.replace(/^#/, "")).get("tab");
    const state = makeState(doc, location.hash, (hash) => {
        const address = `${location.pathname}${location.search}${hash === "" ? "" : `#${hash}`}`;
        // Every tab is a step for the browser's Back; changes within one are not.
        if (tabIn(hash) === tabIn(location.hash)) history.replaceState(null, "", address);
        else history.pushState(null, "", address);
    });
    const system = matchMedia("(prefers-color-scheme: dark)");
    /** @type {Map<number, Promise<Context>>} by run */
    const contexts = new Map();
    const client = makeClient("", showError);
    /** @type {ReturnType<typeof makeColors>[]} of them */
    const palettes = [];
    /** @type {(() => void)[]} */
    let ends = [];
    /** @type {{ focus(): void } | null} */
    let tools = null;
    let side_closed = false; // for as long as the page is open
    /** @type {Context | null} */
    let shown = null;
    /** @type {Tab[]} */
    let tabs = [];
    let panel = element("div"); // of the tab
    let endTab = () => {};
    let endHeader = () => {};
    /** @type {Tab | undefined} */
    let first; // opens where the address names none

    const header = element("header", { class: "top" });
    const facts = element("div", { class: "about" });
    const tablist = element("div", { class: "tabs", role: "tablist", onkeydown: walkTabs });
    const main = element("main", { class: "main" });

    const dark = () => (state.view.theme === "auto" ? system.matches : state.view.theme === "dark");
    function paint() {
        document.documentElement.style.colorScheme = dark() ? "dark" : "light";
        for (const colors of palettes) colors.setDark(dark());
    }

    /** @param {number} number @returns {Promise<Context>} */
    function contextOf(number) {
        const known = contexts.get(number) ?? openContext(number);
        contexts.set(number, known);
        return known;
    }

    /** Requests one run's events from the server. @param {number} number @returns {typeof client} */
    const clientOf = (number) => (number === 0 ? client : (path, query, signal) => client(path, { ...query, run: number }, signal));

    /** @param {number} number @returns {Promise<Context>} */
    async function openContext(number) {
        const run = doc.runs[number];
        const colors = makeColors(doc.colors, (name) => context.source?.name(name) ?? "", chunksOf(run.timeline));
        colors.setDark(dark());
        palettes.push(colors);
        /** @type {Context} */
        const context = { document: doc, state, run, source: null, colors, format, chart: { current: null }, of: contextOf };
        if (run.timeline === null) return context;
        const failed = (/** @type {unknown} */ error) => {
            if (!(error instanceof Gone)) showError(messageOf(error));
        };
        try {
            context.source = doc.served
                ? makeServed(run.timeline, clientOf(number), failed)
                : await openEmbedded(run.timeline);
            await context.source.complete?.(run.timeline);
        } catch (error) {
            showError(say("The timeline of {0} cannot be shown: {1}", run.name, messageOf(error)));
        }
        return context;
    }

    const wantedLanguage = () => firstLanguage(state.view.lang, keptLanguage(), doc.lang ?? "");

    /** Sets the language of the view, the reader or the document, and translates the document's texts. */
    function speak() {
        setLanguage(wantedLanguage());
        document.documentElement.lang = language();
        tablist.setAttribute("aria-label", say("Views"));
        document.title = told(doc.title);
        tellDocument(doc);
    }

    /** Builds the page again in another language; open parts, scroll position and focus stay. */
    async function speakAnew() {
        const before = language();
        if (state.view.lang !== "") keepLanguage(state.view.lang);
        try {
            await loadTexts(wantedLanguage());
        } catch (error) {
            showError(messageOf(error));
        }
        speak();
        if (language() === before) return;
        const at = [...header.querySelectorAll("select")].findIndex((select) => select === document.activeElement);
        const { scrollTop, scrollLeft } = panel;
        showTop();
        if (at >= 0) header.querySelectorAll("select")[at].focus();
        document.querySelectorAll(".banner").forEach((banner) => banner.remove());
        if (shown === null) return;
        showFacts(facts, shown.run, format);
        showTab();
        panel.scrollTo(scrollLeft, scrollTop);
    }

    function showTop() {
        endHeader();
        endHeader = showHeader(header, doc, state, openRun);
    }

    function clear() {
        for (const end of [endTab, ...ends]) {
            try {
                end();
            } catch (error) {
                showError(messageOf(error));
            }
        }
        ends = [];
        endTab = () => {};
        tools = null;
        fill(main);
    }

    /**
     * The timeline with the parts above and beside it.
     * @param {Context & { source: import("./types").Source }} context @param {HTMLElement} panel
     */
    function aroundTimeline(context, panel) {
        const groups = element("div", { class: "groups" });
        const line = element("div", { class: "tools" }, groups);
        const made = showTools(groups, context);
        tools = made;
        ends.push(() => made.end());
        const parts = [showDetails, showMatches, showSums, showEvents, showMarks, showLegend, showPicture].map((show) => {
            const section = element("section");
            ends.push(show(section, context));
            return section;
        });
        const side = element("aside", { class: "side", id: "side", "aria-label": say("Selection"), hidden: side_closed }, parts);
        const toggle = element("button", { class: "to-side", "aria-controls": "side", onclick: () => showSide(side_closed) });
        const showSide = (/** @type {boolean} */ open) => {
            side_closed = !open;
            side.hidden = side_closed;
            toggle.setAttribute("aria-expanded", String(open));
            toggle.textContent = open ? say("Hide side panel") : say("Show side panel");
        };
        showSide(!side_closed);
        append(line, toggle);
        append(main, line, panel, side);
    }

    const currentTab = () => tabs.find(({ id }) => id === state.view.tab) ?? first;

    /** The row of tabs; the focus stays where it was. */
    function listTabs() {
        const focused = tablist.contains(document.activeElement);
        fill(tablist, tabs.map((tab) => {
            const selected = tab === currentTab();
            return element("button", {
                id: buttonId(tab), role: "tab", "data-tab": tab.id, "aria-controls": "panel", "aria-selected": String(selected),
                tabindex: selected ? 0 : -1, onclick: () => state.set({ tab: tab.id }),
            }, say(tab.title));
        }));
        if (focused) /** @type {HTMLElement | null} */ (tablist.querySelector("[aria-selected=true]"))?.focus();
    }

    function showTab() {
        if (shown === null) return;
        clear();
        const context = shown;
        const tab = currentTab();
        listTabs();
        if (tab === undefined) {
            fill(main, element("p", { class: "starting" }, say("This run has nothing to show.")));
            return;
        }
        const timeline = tab.id === "timeline";
        panel = element("div", {
            class: timeline ? "panel whole" : "panel", id: "panel", role: "tabpanel", "aria-labelledby": buttonId(tab),
        });
        const { source } = context;
        if (timeline && source !== null) aroundTimeline({ ...context, source }, panel);
        else append(main, panel);
        drawTab(tab, context);
    }

    /** Builds the content of the tab again; the parts around a timeline stay, and the focus too. @param {Tab} tab @param {Context} context */
    function drawTab(tab, context) {
        const focused = panel.contains(document.activeElement);
        try {
            endTab();
            endTab = tab.show(panel, context);
        } catch (error) {
            endTab = () => {};
            fill(panel, element("p", { class: "empty" }, say("This tab could not be drawn: {0}", messageOf(error))));
            console.error(error);
        }
        if (focused) /** @type {HTMLElement | null} */ (panel.querySelector("[tabindex='0']"))?.focus();
    }

    /** @param {KeyboardEvent} event */
    function walkTabs(event) {
        const at = tabs.findIndex((tab) => tab === currentTab());
        const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        state.set({ tab: tabs[(to + tabs.length) % tabs.length].id });
    }

    /** Shows the view: its run, and of that its tab. */
    async function showRun() {
        const number = state.view.run;
        const context = await contextOf(number);
        if (state.view.run !== number) return;
        shown = context;
        showFacts(facts, context.run, format);
        tabs = tabsOf(context);
        first = firstTab(tabs, context.run);
        showTab();
    }

    /** @param {number} number */
    function openRun(number) {
        const kept = Object.fromEntries(of_page.map((member) => [member, state.view[member]]));
        state.set({ ...firstView(doc, number), ...kept });
    }

    /** @param {KeyboardEvent} event */
    function pressed(event) {
        const target = /** @type {HTMLElement} */ (event.target);
        const writing = target.closest?.("input, select, textarea, dialog") !== null;
        if (event.defaultPrevented || writing || event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === "?") showHelp();
        else if (event.key === "/" && tools !== null) tools.focus();
        else return;
        event.preventDefault();
    }

    state.on(["theme"], paint);
    state.on(["lang"], speakAnew);
    state.on(["run"], showRun);
    state.on(["tab"], (changed) => {
        if (!changed.has("run")) showTab();
    });
    for (const media of [system, matchMedia("(forced-colors: active)")]) {
        media.addEventListener("change", () => state.set({ theme: state.view.theme }));
    }
    window.addEventListener("hashchange", () => state.set(decodeView(location.hash, doc)));
    window.addEventListener("keydown", pressed);

    paint();
    speak();
    const root = /** @type {HTMLElement} */ (document.getElementById("page"));
    fill(root, header, facts, tablist, main);
    showTop();
    root.removeAttribute("aria-busy");
    void showRun();

    return {
        /**
         * The rest of a served document: facts and sections, and its data of timelines that are shown already. The
         * timeline objects stay the same for sources and the view.
         * @param {Document} all
         */
        async complete(all) {
            for (const [i, run] of all.runs.entries()) {
                const opened = await contexts.get(i);
                const timeline = opened?.source ? opened.source.timeline : run.timeline;
                if (i < doc.runs.length) Object.assign(doc.runs[i], run, { timeline });
                else doc.runs.push(run);
                if (opened?.source && run.timeline !== null) await opened.source.complete?.(run.timeline);
            }
            tellDocument(doc, true);
            showTop();
            if (shown === null) return;
            const before = currentTab();
            showFacts(facts, shown.run, format);
            tabs = tabsOf(shown);
            // Open parts stay open, although more of the run is known now.
            first = before ?? firstTab(tabs, shown.run);
            if (before?.id !== "timeline" || currentTab() !== before) return showTab();
            listTabs();
            drawTab(before, shown);
        },
    };
}

async function start() {
    watchErrors();
    /** @type {ReturnType<typeof page> | null} */
    let opened = null;
    /** @type {Document | null} */
    let early = null;
    const asked = [new URLSearchParams(location.hash.slice(1)).get("lang") ?? "", keptLanguage()];
    const speak = async (/** @type {string[]} */ ...wanted) => {
        const id = firstLanguage(...wanted);
        await loadTexts(id).catch((error) => showError(messageOf(error)));
        setLanguage(id);
    };
    try {
        await speak(...asked);
        const doc = await loadDocument((all) => {
            if (opened === null) early = all;
            else void opened.complete(all);
        }, showError);
        await speak(...asked, doc.lang ?? "");
        opened = page(doc);
        if (early !== null) await opened.complete(early);
    } catch (error) {
        const root = /** @type {HTMLElement} */ (document.getElementById("page"));
        fill(root, element("p", { class: "starting", role: "alert" }, messageOf(error)));
        root.removeAttribute("aria-busy");
        console.error(error);
    }
}

void start();
