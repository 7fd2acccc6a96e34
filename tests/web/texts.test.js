// Tests the texts of languages: every text of the page has a translation in each language, also those that C writes
// into documents, and texts of documents are found in them with their values.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { fromBase85 } from "../../web/load_texts.js";
import { addTexts, firstLanguage, key, language, languages, say, setLanguage, told, toldSentence } from "../../web/texts.js";
import { tellDocument } from "../../web/document_texts.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path) => readFileSync(join(root, path), "utf8");
const catalogues = Object.fromEntries(Object.keys(languages).filter((id) => id !== "en").map((id) => [id, JSON.parse(read(`web/texts_${id}.json`))]));
const zh = catalogues.zh;
addTexts("zh", { page: zh.page, document: { ...zh.document, ...zh.composed } });

/** Files below a folder with this ending of the name. */
function below(folder, end) {
    return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? below(join(folder, entry.name), end) : entry.name.endsWith(end) ? [join(folder, entry.name)] : []).sort();
}

/** The texts of a JavaScript source, each with the code before it: of a template its pieces with ${} between. */
function literals(source) {
    const found = [];
    const stack = []; // of templates that are open, how many braces are
    let code = "";
    let template = null;
    for (let at = 0; at < source.length; ) {
        const here = source.slice(at);
        const inside = template !== null && stack.at(-1) === 0;
        if (inside) {
            const [piece] = /^(?:[^`\\$]|\\[^]|\$(?!\{))*/.exec(here);
            template.text += piece;
            at += piece.length;
            if (source[at] === "`") {
                found.push({ text: template.text, before: template.before });
                template = template.outer;
                stack.pop();
                code += "``";
                at++;
            } else {
                template.text += "${}";
                stack[stack.length - 1] = 1;
                at += 2;
            }
            continue;
        }
        const comment = /^(?:\/\/[^\n]*|\/\*[^]*?\*\/)/.exec(here)?.[0];
        const string = /^"(?:[^"\\\n]|\\.)*"/.exec(here)?.[0];
        const pattern = /[(,=:[!&|?{}\n]\s*$|return\s*$/.test(code.slice(-40)) ? /^\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/.exec(here)?.[0] : undefined;
        if (comment) at += comment.length;
        else if (string) {
            found.push({ text: JSON.parse(string), before: code.slice(-60), after: source.slice(at + string.length, at + string.length + 2) });
            code += '""';
            at += string.length;
        } else if (pattern) {
            code += "//";
            at += pattern.length;
        } else if (source[at] === "`") {
            template = { text: "", before: code.slice(-60), outer: template };
            stack.push(0);
            at++;
        } else {
            if (stack.length > 0) stack[stack.length - 1] += source[at] === "{" ? 1 : source[at] === "}" ? -1 : 0;
            code += source[at++];
        }
    }
    return { found, code };
}

const modules = below("web", ".js").map((path) => ({ path, ...literals(read(path)) }));
const is_key = ({ before }) => /(?:^|[^\w.])(?:say|key)\(\s*$/.test(before);
const keys = new Set(modules.flatMap(({ found }) => found.filter(is_key).map(({ text }) => text)));

test("the scanner finds texts in strings, templates and templates within them, and none in comments and patterns", () => {
    const { found } = literals('f("a b"); // "c"\nconst r = /"[`"]/; g(`x ${h(`y ${1}`, "z")} w`); /* `q` */ say("k")');
    assert.deepEqual(found.map(({ text }) => text), ["a b", "y ${}", "z", "x ${} w", "k"]);
    assert.ok(is_key(found.at(-1)) && !is_key(found[0]));
});

test("every text that the page says has one in each language, and no language has others", () => {
    assert.ok(keys.size > 300);
    for (const [id, { page }] of Object.entries(catalogues)) {
        assert.deepEqual([...keys].filter((english) => !Object.hasOwn(page, english)), [], `keys that texts_${id}.json lacks`);
        assert.deepEqual(Object.keys(page).filter((english) => !keys.has(english)), [], `keys of texts_${id}.json that nothing says`);
    }
});

test("what say() gets is a key, or one that was marked as such where it is listed", () => {
    const listed = new Set(["text", "title", "name", "tab.title", "ONLY_A", "ONLY_B", "CHOICES[kind].title", "CHOICES[kind].all", "VERDICTS[change.verdict]"]);
    for (const { path, code } of modules) {
        if (path.endsWith("web/texts.js")) continue;
        for (const [, got] of code.matchAll(/[^\w.]say\(\s*([^"\s][^),]*)/g)) assert.ok(listed.has(got.trim()), `${path}: say(${got}) is no key`);
    }
});

/** Texts of the page's modules that users do not read: names of classes, fonts, addresses, text written into files. */
const unread = [
    /^[\w-]+( [\w-]+)* ?\$\{\}$|^(panel whole|bar-total over|legend many|curve names|number (time|count)|th button|head style|from to|rank stage)$/,
    /^[.#[\w:>(~]*[.#>[:][^]*$/, /px|rgb\(|translate|url\(#|linear-gradient|calc\(|\$\{\}~|DejaVu/, /^<!doctype|^text\{|<meta|default-src/,
    /^(all computing|all communication|communication not overlapped|memory set|communication task|data loading)$/, // a document's types, translated where they are shown
    /^(\(anonymous namespace|evenkeel view|ResizeObserver loop|ek-view|input, select, textarea, dialog)/,
];
test("no sentence of the page stands outside of say()", () => {
    const bare = [];
    for (const { path, found } of modules) {
        for (const one of found) {
            if (is_key(one) || !/[A-Za-z]{2,}[,;:]? [a-z]{2,}/.test(one.text) || unread.some((kind) => kind.test(one.text))) continue;
            // Classes, roles and names of members in a map are no texts either.
            if (/(?:class|role|kind): $|(?:matches|closest|querySelector(?:All)?|Media|setAttribute|put|toggle|add)\($/.test(one.before)) continue;
            if (path.endsWith("load_texts.js")) continue; // reports that it has no other language
            bare.push(`${path}: ${one.text}`);
        }
    }
    assert.deepEqual(bare, [], "said to readers of English alone");
});

const holes = (text) => [...text.matchAll(/\{=?(\d)\}/g)].map(([, at]) => at);
test("texts have no values that their keys lack, and are in the language", () => {
    for (const { page, document, composed } of Object.values(catalogues)) {
        for (const [english, text] of [page, document, composed].flatMap(Object.entries)) {
            const known = new Set(holes(english));
            assert.ok(holes(text).every((at) => known.has(at)), `${english}: ${text}`);
            assert.ok(text !== "", english);
        }
        for (const [english, text] of Object.entries(page)) {
            assert.equal(new Set(holes(text)).size, new Set(holes(english)).size, `values of ${english}`);
            assert.ok(!text.includes("{="), `${english}: what the page says has values that are said already`);
        }
    }
});

/** The texts of a C source, literals beside each other as one; those of calls that report errors left out, unless `all`. */
function literalsOfC(source, all = false) {
    let code = source.replace(/"(?:[^"\\\n]|\\.)*"|\/\*[^]*?\*\/|\/\/[^\n]*/g, (all) => (all[0] === '"' ? all : " "));
    code = code.replace(/^[ \t]*#[ \t]*include.*$/gm, "");
    for (let from = 0; !all; ) {
        const call = /\b(?:ek__fail|ek__fail_at|assert|strn?cmp|strstr|ek__stream_(?:object|list))\(/g;
        call.lastIndex = from;
        const found = call.exec(code);
        if (found === null) break;
        let [at, depth, quoted] = [call.lastIndex, 1, false];
        for (; at < code.length && depth > 0; at++) {
            if (quoted && code[at] === "\\") at++;
            else if (code[at] === '"') quoted = !quoted;
            else if (!quoted) depth += code[at] === "(" ? 1 : code[at] === ")" ? -1 : 0;
        }
        code = code.slice(0, found.index) + " " + code.slice(at);
        from = found.index;
    }
    const one = '"(?:[^"\\\\\\n]|\\\\.)*"';
    return [...code.matchAll(new RegExp(`${one}(?:\\s*(?:PRI\\w+\\s*)?${one}|\\s*PRI\\w+)*`, "g"))].map(([all]) =>
        [...all.matchAll(/"((?:[^"\\\n]|\\.)*)"|PRI\w+/g)].map(([, text]) => text ?? "d").join("")
            .replace(/((?:\\x[0-9A-Fa-f]{2})+)/g, (bytes) => Buffer.from(bytes.replaceAll("\\x", ""), "hex").toString())
            .replace(/\\(["\\n])/g, (_, letter) => (letter === "n" ? "\n" : letter)));
}

/** A format of printf as a key: consecutive values are one, since their boundary is unknown. */
function keyOf(format) {
    let n = 0;
    return format.replace(/(?:%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t)?[diuoxXfFeEgGcsp])+|%%/g, (all) => (all === "%%" ? "%" : `{${n++}}`));
}

test("formats become keys", () => {
    assert.equal(keyOf("%s: %.2f of %lld ms, %.1f %%%s%s."), "{0}: {1} of {2} ms, {3} %{4}.");
    assert.deepEqual(literalsOfC('f("a %" PRId64 " b"\n "c"); /* "d" */ ek__fail(err, "no (\\") %s", x); g("e\\n")'), ["a %d bc", "e\n"]);
});

/** Texts that C sources write into documents: folders with texts that users see. */
const told_folders = ["src/view", "src/diagnose", "src/trace/compare", "src/trace/analyse", "src/estimate", "src/compute"];
/** Texts there that are no sentences for people: settings and commands to paste, JSON, names of C's types; parts of
 *  sentences that are among the composed keys as a whole; text only for a terminal. */
const not_told = [
    /^(?:--|,?\{?"|\[|gc\.|unset |torch|shard\(|callbacks:|nvidia|pin_memory=|evenkeel (?:diagnose|trace|view)\b|model\.|parallel|recompute_config|mindspore\.|leave out --|profiler level 1 with)/,
    /^(?:long int|(?:un)?signed char|trying measures|flash attention|To get readable files, )$/,
    /^(?:Based on: | of group |at (?:least|most) |, (?:of )?an all-to-all| and other kernels|(?:is|are) markedly|, none whole)/,
    /^(?:; (?:begin to begin|its largest block|\{0\} own length)| of (?:rank|trace) \{0\})/,
];
test("what C writes into documents is in every language, with the same values", () => {
    for (const [id, { document, composed }] of Object.entries(catalogues)) {
        const missing = [];
        for (const path of told_folders.flatMap((folder) => below(folder, ".c"))) {
            for (const text of literalsOfC(read(path)).map(keyOf)) {
                if (Object.hasOwn(document, text) || Object.hasOwn(composed, text)) continue;
                if (/[A-Za-z]{2,}[,;]? [a-z]{2,}/.test(text.replace(/\{\d\}/g, "")) && !not_told.some((kind) => kind.test(text))) missing.push(`${path}: ${text}`);
            }
        }
        assert.deepEqual(missing, [], `sentences that texts_${id}.json lacks`);
    }
});

test("titles of the figures' columns and tables are in every language", () => {
    for (const { document, composed } of Object.values(catalogues)) {
        const missing = [];
        for (const path of below("src/figures", ".c")) {
            const source = read(path);
            const titles = [...source.matchAll(/\bPAGE\(\s*\d+\s*,(?:\s*"[^"]*"\s*,)?\s*"([^"]*)"/g), ...source.matchAll(/\bWORDS\("([^"]*)", "([^"]*)"\)/g)].flatMap(([, ...all]) => all);
            for (const rows of source.matchAll(/ek__rows[^;=]*= *\{([^]*?)\};/g)) {
                for (const text of literalsOfC(rows[1])) if (/[A-Z].* /.test(text)) titles.push(text);
            }
            for (const title of titles) {
                if (/[a-z]{2,}.* [a-z]/.test(title) && !Object.hasOwn(document, title) && !Object.hasOwn(composed, title)) missing.push(`${path}: ${title}`);
            }
        }
        assert.deepEqual(missing, []);
    }
});

test("every key of what documents say is written by C; others are composed of its pieces", () => {
    const written = new Set([...below("src", ".c"), ...below("src", ".h"), ...below("cli", ".c")].flatMap((path) => literalsOfC(read(path), true).map(keyOf)));
    for (const { document } of Object.values(catalogues)) assert.deepEqual(Object.keys(document).filter((text) => !written.has(text)), []);
});

test("English is said as it stands, another language with the same values, an unknown one is English", () => {
    setLanguage("en");
    assert.equal(say("{0} of {1} rows", 3, 7), "3 of 7 rows");
    assert.equal(told("The search was stopped before its end."), "The search was stopped before its end.");
    setLanguage("zh");
    assert.equal(language(), "zh");
    assert.equal(say("{0} of {1} rows", 3, 7), "7 行中的 3 行");
    assert.equal(say("{0} rows", "$&{1}"), "$&{1} 行");
    assert.equal(say(key("no such key")), "no such key");
    setLanguage("xx");
    assert.equal(language(), "en");
    assert.equal(firstLanguage("xx", "", "zh"), "zh");
    assert.equal(firstLanguage("__proto__", "toString", ""), "en");
});

test("sentences of documents are told with their values, and sentences within them", () => {
    setLanguage("zh");
    assert.equal(told("Rank 3 (stage 1): the device is idle for 0.60 ms of a step while the host waits for data; 1 other rank likewise."),
        "Rank 3（阶段 1）：主机等待数据时，设备每步空闲 0.60 ms；另有 1 张卡相同。");
    assert.equal(told("Shares refer to the diagnosed step: mean of 2 steps of rank 0, the longest of 2 ranks; begin to begin, 1 without a follower at least as long."),
        "占比以诊断的单步耗时为准：rank 0 的 2 步平均，为 2 张卡中最长；按步起点之间计，1 步之后没有同样长的步。");
    assert.equal(told("stage 12"), "阶段 12");
    assert.equal(told("36 % of the step is based on assumed figures: attention (8 %), memory-bound operators (18 %)"),
        "单步的 36 % 依据假设值：注意力（8 %），访存类算子（18 %）");
});

test("the points of numbers and names end no sentence", () => {
    setLanguage("zh");
    const ends = (split, place) => `Rank 0: 101.96 ms of a step, 65.4 %, are spent in hcom_allReduce not overlapped with computing (4 calls a step, ` +
        `105.99 ms in total): ${split}.${place}`;
    for (const split of ["waits for other ranks 98.28 ms, transfer 3.68 ms", "waits for other ranks at least 13.42 ms, transfer at most 68.10 ms; more of it may wait for ranks without a trace",
        "the part that waits for other ranks is unknown; determined by the traces of all ranks of the group",
        "the part that waits for other ranks is unknown; determined by communication.json (profiler level 1 or above) or the traces of all ranks of the group"])
        for (const place of ["", " Its longest waits are for the rank in place 5 of the group: add the trace of that rank."]) {
            const text = told(ends(split, place));
            assert.doesNotMatch(text, /[a-z]{2,} [a-z]{2,} [a-z]{2,}/, text);
            for (const number of split.match(/\d+\.\d+/g) ?? []) assert.ok(text.includes(number), text);
        }
    setLanguage("en");
});

test("data and sentences that are not known stay as they are, as a whole", () => {
    setLanguage("zh");
    for (const text of ["hcom_allReduce__100_0_1", "MatMul, Add: of", "a.b.c: d", "no key of this file knows what it says of a thing, and nothing else does",
        "rank 0: no key of this file knows what it says", "export A=1, start again for one step, then give all of it", "Default/network-Model/1-Layer", ""]) {
        assert.equal(told(text), text);
    }
    for (const value of [null, undefined, 3]) assert.equal(told(value), value);
});

test("a setting is never touched, a sentence in its place is told", () => {
    setLanguage("zh");
    for (const setting of ["activation_checkpoint.mode: none", "recompute: full, select", "--recompute-granularity full", "parallel_config: data"]) assert.equal(toldSentence(setting), setting);
    assert.equal(toldSentence("there are no experts"), "没有专家");
});

test("a document's sentences change where they stand, and come back", () => {
    const finding = { id: "x", title: "The device is idle", basis: "measured", topic: null, change: "Move layers between the stages.", rests_on: null, caution: null,
        setting: "measured", evidence: [{ text: "stage 0" }] };
    const doc = /** @type {any} */ ({ runs: [{ name: "measured", facts: [{ label: "step time", text: "measured", basis: null }], notes: ["The search was stopped before its end."],
        sections: [{ name: "findings", findings: [finding], tables: [{ id: "t", title: "Steps", columns: [{ name: "step", title: "Step" }], rows: [["measured"]] }] }] }] });
    const before = structuredClone(doc);
    setLanguage("zh");
    tellDocument(doc);
    assert.equal(finding.title, "设备空闲");
    assert.deepEqual([finding.setting, doc.runs[0].name, doc.runs[0].sections[0].tables[0].rows[0][0]], ["measured", "measured", "measured"]);
    assert.equal(doc.runs[0].sections[0].tables[0].columns[0].title, "步");
    doc.runs[0].sections.push({ name: "more", notes: ["The search was stopped before its end."] });
    tellDocument(doc, true);
    assert.notEqual(doc.runs[0].sections[1].notes[0], "The search was stopped before its end.");
    setLanguage("en");
    tellDocument(doc);
    doc.runs[0].sections.pop();
    assert.deepEqual(doc, before);
});

test("base 85 gives back its bytes, whatever their number", () => {
    assert.deepEqual([...fromBase85("")], []);
    // As Python's base64.b85encode writes them, '<' as ','.
    assert.deepEqual([...fromBase85("009C61O)~M")], [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual([...fromBase85("{{")], [255]);
});

test("the command takes the languages that the page has, and every file of texts is one of them", () => {
    const [, words] = /"lang",[\s\\]*"([^"]*)"/.exec(read("cli/page.h"));
    assert.deepEqual(words.split("|"), Object.keys(languages));
    const files = readdirSync(join(root, "web")).map((name) => /^texts_(\w+)\.json$/.exec(name)?.[1]).filter(Boolean);
    assert.deepEqual(["en", ...files].sort(), Object.keys(languages).sort());
});
