# Rewrites the options of commands in a document between its marks, which tests/cli/write_option_docs.sh describes. A
# row of `evenkeel COMMAND --complete=rows` is, by tabs: group, names, argument, range, default, text. The text is
# Markdown with only code and links. The environment has `program`. Used after option_words.awk.

function fail(why) {
    print FILENAME ": " why >"/dev/stderr"
    failed = 1
    exit 1
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

# ---- marks ----

function wanted(title, groups,    name, n, i) {
    n = split(groups, name, "; ")
    for (i = 1; i <= n; i++)
        if (index(title, name[i]) == 1)
            return 1
    return groups == ""
}

function print_options(command, groups,    call, row, field, at, n) {
    call = "\"" ENVIRON["program"] "\" " command " --complete=rows"
    print "| option | value | default | meaning |\n|---|---|---|---|"
    while ((call | getline row) > 0) {
        split(row, field, "\t")
        if (!wanted(field[1], groups))
            continue
        n++
        at = index(field[4], "..")
        if (at)
            field[4] = number(substr(field[4], 1, at - 1)) ".." number(substr(field[4], at + 2))
        print_row(field[2], field[3], field[4], field[5], mark(field[6]))
    }
    close(call)
    if (!n)
        fail("no options of " command (groups == "" ? "" : ": " groups))
}

/^<!-- options end/ { inside = 0 }
!inside { print }
/^<!-- options: / {
    sub(/^[^:]*: /, "")
    sub(/ -->$/, "")
    colon = index($0, ": ")
    print_options(colon ? substr($0, 1, colon - 1) : $0, colon ? substr($0, colon + 2) : "")
    inside = 1
}
END {
    if (inside && !failed)
        fail("no line \"options end\"")
    exit failed
}
