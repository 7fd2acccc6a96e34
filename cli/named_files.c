/* Keeps the list of files that a command line names, and refuses an output that would overwrite one. Files are compared
 * by device and inode, so a link or another path to a file is that file; files that do not exist yet are compared by
 * the folder and the name in it. Pipes and devices may be named twice. In an input folder, only files with the content
 * of an input count: a page or a table of an earlier run may be overwritten. Not detected: a file of that kind that the
 * command would have skipped, and names made from a file's content. */
#include "named_files.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/run_files.h"

#include "files.h"

typedef struct named {
    const cli_option *option; /* NULL: an operand */
    const char *text;
} named;

static named *list; /* [n] */
static size_t n, capacity;
static struct stat *written; /* [n_written]: outputs that have been written */
static size_t n_written, written_capacity;

void cli_named_begin(void)
{
    n = 0;
    n_written = 0;
}

/* Does the value name files, according to its placeholder? */
static bool names_files(const cli_option *option)
{
    static const char *const words[] = {"FILE", "DIR", "SOURCE", "LOG"};
    for (size_t i = 0; option->argument && i < sizeof words / sizeof *words; i++)
        if (strstr(option->argument, words[i]))
            return true;
    return false;
}

static cli_writes writes_of(const named *file)
{
    assert(file);
    return file->option ? file->option->writes : CLI_WRITES_NOTHING;
}

/* When an output is given twice, the last one counts. */
static named *place_for(const cli_option *option)
{
    for (size_t i = 0; i < n && option && option->writes; i++)
        if (list[i].option == option)
            return &list[i];
    if (n == capacity) {
        size_t more = capacity ? 2 * capacity : 64;
        named *larger = realloc(list, more * sizeof *list);
        if (!larger)
            return NULL;
        list = larger;
        capacity = more;
    }
    return &list[n++];
}

bool cli_named_add(const cli_option *option, const char *text)
{
    if (option && !option->writes && !names_files(option))
        return true;
    named *place = place_for(option);
    if (!place) {
        cli_error(NULL, "out of memory");
        return false;
    }
    *place = (named){option, text};
    return true;
}

/* ---- one file ---- */

/* Where a file is or would be. */
typedef struct location {
    bool there;
    struct stat about;       /* of the file; where it does not exist, of its folder */
    char name[NAME_MAX + 1]; /* where it does not exist: in the folder */
} location;

static bool locate(const char *path, location *out)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    out->there = stat(path, &out->about) == 0;
    if (out->there)
        return true;
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return *name && stat(folder, &out->about) == 0;
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_location(const location *a, const location *b)
{
    return a->there == b->there && same_stat(&a->about, &b->about) &&
           (a->there ? S_ISREG(a->about.st_mode) : strcmp(a->name, b->name) == 0);
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && same_stat(&first, &second);
}

/* Is the existing file below a folder, and of the kind of the folder's inputs? */
static bool is_input_below(const char *path, const char *folder)
{
    char file[PATH_MAX], above[PATH_MAX];
    if (!realpath(path, file) || !realpath(folder, above))
        return false;
    size_t length = strlen(above);
    if (strncmp(file, above, length) != 0 || (file[length] != '/' && strcmp(above, "/") != 0))
        return false;
    ek_run_kind kind = ek_run_kind_of(path);
    return kind == EK_RUN_TRACE || kind == EK_RUN_CONFIG || kind == EK_RUN_DRY_RUN || kind == EK_RUN_IR ||
           kind == EK_RUN_LOG;
}

/* One value may name several files: "a.yaml,b.yaml". */
static bool is_named(const char *path, const struct stat *about, const char *text)
{
    char part[PATH_MAX];
    struct stat input;
    if (cli_on_stdout(text)) /* standard input */
        return false;
    for (const char *at = text; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)length, at);
        if (stat(part, &input) == 0 && same_stat(&input, about))
            return true;
        at += length;
    }
    if (stat(text, &input) != 0)
        return false;
    return same_stat(&input, about) || (S_ISDIR(input.st_mode) && is_input_below(path, text));
}

/* The input that a file is; NULL: none. -o may name the edited file, since a copy of that is kept. */
static const named *input_at(const char *path, const cli_option *output)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        cli_writes writes = writes_of(&list[i]);
        bool edited = writes == CLI_WRITES_INPUT && output && cli_is(output, "o");
        if ((writes == CLI_WRITES_NOTHING || writes == CLI_WRITES_INPUT) && !edited &&
            is_named(path, &about, list[i].text))
            return &list[i];
    }
    return NULL;
}

/* ---- the checks ---- */

