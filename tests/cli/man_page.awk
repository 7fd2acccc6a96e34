# Writes the manual page of a command in mdoc, from the command's own output: `evenkeel --help` (the line under NAME),
# `evenkeel COMMAND --help` (synopsis, description, exit status, examples) and `evenkeel COMMAND --complete=rows`
# (options; option_docs.awk begins with their columns). The environment has `program`; `command`, as "trace merge";
# `commands`, those that have pages, one a line; `date`, the line of it. Used after option_words.awk.

function fail(why) {
    print "man page of " command ": " why >"/dev/stderr"
    exit 1
}

# ---- text ----

function end_line() {
    if (line != "")
        print (line ~ /^[.']/ ? "\\&" : "") line
    line = ""
}

function add_words(text,    word, n, i) {
    gsub(/\\/, "\\e", text)
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        if (line != "" && length(line) + 1 + length(word[i]) > 80)
            end_line()
        line = line (line == "" ? "" : " ") word[i]
        if (word[i] ~ /\.$/)
            end_line()
    }
}

# Code is a macro on a separate line, with the punctuation around it.
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
        gsub(/\\/, "\\e", code)
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

function sentence(text) {
    return toupper(substr(text, 1, 1)) substr(text, 2) (text ~ /[.?]$/ ? "" : ".")
}

# ---- parts of the page ----

# A word of a usage line: an option, a word to replace, the command.
function usage_word(word,    more) {
    more = sub(/\.\.\.$/, "", word) ? " ..." : ""
    if (word ~ /^-/)
        return "Fl " (word == "--" ? "-" : substr(word, 2)) more
    return (word ~ /^[a-z-]+$/ ? "Cm " : "Ar ") word more
}

function print_usage(usage,    word, n, i, out, closes) {
    gsub(/'/, "", usage)
    n = split(usage, word, " ")
    for (i = 1; word[i] !~ /^evenkeel/; i++)
        out = out " " (i > 1 ? usage_word(word[i]) : word[i])
    print ".Nm" out " " word[i]
    out = ""
    for (i++; i <= n; i++) {
        if (sub(/^\[/, "", word[i]))
            out = "Op"
        closes = sub(/\]$/, "", word[i])
        out = out (out == "" ? "" : " ") usage_word(word[i] == "OPTIONS" ? "options" : word[i])
        if (word[i] == "OPTIONS")
            sub(/Cm options/, "Ar options", out)
        if (out !~ /^Op/ || closes) {
            print "." out
            out = ""
        }
    }
}

function print_status(text,    at, i, next_at, rest) {
    sub(/^Exit status: /, "", text)
    at = match(text, /\. [A-Z]/)
    rest = at ? substr(text, at + 2) : ""
    text = at ? substr(text, 1, at - 1) : substr(text, 1, length(text) - 1)
    print ".Sh EXIT STATUS\n.Bl -tag -width indent"
    for (i = 0; text != ""; i++) {
        next_at = match(text, /, [12] /)
        print ".It " substr(text, 1, 1)
        print_paragraph(sentence(mark(next_at ? substr(text, 3, next_at - 3) : substr(text, 3))))
        text = next_at ? substr(text, next_at + 2) : ""
    }
    print ".El"
    if (rest != "") {
        print ".Pp"
        print_paragraph(mark(rest))
    }
}

function print_option(names, argument, otherwise, text,    name, n, i, head) {
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
    print_paragraph(sentence(text) (otherwise == "" ? "" : " Default: " otherwise "."))
}

function print_options(    call, row, field, group, n) {
    call = "\"" program "\" " command " --complete=rows"
    print ".Sh OPTIONS\nThey may be written with one dash or with two,\nand their value after a space or after\n.Ql = ."
    while ((call | getline row) > 0) {
        split(row, field, "\t")
        if (field[1] != group)
            print (n ? ".El\n" : "") ".Ss " toupper(substr(field[1], 1, 1)) substr(field[1], 2)
        if (field[1] != group || !n)
            print ".Bl -tag -width indent"
        group = field[1]
        print_option(field[2], field[3], field[5], mark(field[6]))
        n++
    }
    close(call)
    if (!n)
        fail("no options")
    print ".El"
}

# ---- the program's output ----

# The line of `evenkeel --help`; of a subcommand the beginning of its help.
function summary_of(    call, row, text) {
    call = "\"" program "\" --help"
    while ((call | getline row) > 0)
        if (index(row, "  " command "  ") == 1) {
            text = substr(row, 3 + length(command))
            sub(/^ +/, "", text)
        }
    close(call)
    if (text == "") {
        text = description
        sub(/[.:,] .*/, "", text)
        text = tolower(substr(text, 1, 1)) substr(text, 2)
    }
    return text
}

function read_help(    call, row, part) {
    call = "\"" program "\" " command " --help"
    part = "usage"
    while ((call | getline row) > 0) {
        if (row == "" && part ~ /^(usage|text)$/) {
            part = "text"
            description = description (description == "" || description ~ /\n$/ ? "" : "\n")
        } else if (row ~ /^examples:/)
            part = "examples"
        else if (row ~ /^[^ ].*:$/ && part == "text" && description ~ /(^|\n)$/)
            part = "options"
        else if (part == "usage") {
            sub(/^usage: | +/, "", row)
            if (row !~ /\(--help for details\)/)
                usage[++n_usage] = row
        } else if (part == "text")
            description = description (description == "" || description ~ /\n$/ ? "" : " ") row
        else if (part == "examples" && row != "")
            examples[++n_examples] = substr(row, 3)
        if (part != "usage")
            said = said " " row
    }
    close(call)
    if (!n_usage || !n_examples || description !~ /Exit status: /)
        fail("its --help has no usage, description, exit status or examples")
}

BEGIN {
    program = ENVIRON["program"]
    command = ENVIRON["command"]
    read_help()
    page = "evenkeel-" command
    gsub(/ /, "-", page)
    print ".\\\" Written by tests/cli/write_option_docs.sh from the command's --help and its table of options."
    print ENVIRON["date"]
    print ".Dt " toupper(page) " 1\n.Os\n.Sh NAME\n.Nm " page "\n.Nd " summary_of() "\n.Sh SYNOPSIS"
    for (i = 1; i <= n_usage; i++)
        print_usage(usage[i])
    print ".Sh DESCRIPTION"
    n = split(description, paragraph, "\n")
    for (i = 1; i <= n; i++) {
        sub(/ Options take one dash or two\./, "", paragraph[i])
        if (paragraph[i] ~ /^Exit status: /)
            status = paragraph[i]
        else if (paragraph[i] != "") {
            if (i > 1)
                print ".Pp"
            print_paragraph(mark(paragraph[i]))
        }
    }
    print_options()
    print_status(status)
    print ".Sh EXAMPLES\n.Bd -literal -offset indent"
    for (i = 1; i <= n_examples; i++) {
        gsub(/\\/, "\\e", examples[i])
        gsub(/-/, "\\-", examples[i])
        print examples[i]
    }
    print ".Ed\n.Sh SEE ALSO"
    # Its own commands, the one it belongs to, and those that it names.
    related = ".Xr evenkeel 1"
    for (n = split(ENVIRON["commands"], other, "\n"); n > 0; n--) {
        name = other[n]
        if (name != command && (index(name, command " ") == 1 || index(command, name " ") == 1 ||
                said ~ ("(evenkeel |`)" name "([^a-z-]|$)")))
            more[name] = 1
    }
    for (n = split(ENVIRON["commands"], other, "\n"); n > 0; n--)
        if (other[n] in more)
            listed = " ,\n.Xr evenkeel-" dashed(other[n]) " 1" listed
    print related listed
}

function dashed(name) {
    gsub(/ /, "-", name)
    return name
}
