# Marks up options and documents in the text of help and of the options' tables, for option_docs.awk and man_page.awk.

# Options, and - for a stream, as code; documents as links. Existing code is unchanged.
function mark(text,    word, n, i, w, open, code, ticks, out) {
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        w = word[i]
        ticks = gsub(/`/, "`", w)
        open = !code && sub(/^\(/, "", w) ? "(" : ""
        if (!code && match(w, /^(--?[A-Za-z][A-Za-z0-9_-]*|-)/) && substr(w, RLENGTH + 1) ~ /^([,;:.)'].*)?$/)
            w = "`" substr(w, 1, RLENGTH) "`" substr(w, RLENGTH + 1)
        else if (match(w, /^docs\/[a-z-]+\.md/))
            w = "[" substr(w, 6, RLENGTH - 5) "](" substr(w, 6, RLENGTH - 5) ")" substr(w, RLENGTH + 1)
        code = (code + ticks) % 2
        out = out (i > 1 ? " " : "") open w
    }
    return out
}
