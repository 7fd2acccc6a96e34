# The options of commands in a document, written anew between its marks; tests/cli/write_option_docs.sh says which. A row
# of `evenkeel COMMAND --complete=rows` is, by tabs: group, names, argument, range, default, text. The text is Markdown
# with code and links alone. The environment has `program`.

function fail(why) {
    print FILENAME ": " why >"/dev/stderr"
    failed = 1
    exit 1
}

# Options, and - for a stream, as code; documents as links. What is code already stays.
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

# ---- tables ----

function names_of(names,    name, n, i, out) {
    n = split(names, name, "|")
    for (i = 1; i <= n; i++)
        out = out (i > 1 ? ", " : "") "`" (length(name[i]) > 2 ? "--" : "-") name[i] "`"
    return out
}

# 1e9 and 1e-6, not 1000000000, 1e+09 and 1e-06.
function number(text) {
    gsub(/e\+0*/, "e", text)
    gsub(/e-0*/, "e-", text)
    return text ~ /^[1-9]0+$/ && length(text) > 6 ? substr(text, 1, 1) "e" length(text) - 1 : text
}

function value_of(argument, range) {
    if (range != "" && argument == "MB")
        return range " MB"
    if (range != "" && argument ~ /^S(ECONDS)?$/)
        return range " s"
    if (range != "" && argument !~ /^(N|X|TIME|SHARE|0\.\.3)$/)
        return "`" argument "`, " range
    if (range != "" || argument == "")
        return range argument == "" ? "-" : range
    if (argument ~ /^(FILE|DIR|NEW)$/)
        return "path"
    if (argument ~ /^[a-z0].*\|/)
        gsub(/\|/, "`, `", argument)
    return "`" argument "`"
}

function print_row(names, argument, range, otherwise, text,    cells) {
    if (otherwise ~ /_/ && otherwise !~ /[ `]/ || index("|" argument "|", "|" otherwise "|") && otherwise ~ /^[a-z]/)
        otherwise = "`" otherwise "`"
    cells = value_of(argument, range) "\t" (otherwise == "" ? "-" : otherwise) "\t" text
    gsub(/\|/, "\\|", cells)
    gsub(/\t/, " | ", cells)
    print "| " names_of(names) " | " cells " |"
}

# ---- man page ----

function end_line() {
    if (line != "")
        print (line ~ /^[.']/ ? "\\&" : "") line
    line = ""
}

function add_words(text,    word, n, i) {
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        if (line != "" && length(line) + 1 + length(word[i]) > 80)
            end_line()
        line = line (line == "" ? "" : " ") word[i]
        if (word[i] ~ /\.$/)
            end_line()
    }
}

# Code is a macro on a line of its own, with the punctuation around it.
function print_paragraph(text,    at, before, code, macro) {
    while ((at = index(text, "`")) > 0) {
        before = substr(text, 1, at - 1)
        text = substr(text, at + 1)
        at = index(text, "`")
        code = substr(text, 1, at - 1)
        text = substr(text, at + 1)
        macro = sub(/\($/, "", before) ? "( " : ""
        add_words(before)
        end_line()
        if (code ~ /^-[^ =]+$/)
            macro = ".Fl " macro substr(code, 2)
        else
            macro = ".Ql " macro (code ~ / / ? "\"" code "\"" : code)
        while (match(text, /^[.,:;?!)]/)) {
            macro = macro " " substr(text, 1, 1)
            text = substr(text, 2)
        }
        if (match(text, /^[^ ]+/)) {
            macro = macro " Ns " substr(text, 1, RLENGTH)
            text = substr(text, RLENGTH + 1)
        }
        print macro
    }
    add_words(text)
    end_line()
}

function print_item(names, argument, otherwise, text,    name, n, i, head) {
    n = split(names, name, "|")
    head = ".It"
    for (i = 1; i <= n; i++)
        head = head (i > 1 ? " ," : "") " Fl " (length(name[i]) > 2 ? "-" : "") name[i]
    print head (argument == "" ? "" : " Ar " argument)
    while (match(text, /\[[^]]*\]\([^)]*\)/)) { # of a link the text stays
        head = substr(text, RSTART + 1, RLENGTH - 1)
        sub(/\]\(.*/, "", head)
        text = substr(text, 1, RSTART - 1) head substr(text, RSTART + RLENGTH)
    }
    print_paragraph(toupper(substr(text, 1, 1)) substr(text, 2) (text ~ /[.?]$/ ? "" : ".") \
        (otherwise == "" ? "" : " Default: " otherwise "."))
}

# ---- marks ----

function wanted(title, groups,    name, n, i) {
    n = split(groups, name, "; ")
    for (i = 1; i <= n; i++)
        if (index(title, name[i]) == 1)
            return 1
    return groups == ""
}

function print_options(command, groups, page,    call, row, field, at, n) {
    call = "\"" ENVIRON["program"] "\" " command " --complete=rows"
    if (!page)
        print "| option | value | default | meaning |\n|---|---|---|---|"
    while ((call | getline row) > 0) {
        split(row, field, "\t")
        if (!wanted(field[1], groups))
            continue
        n++
        at = index(field[4], "..")
        if (at)
            field[4] = number(substr(field[4], 1, at - 1)) ".." number(substr(field[4], at + 2))
        if (page)
            print_item(field[2], field[3], field[5], mark(field[6]))
        else
            print_row(field[2], field[3], field[4], field[5], mark(field[6]))
    }
    close(call)
    if (!n)
        fail("no options of " command (groups == "" ? "" : ": " groups))
}

/^(<!--|\.\\") options end/ { inside = 0 }
!inside { print }
/^(<!--|\.\\") options: / {
    in_page = !/^</
    sub(/^[^:]*: /, "")
    sub(/ -->$/, "")
    colon = index($0, ": ")
    print_options(colon ? substr($0, 1, colon - 1) : $0, colon ? substr($0, colon + 2) : "", in_page)
    inside = 1
}
END {
    if (inside && !failed)
        fail("no line \"options end\"")
    exit failed
}
