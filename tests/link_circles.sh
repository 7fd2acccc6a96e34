#!/bin/sh
# Finds circles of calls in the library at link level: which file needs a symbol of which other file, read from the
# objects with nm, so that a call through a header of another folder, or through a table, counts like any other. Files
# that need each other in a circle can only be read, tested and moved together. Prints TAP.
#
#   tests/link_circles.sh BUILD_DIR            the test
#   tests/link_circles.sh BUILD_DIR --edges    also which file of a circle needs which symbol of which other
#
# The circles are the strongly connected components of the graph of files (Tarjan 1972, with a stack of its own).
# Folders are checked alike: folder A needs folder B when a file of A needs a file of B; a subfolder is a separate
# folder. Symbols of the library are ek_* and ek__*; those of sanitizers and the C library are left out.
set -u
unset CDPATH
# Files in circles that are accepted: algorithms that call each other within one topic. Lower it when a circle is cut.
limit_files=14

build=${1-}
edges=${2-}
if [ ! -d "$build/src" ]; then
    echo "usage: $0 BUILD_DIR [--edges]" >&2
    exit 2
fi
build=$(cd "$build" && pwd)
cd "$(dirname "$0")/../src" || exit 2
if ! command -v "${NM:-nm}" >/dev/null; then
    echo '1..0 # SKIP no nm here'
    exit 0
fi

# Meson names an object after its source, with _ for /. So the object of each source is known. Sources of absent/
# replace others, which a full build has.
sources=$(mktemp) || exit 2
trap 'rm -f "$sources"' EXIT
find . \( -name '*.c' -o -name '*.cpp' \) ! -path './absent/*' | sed 's#^\./##' | LC_ALL=C sort >"$sources"
find "$build/src" -path '*libevenkeel*' -name '*.o' -exec "${NM:-nm}" -A -g -P {} + |
    LC_ALL=C sort | awk -v limit="$limit_files" -v show_edges="$edges" '
    function folder_of(file) {
        sub(/\/[^\/]*$/, "", file)
        return file
    }
    # Strongly connected components of n nodes. next_of[node, 1..n_next[node]] are the edges; component[node] is filled.
    function components(n, n_next, next_of, component,    root, at, node, to, depth, top, count, index_of, low, on, stack, \
                        path, edge) {
        split("", component)
        for (root = 1; root <= n; root++) {
            if (root in index_of)
                continue
            depth = 1
            path[1] = root
            edge[1] = 0
            index_of[root] = low[root] = ++count
            stack[++top] = root
            on[root] = 1
            while (depth > 0) {
                node = path[depth]
                if (edge[depth] < n_next[node]) {
                    to = next_of[node, ++edge[depth]]
                    if (!(to in index_of)) {
                        path[++depth] = to
                        edge[depth] = 0
                        index_of[to] = low[to] = ++count
                        stack[++top] = to
                        on[to] = 1
                    } else if (on[to] && index_of[to] < low[node])
                        low[node] = index_of[to]
                    continue
                }
                if (low[node] == index_of[node])
                    do {
                        at = stack[top--]
                        on[at] = 0
                        component[at] = node
                    } while (at != node)
                depth--
                if (depth > 0 && low[node] < low[path[depth]])
                    low[path[depth]] = low[node]
            }
        }
    }
    # Prints the components of more than one node, largest first; how many nodes are in them.
    function list(n, names, component, what,    i, size, text, root, best, total, seen) {
        for (i = 1; i <= n; i++) {
            size[component[i]]++
            text[component[i]] = text[component[i]] " " names[i]
        }
        for (;;) {
            best = 0
            for (i = 1; i <= n; i++) {
                root = component[i]
                if (!(root in seen) && size[root] > 1 && (!best || size[root] > size[best]))
                    best = root
            }
            if (!best)
                return total + 0
            seen[best] = 1
            total += size[best]
            print "# " size[best] " " what " in a circle:" text[best]
        }
    }
    FILENAME != "-" {
        name = $0
        gsub(/\//, "_", name)
        source[name ".o"] = $0
        next
    }
    {
        object = $1
        sub(/:$/, "", object)
        sub(/^.*\//, "", object)
        symbol = $2
        sub(/^_/, "", symbol)
        if (symbol !~ /^ek_/)
            next
        if (!(object in source) && object !~ /^meson-generated/)
            next # of a source that is gone
        objects[object] = 1
        file = object in source ? source[object] : "generated/" object
        if (!(file in number)) {
            number[file] = ++n_files
            files[n_files] = file
        }
        if ($3 == "U" || $3 == "w" || $3 == "v") {
            need_file[++n_needs] = file
            need_symbol[n_needs] = symbol
        } else
            home[symbol] = file
    }
    END {
        for (name in source)
            if (!(name in objects))
                missing = missing "# " source[name] "\n"
        for (i = 1; i <= n_needs; i++) {
            symbol = need_symbol[i]
            if (!(symbol in home) || home[symbol] == need_file[i])
                continue
            a = number[need_file[i]]
            b = number[home[symbol]]
            if (!((a, b) in because)) {
                next_file[a, ++n_next_file[a]] = b
                because[a, b] = symbol
                n_edges++
            }
            from = folder_of(need_file[i])
            to = folder_of(home[symbol])
            if (from == to)
                continue
            for (k = 1; k <= 2; k++) {
                folder = k == 1 ? from : to
                if (!(folder in folder_number)) {
                    folder_number[folder] = ++n_folders
                    folders[n_folders] = folder
                }
            }
            a = folder_number[from]
            b = folder_number[to]
            if (!((a, b) in folder_because))
                next_folder[a, ++n_next_folder[a]] = b
            folder_because[a, b] = folder_because[a, b] "#     " need_file[i] " needs " symbol " of " home[symbol] "\n"
        }
        print "1..3"
        print "# " n_files " files, " n_edges " pairs of which one needs the other"
        components(n_files, n_next_file, next_file, file_component)
        in_circles = list(n_files, files, file_component, "files")
        if (show_edges != "")
            for (a = 1; a <= n_files; a++)
                for (k = 1; k <= n_next_file[a]; k++) {
                    b = next_file[a, k]
                    if (file_component[a] == file_component[b])
                        print "#   " files[a] " -> " files[b] ": " because[a, b]
                }
        components(n_folders, n_next_folder, next_folder, folder_component)
        folders_in_circles = list(n_folders, folders, folder_component, "folders")
        for (a = 1; a <= n_folders; a++)
            for (k = 1; k <= n_next_folder[a]; k++) {
                b = next_folder[a, k]
                if (folder_component[a] == folder_component[b])
                    printf "#   %s -> %s:\n%s", folders[a], folders[b], folder_because[a, b]
            }
        ok = n_edges > 0 && missing == ""
        print (ok ? "ok" : "not ok") " 1 - every source of the library has an object"
        printf "%s", missing
        good = in_circles <= limit
        print (good ? "ok" : "not ok") " 2 - " in_circles " files are in circles, at most " limit " may be"
        fine = !folders_in_circles
        print (fine ? "ok" : "not ok") " 3 - no folders are in a circle"
        exit !(ok && good && fine)
    }' "$sources" -
