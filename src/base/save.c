/* Writes files that appear whole or not at all. The temporary file is in the folder of its target, since a rename works
 * only there, and has a short name, since the target's may have the maximal length. */
#include "evenkeel/save.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temporary.h"

#define PATTERN ".evenkeel-XXXXXX"

struct ek_save {
    char *name;          /* as the caller calls it */
    char path[PATH_MAX]; /* the replaced file, not a link */
    char *temporary;     /* NULL: it is written in place */
    FILE *out;
    mode_t mode;
    bool stays_temporary;
};

static ek_status fail(const char *name, const char *why, int number, ek_error *err)
{
    ek__set_error(err, EK_ERR_SYSTEM, (ek_origin){name, 0, 0}, "cannot write '%s': %s", name, why);
    errno = number;
    return EK_ERR_SYSTEM;
}

static ek_status fail_errno(const char *name, ek_error *err)
{
    int why = errno;
    return fail(name, strerror(why), why, err);
}

/* Length of the folder with its last slash; 0: the current one. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Resolve a name's links, and check the file there. */
static ek_status resolve(ek_save *save, bool *there, struct stat *about, ek_error *err)
{
    struct stat link;
    *there = stat(save->name, about) == 0;
    if (*there && S_ISDIR(about->st_mode))
        return fail(save->name, strerror(EISDIR), EISDIR, err);
    if (*there && !S_ISREG(about->st_mode))
        return EK_OK;
    if (*there)
        return realpath(save->name, save->path) ? EK_OK : fail_errno(save->name, err);
    if (errno != ENOENT)
        return fail_errno(save->name, err);
    if (lstat(save->name, &link) == 0)
        return fail(save->name, "it is a link to nothing; remove it, or give another name", ENOENT, err);
    if (strlen(save->name) >= sizeof save->path)
        return fail(save->name, strerror(ENAMETOOLONG), ENAMETOOLONG, err);
    if (!*save->name)
        return fail(save->name, strerror(ENOENT), ENOENT, err);
    memcpy(save->path, save->name, strlen(save->name) + 1);
    return EK_OK;
}

/* Open a pipe or a device. A path that has become a regular file since is not truncated. */
static ek_status open_in_place(ek_save *save, ek_error *err)
{
    int fd = open(save->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    save->out = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (save->out)
        return EK_OK;
    ek_status status = fail_errno(save->name, err);
    if (fd >= 0)
        close(fd);
    return status;
}

/* Owner and group as another file's. Without one of them the bits that it was given would be somebody else's. */
static ek_status take_owner(ek_save *save, const struct stat *as, bool keep, ek_error *err)
{
    struct stat now;
    int fd = fileno(save->out);
    if (fchown(fd, as->st_uid, as->st_gid) == 0)
        return EK_OK;
    if (fchown(fd, (uid_t)-1, as->st_gid) != 0 || fstat(fd, &now) != 0 || now.st_gid != as->st_gid)
        save->mode &= ~(mode_t)(S_IRWXG | S_ISGID) | (save->mode & S_IRWXO) << 3;
    save->mode &= ~(mode_t)S_ISUID;
    if (!keep)
        return EK_OK;
    return fail(save->name, "its owner and group cannot be kept; ask its owner, or write a copy under another name",
                EPERM, err);
}

static ek_status open_temporary(ek_save *save, ek_error *err)
{
    size_t folder = folder_length(save->path);
    char *pattern = ek__alloc(folder + sizeof PATTERN, 1);
    int fd = -1;
    if (!pattern)
        return ek__no_memory(err);
    memcpy(pattern, save->path, folder);
    memcpy(pattern + folder, PATTERN, sizeof PATTERN);
    ek_status status = ek_temporary_open(pattern, &fd, err);
    if (status == EK_OK) {
        save->temporary = pattern;
        save->out = fdopen(fd, "wb");
        if (save->out)
            return EK_OK;
        close(fd);
        return ek__no_memory(err);
    }
    int why = errno;
    free(pattern);
    errno = why;
    return status == EK_ERR_SYSTEM ? fail_errno(save->name, err) : status;
}

static ek_status begin(ek_save *save, const ek_save_options *options, ek_error *err)
{
    struct stat about = {0}, as;
    bool there;
    ek_status status = resolve(save, &there, &about, err);
    if (status)
        return status;
    if (there && !S_ISREG(about.st_mode))
        return open_in_place(save, err);
    if (there && faccessat(AT_FDCWD, save->path, W_OK, AT_EACCESS) != 0)
        return fail_errno(save->name, err);
    if (options->like && stat(options->like, &as) != 0)
        return fail_errno(options->like, err);
    bool copies = options->like || there;
    if (!options->like)
        as = about;
    status = open_temporary(save, err);
    if (status)
        return status;
    save->mode = copies ? as.st_mode & 07777 : options->mode ? options->mode & 0777 : 0600;
    save->stays_temporary = options->temporary;
    if (options->executable)
        save->mode |= (save->mode & 0444) >> 2;
    return copies ? take_owner(save, &as, options->keep_owner, err) : EK_OK;
}

ek_status ek_save_begin(const char *path, const ek_save_options *options, ek_save **out, ek_error *err)
{
    const ek_save_options none = {0};
    ek_save *save = ek__alloc(1, sizeof *save);
    char *name = strdup(path);
    if (!save || !name) {
        free(save);
        free(name);
        return ek__no_memory(err);
    }
    save->name = name;
    ek_status status = begin(save, options ? options : &none, err);
    if (status == EK_OK) {
        *out = save;
        return EK_OK;
    }
    int why = errno;
    ek_save_drop(save);
    errno = why;
    return status;
}

FILE *ek_save_stream(const ek_save *save)
{
    return save->out;
}

/* Some file systems have nothing to bring to a disk. */
static bool sync_file(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOSYS || errno == EROFS;
}

/* The new name in its folder. The file is already in its place, so a failure here is not an error. */
static void sync_folder(ek_save *save)
{
    size_t length = folder_length(save->path);
    save->path[length] = '\0';
    int fd = open(length ? save->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

/* The mode is set last: until then only the owner has access. */
static bool settle(ek_save *save)
{
    int fd = fileno(save->out);
    bool fine = fflush(save->out) == 0 && !ferror(save->out);
    if (fine && save->temporary)
        fine = fchmod(fd, save->mode) == 0 && sync_file(fd);
    int why = errno;
    bool closed = fclose(save->out) == 0;
    save->out = NULL;
    if (!fine)
        errno = why;
    return fine && closed;
}

ek_status ek_save_finish(ek_save *save, ek_error *err)
{
    assert(save->out);
    ek_status status = EK_OK;
    if (!settle(save) || (save->temporary && !ek__temporary_rename(save->temporary, save->path, save->stays_temporary)))
        status = fail_errno(save->name, err);
    if (status == EK_OK && save->temporary) {
        sync_folder(save);
        free(save->temporary); /* a name that is no longer ours to remove */
        save->temporary = NULL;
    }
    ek_save_drop(save);
    return status;
}

void ek_save_drop(ek_save *save)
{
    if (!save)
        return;
    if (save->out)
        fclose(save->out);
    if (save->temporary)
        ek_temporary_remove(save->temporary);
    free(save->temporary);
    free(save->name);
    free(save);
}
