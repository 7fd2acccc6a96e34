/* Makes the document of a served page. Its figures take time and memory that a server should not spend: a child
 * process, started before any thread, computes them, writes the document into a file without a name, and exits, which
 * frees its memory; the file is mapped. A copy in the index's folder, under a key of the names, sizes and times of all
 * files and of the request, saves the work the next time. */
#include "view_document.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "evenkeel/evenkeel.h"
#include "evenkeel/write.h"
#include "files.h"

enum { MAX_PATH = 4096, MAX_DEPTH = 16 };

/* ---- the key ---- */

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t mix_number(uint64_t hash, int64_t number)
{
    return mix(hash, &number, sizeof number);
}

static uint64_t mix_file(uint64_t hash, const char *path, const struct stat *about)
{
    hash = mix_text(hash, path);
    hash = mix_number(hash, about->st_size);
    hash = mix_number(hash, about->st_mtim.tv_sec);
    return mix_number(hash, about->st_mtim.tv_nsec);
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A file, or all files below a folder; the index's own folder is no input. */
static uint64_t mix_path(uint64_t hash, const char *path, const struct stat *own, int depth)
{
    struct stat about;
    struct dirent **entry = NULL;
    if (stat(path, &about) != 0)
        return mix_text(hash, path);
    if (!S_ISDIR(about.st_mode))
        return mix_file(hash, path, &about);
    if (depth > MAX_DEPTH || (about.st_dev == own->st_dev && about.st_ino == own->st_ino))
        return hash;
    int n = scandir(path, &entry, not_hidden, alphasort);
    for (int i = 0; i < n; i++) {
        char below[MAX_PATH];
        if (snprintf(below, sizeof below, "%s/%s", path, entry[i]->d_name) < (int)sizeof below)
            hash = mix_path(hash, below, own, depth + 1);
        free(entry[i]);
    }
    free(entry);
    return hash;
}

static uint64_t mix_set(uint64_t hash, const ek_view_files *set, const struct stat *own, bool content)
{
    for (int i = 0; i < set->files.n; i++) {
        const char *path = set->files.file[i].path;
        char whole[MAX_PATH];
        if (realpath(path, whole))
            path = whole;
        hash = content ? mix_path(hash, path, own, 0) : mix_text(hash, path);
    }
    return mix_number(hash, set->files.n);
}

/* The name identifies the request, the key the files. */
static void name_kept(cli_document *document, const cli_view_how *how, const char *title, const char *folder,
                      const ek_view_files *first, const ek_view_files *second)
{
    struct stat own = {0};
    uint64_t asked = mix_text(UINT64_C(0xcbf29ce484222325), EK_VERSION);
    asked = mix_text(mix_text(asked, title), how->device);
    asked = mix_number(mix_number(asked, how->stages), (int64_t)(1024 * how->limit_mb));
    asked = mix_number(asked, how->model.n_micro_batches);
    asked = mix_text(asked, how->model.schedule ? how->model.schedule->name : NULL);
    asked = mix_set(mix_set(asked, first, &own, false), second, &own, false);
    if (stat(folder, &own) != 0 ||
        snprintf(document->kept_path, sizeof document->kept_path, "%s/document-%016" PRIx64 ".ekdocument", folder,
                 asked) >= (int)sizeof document->kept_path) {
        document->kept_path[0] = '\0';
        return;
    }
    uint64_t there = mix_set(mix_set(asked, first, &own, true), second, &own, true);
    if (how->device && access(how->device, F_OK) == 0)
        there = mix_path(there, how->device, &own, 0);
    snprintf(document->kept_key, sizeof document->kept_key, "evenkeel document %016" PRIx64 "\n", there);
}

/* ---- the document ---- */

static bool map(cli_document *document, int file)
{
    struct stat about;
    if (fstat(file, &about) != 0 || about.st_size <= 0)
        return false;
    void *mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED)
        return false;
    document->mapped = mapped;
    document->mapped_size = (size_t)about.st_size;
    document->text = mapped;
    document->size = document->mapped_size;
    return true;
}

static void report(cli_document *document, cli_document_state state)
{
    __atomic_store_n(&document->state, (int)state, __ATOMIC_RELEASE);
}

