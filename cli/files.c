/* Writes output files, whole or not at all (evenkeel/save.h), and makes folders as needed. */
#include "files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/save.h"

#include "cmd.h"
#include "named_files.h"
#include "page.h"
#include "team.h"

bool cli_make_folder(const char *path)
{
    char part[4096];
    size_t n = strlen(path);
    if (n >= sizeof part) {
        cli_error(NULL, "the path of the output folder is too long");
        return false;
    }
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        snprintf(part, sizeof part, "%.*s", (int)i, path);
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            cli_error(NULL, "cannot create the folder '%s': %s", part, strerror(errno));
            return false;
        }
    }
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        cli_error(NULL, "'%s' is not a folder; give another", path);
        return false;
    }
    return true;
}

/* The mode that open() would give a new file. */
static unsigned new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool save(const char *path, const ek_save_options *options, cli_writer *write, const void *user)
{
    ek_error err = {0};
    ek_save *file;
    if (ek_save_begin(path, options, &file, &err)) {
        cli_error(NULL, "%s", err.message);
        return false;
    }
    if (write(user, ek_save_stream(file), &err)) {
        ek_save_drop(file);
        cli_error(NULL, "cannot write '%s': %s", path, err.message);
        return false;
    }
    if (ek_save_finish(file, &err)) {
        cli_error(NULL, "%s", err.message);
        return false;
    }
    return true;
}

bool cli_write_own(const char *path, cli_writer *write, const void *user)
{
    const ek_save_options options = {.mode = new_mode()};
    return save(path, &options, write, user);
}

static bool write_file(const char *path, bool executable, cli_writer *write, const void *user)
{
    ek_error err;
    const ek_save_options options = {.mode = new_mode(), .executable = executable};
    if (!cli_on_stdout(path))
        return cli_named_spares(path) && cli_named_make_folder(path) && save(path, &options, write, user) &&
               cli_named_written(path);
    if (write(user, stdout, &err) == EK_OK)
        return cli_printed(EK_OK, NULL);
    cli_error(NULL, "cannot write to standard output: %s", err.message);
    return false;
}

bool cli_write_file(const char *path, cli_writer *write, const void *user)
{
    return write_file(path, false, write, user);
}

typedef struct text_of {
    const char *text;
    size_t size;
} text_of;

static ek_status write_bytes(const void *user, FILE *out, ek_error *err)
{
    const text_of *t = user;
    if (fwrite(t->text, 1, t->size, out) == t->size && fflush(out) == 0)
        return EK_OK;
    snprintf(err->message, sizeof err->message, "%s", strerror(errno));
    return EK_ERR_SYSTEM;
}

bool cli_put_text(const char *path, const char *text, size_t size)
{
    const text_of whole = {text, size};
    return cli_write_file(path ? path : "-", write_bytes, &whole);
}

bool cli_put_script(const char *path, const char *text, size_t size)
{
    const text_of whole = {text, size};
    return write_file(path ? path : "-", true, write_bytes, &whole);
}

/* The whole file; NULL after a message. The caller frees it. */
static char *read_bytes(const char *path, size_t *size)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    *size = 0;
    for (size_t room = 0; in && !ferror(in) && !feof(in);) {
        if (*size == room) {
            room = room ? 2 * room : 65536;
            char *larger = realloc(text, room);
            if (!larger)
                break;
            text = larger;
        }
        *size += fread(text + *size, 1, room - *size, in);
    }
    bool fine = in && text && feof(in) && !ferror(in);
    if (!fine)
        cli_error(NULL, "cannot read '%s': %s", path, strerror(errno));
    if (in)
        fclose(in);
    if (fine)
        return text;
    free(text);
    return NULL;
}

/* PATH.bak, or the next name that is free. */
static bool backup_name(const char *path, char *name, size_t size)
{
    struct stat unused;
    for (int i = 1; i < 1000; i++) {
        int length = i == 1 ? snprintf(name, size, "%s.bak", path) : snprintf(name, size, "%s.bak%d", path, i);
        if (length < 0 || (size_t)length >= size)
            break;
        if (stat(name, &unused) != 0)
            return true;
    }
    cli_error(NULL, "no name is left for a backup of '%s'; give another file with -o", path);
    return false;
}

/* Replaces the old text by the new one, after saving the old one beside it. A link's target is replaced. */
static bool edit(const char *path, const text_of *old, const text_of *new, cli_replaced *how)
{
    char target[PATH_MAX];
    struct stat info;
    const ek_save_options copy = {.like = path, .keep_owner = true}, changed = {.keep_owner = true};
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && realpath(path, target))
        path = target;
    if (!backup_name(path, how->backup, sizeof how->backup) || !save(how->backup, &copy, write_bytes, old))
        return false;
    bool fine = save(path, &changed, write_bytes, new);
    if (!fine)
        unlink(how->backup);
    return fine;
}

