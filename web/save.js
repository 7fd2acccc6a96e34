// Saves files that the page itself makes: a text or a picture, by the browser. No request is sent for them.

const kept_ms = 60000; // an address of a file, for a browser that prompts for its place

/** A name that every system accepts. @param {string} name @param {string} ending */
export function fileName(name, ending) {
    const plain = name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80);
    return `${plain || "evenkeel"}.${ending}`;
}

/** @param {string} name @param {Blob} blob */
export function saveFile(name, blob) {
    const address = URL.createObjectURL(blob);
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), kept_ms);
}

/** @param {string} name @param {string} text */
export const saveCsv = (name, text) => saveFile(fileName(name, "csv"), new Blob([text], { type: "text/csv;charset=utf-8" }));