/* The kept document of an earlier start, when its key is the same and it is whole. */
static bool read_kept(cli_document *document)
{
    size_t length = strlen(document->kept_key);
    int file = open(document->kept_path, O_RDONLY | O_CLOEXEC);
    bool fine = file >= 0 && map(document, file) && document->size > length + 1 &&
                memcmp(document->text, document->kept_key, length) == 0;
    if (file >= 0)
        close(file);
    if (fine) {
        document->text += length;
        document->size -= length;
        report(document, CLI_DOCUMENT_READY);
    } else if (document->mapped) {
        munmap(document->mapped, document->mapped_size);
        document->mapped = NULL;
    }
    return fine;
}

static ek_status write_kept(const void *user, FILE *out, ek_error *err)
{
    const cli_document *document = user;
    if (fputs(document->kept_key, out) >= 0 && fwrite(document->text, 1, document->size, out) == document->size &&
        fflush(out) == 0)
        return EK_OK;
    snprintf(err->message, sizeof err->message, "%s", strerror(errno));
    return EK_ERR_SYSTEM;
}

void cli_document_check(cli_document *document)
{
    int how;
    if (document->child == 0 || waitpid(document->child, &how, WNOHANG) != document->child)
        return;
    document->child = 0;
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0 || !map(document, document->file)) {
        cli_note("the figures could not be computed, but the timeline is there (run `evenkeel trace` on the same files "
                 "for details)");
        report(document, CLI_DOCUMENT_FAILED);
        return;
    }
    report(document, CLI_DOCUMENT_READY);
    if (document->kept_path[0])
        cli_write_own(document->kept_path, write_kept, document);
}

bool cli_document_get(void *user, const char **text, size_t *size)
{
    const cli_document *document = user;
    int state = __atomic_load_n(&document->state, __ATOMIC_ACQUIRE);
    *text = state == CLI_DOCUMENT_READY ? document->text : NULL;
    *size = state == CLI_DOCUMENT_READY ? document->size : 0;
    return state != CLI_DOCUMENT_MAKING;
}

/* ---- the child ---- */

/* Quiet, without the parent's ways with signals, and not longer than the parent. */
static void become_child(pid_t parent)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
    signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C goes to both; the parent ends this one */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(1);
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) {
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
    }
}

static bool write_document(const cli_view_how *how, const char *title, FILE *out, ek_view_files *first,
                           ek_view_files *second)
{
    ek_error err;
    ek_view_run run[2];
    if (!cli_view_read(how, NULL, first))
        return false;
    run[0] = first->run[0];
    bool compared = second->files.n > 0;
    if (compared && !cli_view_read(how, first, second))
        return false;
    run[1] = second->run[0];
    const ek_view view = {.title = title, .n_runs = compared ? 2 : 1, .run = run, .served = true};
    return ek_write(ek_output_of_page(&view), "json", out, &err) == EK_OK && fflush(out) == 0;
}

bool cli_document_begin(cli_document *document, const cli_view_how *how, const char *title, const char *folder,
                        ek_view_files *first, ek_view_files *second)
{
    *document = (cli_document){.file = -1};
    if (folder)
        name_kept(document, how, title, folder, first, second);
    if (document->kept_path[0] && !how->fresh && read_kept(document))
        return true;
    FILE *out = tmpfile();
    pid_t parent = getpid(), child = -1;
    if (out) {
        fflush(NULL); /* buffered output must not be written twice */
        document->file = dup(fileno(out));
        child = document->file >= 0 ? fork() : -1;
    }
    if (child == 0) {
        become_child(parent);
        _exit(write_document(how, title, out, first, second) ? 0 : 1);
    }
    if (child < 0)
        cli_error(NULL, "cannot begin to work out the figures: %s", strerror(errno));
    if (out)
        fclose(out);
    document->child = child > 0 ? child : 0;
    return child > 0;
}

void cli_document_end(cli_document *document)
{
    if (document->child > 0) {
        kill(document->child, SIGKILL);
        while (waitpid(document->child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (document->mapped)
        munmap(document->mapped, document->mapped_size);
    if (document->file >= 0)
        close(document->file);
    *document = (cli_document){.file = -1};
}