bool cli_replace_file(const char *path, const char *output, const char *text, size_t size, cli_replaced *how)
{
    text_of old, new = {text, size};
    *how = (cli_replaced){.changed = true};
    if (output && !cli_same_file(output, path))
        return cli_put_text(output, text, size);
    old.text = read_bytes(path, &old.size);
    if (!old.text)
        return false;
    how->changed = old.size != size || memcmp(old.text, text, size) != 0;
    bool fine = !how->changed || edit(path, &old, &new, how);
    free((void *)old.text);
    return fine;
}

bool cli_printed(ek_status status, const ek_error *err)
{
    if (status) {
        cli_error(NULL, "%s", err->message);
        return false;
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        cli_error(NULL, "cannot write to standard output: %s", strerror(errno));
        return false;
    }
    return true;
}

bool cli_on_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool cli_check_shared(const char *path)
{
    if (!cli_team() || !cli_on_stdout(path))
        return true;
    cli_error(
        NULL,
        "standard input goes to one process, and %d were started: give a file that all of them can read, or leave "
        "out the launcher",
        cli_team()->size);
    return false;
}

/* The folder that a file is in, through links; of one that does not exist the folder of its name. */
static void folder_of(const char *path, char folder[PATH_MAX])
{
    char target[PATH_MAX];
    if (realpath(path, target))
        path = target;
    const char *slash = strrchr(path, '/');
    snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

bool cli_check_output(const char *path)
{
    char folder[PATH_MAX];
    struct stat info;
    if (cli_on_stdout(path) || (cli_team() && cli_team()->index > 0)) /* only process 0 writes */
        return true;
    folder_of(path, folder);
    bool there = stat(path, &info) == 0, replaced = !there || S_ISREG(info.st_mode);
    int why = there && S_ISDIR(info.st_mode) ? EISDIR : 0;
    if (!why && ((there && access(path, W_OK) != 0) || (replaced && access(folder, W_OK | X_OK) != 0)))
        why = errno;
    if (why)
        cli_error(NULL, "cannot write '%s': %s", path, strerror(why));
    return why == 0;
}

const char *cli_output_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard output" : path;
}

bool cli_print(ek_output output, const char *format)
{
    ek_error err;
    return cli_printed(ek_write(output, format, stdout, &err), &err);
}

bool cli_answer(ek_output output, const char *format)
{
    return cli_stdout_taken() || cli_print(output, format);
}

typedef struct job {
    ek_output output;
    const char *format;
} job;

static ek_status write_job(const void *user, FILE *out, ek_error *err)
{
    const job *j = user;
    return ek_write(j->output, j->format, out, err);
}

bool cli_save(const char *path, ek_output output, const char *format)
{
    const job j = {output, format};
    return !path || cli_write_file(path, write_job, &j);
}

bool cli_check_format(const cli_model *model, ek_output_kind kind, const char *option)
{
    bool fine = ek_can_write(kind, model->format);
    if (!fine)
        cli_error(NULL, "%s prints text or json, not %s", option, model->format);
    return fine;
}

int cli_print_schedules(const cli_model *model)
{
    bool fine = cli_check_format(model, EK_OUTPUT_SCHEDULES, "--list-schedules") &&
                cli_print(ek_output_of_schedules(NULL), model->format);
    return fine ? EXIT_DONE : EXIT_WRONG;
}

bool cli_print_report(const cli_model *model, ek_report *report)
{
    report->color = strcmp(model->format, "text") == 0 && cli_color(STDOUT_FILENO);
    report->plot = cli_plot_of(&model->plot, model->format, model->output != NULL);
    return cli_answer(ek_output_of_balance(report), model->format);
}

bool cli_write_pictures(const cli_model *model, const ek_report *report, const char *const *file_names)
{
    bool text = strcmp(model->format, "text") == 0 && !cli_stdout_taken();
    bool asked = model->svg || model->html;
    const char *folder = model->output ? model->output : text && !asked && !model->no_default_folder ? "output" : NULL;
    ek_output picture = ek_output_of_balance(report);
    if (report->n_cases == 0)
        return true;
    if (!cli_save(model->svg, picture, "svg") || !cli_save(model->chrome_trace, picture, "chrome"))
        return false;
    if (model->html && !cli_write_plans_page(model->html, model->lang, report))
        return false;
    if (!folder)
        return true;
    if (!cli_make_folder(folder))
        return false;
    char path[4096];
    if (text)
        printf("\npictures:\n");
    for (int i = 0; i <= report->n_cases; i++) {
        bool comparison = i == report->n_cases;
        if (comparison && report->n_cases < 2)
            break;
        picture.index = comparison ? -1 : i;
        int n = snprintf(path, sizeof path, "%s/%s", folder, comparison ? "comparison.svg" : file_names[i]);
        if (n < 0 || n >= (int)sizeof path) {
            cli_error(NULL, "the path of a picture is too long");
            return false;
        }
        if (!cli_save(path, picture, "svg"))
            return false;
        if (text)
            printf("  %s\n", path);
    }
    return fflush(stdout) == 0;
}
