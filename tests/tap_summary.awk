# Counts the single cases in Meson's testlog.txt, shows the failed ones and the reasons of the skipped ones, one line a
# reason, and ends with 'N passed, M failed, K skipped'. An executable that fails without naming a failed case counts as
# one failure. Exit status 1 on any failure, and when nothing ran.

function flush_test(    i, said) {
    if (test == "")
        return
    said = ""
    if (result ~ /^timed out|TIMEOUT/ || result ~ /^killed/)
        said = result
    else if (bad == 0 && result !~ /^exit status 0$/ && !(result ~ /^\(?exit status 77/))
        said = result
    else if (bad == 0 && seen < planned)
        said = "ended after " seen " of " planned " cases"
    else if (seen == 0 && !whole_skip)
        said = "printed no TAP"
    if (said != "") {
        failed++
        names[n_names++] = test ": " said
    }
    if (said != "" || bad > 0) {
        print "---- " test " (" result ")"
        for (i = n_lines > 400 ? n_lines - 400 : 0; i < n_lines; i++)
            print lines[i]
    }
    test = ""
}

# One skipped case, or a whole test without a name of one. Cases are listed by reason, then by test.
function skip_case(name, reason) {
    skipped++
    if (reason == "")
        reason = "no reason given"
    if (!(reason in count))
        reasons[n_reasons++] = reason
    if (count[reason]++ == 0 || last_test[reason] != test)
        cases[reason] = cases[reason] (cases[reason] == "" ? "" : "; ") test (name == "" ? "" : ": " name)
    else
        cases[reason] = cases[reason] (name == "" ? "" : ", " name)
    last_test[reason] = test
}

# Everything after '# SKIP ', in any case; "" where that is not there.
function reason_of(line) {
    return match(line, /# *[Ss][Kk][Ii][Pp][^ ]* */) ? substr(line, RSTART + RLENGTH) : ""
}

/^=+ [0-9]+\/[0-9]+ =+$/ { flush_test(); header = 1; next }
header && /^test: / { test = $NF; bad = seen = planned = n_lines = whole_skip = 0; result = "none"; next }
header && /^result: / { result = $0; sub(/^result: +/, "", result); next }
header && /^-+ (stdout|stderr) -+$/ { header = 0; next }
header { next }
/^Summary of Failures:/ { flush_test() }
test == "" { next }
/^=+$/ { next }

{ lines[n_lines++] = $0 }
/^1\.\.0/ { whole_skip = 1; skip_case("", reason_of($0)) }
/^1\.\.[0-9]+/ { planned += substr($1, 4); next }
/^ok [0-9]+.*# *[Ss][Kk][Ii][Pp]/ {
    seen++
    name = $0
    sub(/^ok [0-9]+ *-? */, "", name)
    sub(/ *# *[Ss][Kk][Ii][Pp].*/, "", name)
    skip_case(name, reason_of($0))
    next
}
/^ok / { seen++; passed++; next }
/^not ok / { seen++; bad++; failed++; name = $0; sub(/^not ok [0-9]+ *-? */, "", name); names[n_names++] = test ": " name }

END {
    flush_test()
    for (i = 0; i < n_reasons; i++) {
        line = "SKIPPED " count[reasons[i]] ": " reasons[i] ": " cases[reasons[i]]
        print (length(line) > 160 ? substr(line, 1, 157) "..." : line)
    }
    for (i = 0; i < n_names; i++)
        print "FAILED " names[i]
    last = (passed + 0) " passed, " (failed + 0) " failed"
    if (skipped > 0)
        last = last ", " skipped " skipped"
    print last
    exit failed > 0 || passed == 0
}
