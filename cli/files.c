/* Output files: folders made as needed, files renamed into place once they are whole. */
#include "files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "page.h"

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

bool cli_write_file(const char *path, ek_status (*write)(const void *user, FILE *out, ek_error *err), const void *user)
{
    char temporary[4200];
    ek_error err = {0};
    struct stat info;
    /* A pipe or a device is written in place: it cannot be renamed onto. */
    bool in_place = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    if (in_place)
        snprintf(temporary, sizeof temporary, "%s", path);
    else if (snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof temporary) {
        cli_error(NULL, "the path '%s' is too long", path);
        return false;
    }
    FILE *out = fopen(temporary, "w");
    if (!out) {
        cli_error(NULL, "cannot write '%s': %s", path, strerror(errno));
        return false;
    }
    if (!in_place && stat(path, &info) == 0)
        fchmod(fileno(out), info.st_mode & 07777); /* as the file that it replaces; not worth failing for */
    bool fine = write(user, out, &err) == EK_OK;
    if (!fine)
        cli_error(NULL, "cannot write '%s': %s", path, err.message);
    if (fclose(out) != 0 && fine) {
        cli_error(NULL, "cannot write '%s': %s", path, strerror(errno));
        fine = false;
    }
    if (in_place)
        return fine;
    if (fine && rename(temporary, path) != 0) {
        cli_error(NULL, "cannot write '%s': %s", path, strerror(errno));
        fine = false;
    }
    if (!fine)
        unlink(temporary);
    return fine;
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
    ek_error err;
    if (path && strcmp(path, "-") != 0)
        return cli_write_file(path, write_bytes, &whole);
    if (write_bytes(&whole, stdout, &err) == EK_OK)
        return true;
    cli_error(NULL, "cannot write to standard output: %s", err.message);
    return false;
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

bool cli_replace_file(const char *path, const char *output, const char *text, size_t size, cli_replaced *how)
{
    char resolved[PATH_MAX];
    struct stat info;
    *how = (cli_replaced){.changed = true};
    if (output && strcmp(output, path) != 0)
        return cli_put_text(output, text, size);
    /* A link stays one: what it leads to is changed. */
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && realpath(path, resolved))
        path = resolved;
    size_t old_size;
    char *old_text = read_bytes(path, &old_size);
    if (!old_text)
        return false;
    how->changed = old_size != size || memcmp(old_text, text, size) != 0;
    bool fine = !how->changed || (backup_name(path, how->backup, sizeof how->backup) &&
                                  cli_put_text(how->backup, old_text, old_size) && cli_put_text(path, text, size));
    free(old_text);
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

bool cli_write_output(const char *path, ek_status (*write)(const void *user, FILE *out, ek_error *err),
                      const void *user)
{
    ek_error err;
    return strcmp(path, "-") == 0 ? cli_printed(write(user, stdout, &err), &err) : cli_write_file(path, write, user);
}

bool cli_on_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool cli_check_output(const char *path)
{
    char folder[PATH_MAX];
    struct stat info;
    const char *slash = strrchr(path, '/');
    int why = 0;
    if (cli_on_stdout(path))
        return true;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        why = EISDIR;
    else if (access(folder, W_OK | X_OK) != 0 && !(stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
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

typedef struct job {
    ek_output output;
    const char *format;
} job;

static ek_status write_job(const void *user, FILE *out, ek_error *err)
{
    const job *j = user;
    return ek_write(j->output, j->format, out, err);
}

bool cli_save_file(const char *path, ek_output output, const char *format)
{
    const job j = {output, format};
    return !path || cli_write_file(path, write_job, &j);
}

bool cli_save(const char *path, ek_output output, const char *format)
{
    const job j = {output, format};
    return !path || cli_write_output(path, write_job, &j);
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
    if (cli_on_stdout(model->html))
        return true;
    report->color = strcmp(model->format, "text") == 0 && cli_color(STDOUT_FILENO);
    return cli_print(ek_output_of_balance(report), model->format);
}

bool cli_write_pictures(const cli_model *model, const ek_report *report, const char *const *file_names)
{
    bool text = strcmp(model->format, "text") == 0 && !cli_on_stdout(model->html);
    bool asked = model->svg || model->html;
    const char *folder = model->output ? model->output : text && !asked && !model->no_default_folder ? "output" : NULL;
    ek_output picture = ek_output_of_balance(report);
    if (report->n_cases == 0)
        return true;
    if (!cli_save_file(model->svg, picture, "svg") || !cli_save_file(model->chrome_trace, picture, "chrome"))
        return false;
    if (model->html && !cli_write_plans_page(model->html, report))
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
        if (!cli_save_file(path, picture, "svg"))
            return false;
        if (text)
            printf("  %s\n", path);
    }
    return fflush(stdout) == 0;
}
