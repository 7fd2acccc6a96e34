#!/bin/sh
# Checks the comments of the public headers: prints a line for each public function with an incomplete comment
# (CONTRIBUTING.md, "Rules"), and nothing where all are complete.
#
#   tests/public_docs.sh include/evenkeel/*.h
#
# Each function has its own comment that ends on the line above it. There
#   - a function that returns ek_status names its errors: @return, or EK_ERR_...;
#   - a function that returns ek_status states its cost: O(...), or "Cost: ..." where that is another function's;
#   - a parameter that points at numbers, or that a count follows (`ek_peak *peaks, int n_peaks`), has a @param with its
#     shape in brackets, or "out:" where it is one value; `T out[SIZE]` in the declaration is enough as well.
# The comment that a header opens with states the cost of all other functions, "Unless stated otherwise ... O(1)", and
# whether they may be called from several threads.
export LC_ALL=C
exec awk '
function wrong(what) {
    printf "%s:%d: %s(): %s\n", FILENAME, at, name, what
}

# The text of a @param, up to the next tag; "" without one.
function param_text(of, rest) {
    rest = comment
    while (match(rest, /@param +[A-Za-z_0-9]+/)) {
        tag = substr(rest, RSTART, RLENGTH)
        sub(/@param +/, "", tag)
        rest = substr(rest, RSTART + RLENGTH)
        if (tag == of) {
            sub(/@(param|return).*/, "", rest)
            return rest " "
        }
    }
    return ""
}

# Is a parameter the number of items of the one before it, which is called `of`?
function is_count(text, of) {
    sub(/^ *(int|long|size_t|int64_t) /, "", text)
    sub(/ *$/, "", text)
    return text == "n" || index(text, "n_" of) == 1
}

function check_params(list,    n, i, p, part, stars, text) {
    n = split(list, part, ",")
    for (i = 1; i <= n; i++) {
        p = part[i]
        gsub(/(const|struct|volatile) /, "", p)
        if (p ~ /\[/ || p !~ /\*/)
            continue
        stars = gsub(/\*/, " ", p)
        sub(/^ +/, "", p)
        number = p ~ /^(int|long|double|float|bool|size_t|u?int(8|16|32|64)_t) /
        text = stars < 2 && p ~ /^(char|void) /
        sub(/ *$/, "", p)
        sub(/.* /, "", p)
        counted = i < n && !text && is_count(part[i + 1], p)
        if (!number && !counted)
            continue
        text = param_text(p)
        if (text !~ /\[/ && (counted || text !~ /out: /))
            wrong("the comment has no @param " p " with its shape in brackets" (counted ? "" : ", nor \"out:\""))
    }
}

function check_function(head,    list) {
    name = head
    sub(/ *\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    if (comment == "") {
        wrong("no comment")
        return
    }
    if (head ~ /^ek_status / && comment !~ /@return|EK_ERR_/)
        wrong("the comment does not name the errors")
    if (head ~ /^ek_status / && comment !~ /O\(|Cost: /)
        wrong("the comment does not state the cost")
    if (comment !~ /O\(|Cost: / && opening !~ /Unless stated otherwise[^.]*O\(1\)/)
        wrong("neither its comment nor the opening one of the header states the cost")
    if (comment !~ /[Tt]hread/ && opening !~ /[Tt]hread/)
        wrong("neither its comment nor the opening one of the header says whether threads may call it")
    list = head
    sub(/^[^(]*\(/, "", list)
    sub(/\)[^)]*$/, "", list)
    check_params(list)
}

# A statement at the level of the file without its comments.
function take_statement(text) {
    gsub(/[ \t]+/, " ", text)
    sub(/ *\{.*/, "", text)
    if (text ~ /\(/ && text !~ /^(typedef|enum|struct [a-z_]+ *$|extern|_Static_assert)/) {
        sub(/^static inline /, "", text)
        check_function(text)
    }
    comment = ""
}

# The line without comments; the end of one that goes on is looked for in the next lines.
function strip(line,    out, i) {
    out = ""
    for (;;) {
        if (inside) {
            i = index(line, "*/")
            if (!i)
                return out
            line = substr(line, i + 2)
            inside = 0
        }
        i = index(line, "/*")
        if (!i)
            return out line
        out = out substr(line, 1, i - 1)
        line = substr(line, i + 2)
        inside = 1
    }
}

FNR == 1 {
    opening = comment = statement = ""
    depth = inside = commented = directive = opened = 0
}
directive || (statement == "" && !commented && /^#/) {
    directive = /\\$/
    comment = ""
    next
}
statement == "" && (commented || /^\/\*/) {
    if (!commented)
        comment = ""
    line = $0
    sub(/^ *\/?\*+\/?/, "", line)
    comment = comment " " line
    commented = !/\*\//
    if (!commented && !opened++)
        opening = comment
    next
}
statement == "" && (/^ *$/ || /^EK_(BEGIN|END)_DECLS/ || /^}/) {
    comment = ""
    next
}
{
    code = strip($0)
    if (statement == "")
        at = FNR
    statement = statement " " code
    opens = gsub(/\{/, "{", code)
    closes = gsub(/\}/, "}", code)
    depth += opens - closes
    if (depth == 0 && code ~ /[;}] *$/) {
        sub(/^ +/, "", statement)
        take_statement(statement)
        statement = ""
    }
}
' "$@"
