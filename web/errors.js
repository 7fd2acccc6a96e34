// Errors are shown at the top of the page, once, in words; the rest of the page goes on.

import { element } from "./dom.js";
import { say } from "./texts.js";

const most = 4; // messages at a time

/** @param {unknown} error */
export function messageOf(error) {
    return error instanceof Error && error.message !== "" ? error.message : String(error);
}

/**
 * Show it at the top of the page.
 * @param {string} message
 */
export function showError(message) {
    const shown = [...document.querySelectorAll(".banner span")].map((node) => node.textContent);
    if (shown.includes(message) || shown.length >= most) return;
    const close = element("button", { "aria-label": say("Dismiss this message"), onclick: () => banner.remove() }, say("Dismiss"));
    const banner = element("div", { class: "banner", role: "alert" }, element("span", {}, message), close);
    document.getElementById("page")?.before(banner);
}

/** Uncaught errors are shown too. */
export function watchErrors() {
    window.addEventListener("error", (event) => {
        // A layout that needs two rounds is not an error.
        if (!event.message.startsWith("ResizeObserver loop")) showError(say("Something in this page failed: {0}", event.message));
    });
    window.addEventListener("unhandledrejection", (event) => {
        if (event.reason instanceof Error && event.reason.name === "AbortError") return;
        showError(say("Something in this page failed: {0}", messageOf(event.reason)));
    });
}
