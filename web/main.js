// Where the page begins: reads the document and shows its title.

import { tabsOf } from "./tabs.js";

async function readDocument() {
    const text = document.getElementById("document")?.textContent ?? "";
    return text.trim() === "" ? (await fetch("document")).json() : JSON.parse(text);
}

readDocument().then((doc) => {
    document.title = doc.title;
    const page = document.getElementById("page");
    const title = document.createElement("h1");
    title.textContent = doc.title;
    page?.replaceChildren(title);
    void tabsOf;
});