static bool refuse_input(const char *path, const char *output, const named *input)
{
    bool itself = cli_same_file(path, input->text);
    cli_error(NULL, "%s%s'%s' is an input%s%s%s and would be lost; give the output another name", output,
              *output ? ": " : "", path, itself ? "" : ", in '", itself ? "" : input->text, itself ? "" : "',");
    return false;
}

bool cli_named_spares(const char *path)
{
    struct stat about;
    const named *input = input_at(path, NULL);
    if (input)
        return refuse_input(path, "", input);
    if (stat(path, &about) != 0)
        return true;
    for (size_t i = 0; i < n_written; i++)
        if (same_stat(&written[i], &about)) {
            cli_error(NULL, "'%s' is already another output of this command; give each a different name", path);
            return false;
        }
    return true;
}

bool cli_named_written(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return true;
    if (n_written == written_capacity) {
        size_t more = written_capacity ? 2 * written_capacity : 16;
        struct stat *larger = realloc(written, more * sizeof *written);
        if (!larger) {
            cli_error(NULL, "out of memory");
            return false;
        }
        written = larger;
        written_capacity = more;
    }
    written[n_written++] = about;
    return true;
}

static const char *without_dots(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    return path;
}

/* By its name, since neither need be there. */
static bool is_below(const char *path, const char *folder)
{
    path = without_dots(path);
    folder = without_dots(folder);
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

/* Is it in a folder that the command makes? */
static bool is_in_output(const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (writes_of(&list[i]) == CLI_WRITES_FOLDER && is_below(path, list[i].text))
            return true;
    return false;
}

bool cli_named_make_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || !is_in_output(path))
        return true;
    if ((size_t)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path) >= sizeof folder)
        return true; /* writing it reports that */
    return cli_make_folder(folder);
}

static bool check_one(const named *file)
{
    char name[CLI_NAME_SIZE];
    location where;
    const char *shown = cli_shown(file->option, name, sizeof name);
    if (cli_on_stdout(file->text))
        return true;
    const named *input = input_at(file->text, file->option);
    if (input)
        return refuse_input(file->text, shown, input);
    return (!locate(file->text, &where) && is_in_output(file->text)) || cli_check_output(file->text);
}

/* Is it an output of an option, and not a file that is changed? */
static bool is_output(const named *file)
{
    return writes_of(file) == CLI_WRITES_FILE;
}

static bool check_pair(const named *a, const named *b)
{
    char first[CLI_NAME_SIZE], second[CLI_NAME_SIZE];
    location here, there;
    cli_shown(a->option, first, sizeof first);
    cli_shown(b->option, second, sizeof second);
    if (cli_on_stdout(a->text) && cli_on_stdout(b->text))
        cli_error(NULL, "standard output (-) takes one of %s and %s; write the other to a file", first, second);
    else if (!cli_on_stdout(a->text) && !cli_on_stdout(b->text) && locate(a->text, &here) && locate(b->text, &there) &&
             same_location(&here, &there))
        cli_error(NULL, "%s and %s name the same file, '%s'; give each a different name", first, second, b->text);
    else
        return true;
    return false;
}

/* The printed text would end up in a deleted file. */
static bool check_redirected(const named *file)
{
    char name[CLI_NAME_SIZE];
    struct stat about, out;
    if (cli_on_stdout(file->text) || stat(file->text, &about) != 0 || !S_ISREG(about.st_mode) ||
        fstat(STDOUT_FILENO, &out) != 0 || !same_stat(&about, &out))
        return true;
    cli_error(NULL, "%s names the file that standard output goes to, '%s'; give it another name, or -",
              cli_shown(file->option, name, sizeof name), file->text);
    return false;
}

static bool check_folder(const named *file)
{
    char name[CLI_NAME_SIZE];
    if (writes_of(file) != CLI_WRITES_FOLDER || !cli_on_stdout(file->text))
        return true;
    cli_error(NULL,
              "%s names a folder, and several files cannot go to standard output (-); a folder of that name is ./-",
              cli_shown(file->option, name, sizeof name));
    return false;
}

bool cli_named_check(void)
{
    for (size_t i = 0; i < n; i++) {
        if (!check_folder(&list[i]))
            return false;
        if (!is_output(&list[i]))
            continue;
        for (size_t k = 0; k < i; k++)
            if (is_output(&list[k]) && !check_pair(&list[k], &list[i]))
                return false;
        if (!check_redirected(&list[i]) || !check_one(&list[i]))
            return false;
    }
    return true;
}

bool cli_stdout_taken(void)
{
    for (size_t i = 0; i < n; i++)
        if (is_output(&list[i]) && cli_on_stdout(list[i].text))
            return true;
    return false;
}
