/* Tests files that appear whole or not at all: the state of the disk at each point, after a failure, and after a signal
 * handler. tests/cli/outputs.sh tries the same through the commands. */
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evenkeel/save.h"

static char top[64], target[128];

/* ---- the calls that matter, in their order ---- */

static char calls[256];
static int failing; /* errno of the next fsync(); 0: none */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_fsync(int fd)
{
    struct stat about;
    bool folder = fstat(fd, &about) == 0 && S_ISDIR(about.st_mode);
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), "fsync of a %s of %ld bytes; ",
             folder ? "folder" : "file", folder ? 0L : (long)about.st_size);
    if (!failing)
        return __real_fsync(fd);
    errno = failing;
    failing = 0;
    return -1;
}

int __wrap_rename(const char *from, const char *to)
{
    snprintf(calls + strlen(calls), sizeof calls - strlen(calls), "rename; ");
    return __real_rename(from, to);
}

/* ---- a folder for every test, with a file ---- */

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static int make_top(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/evenkeel_save_XXXXXX");
    if (!mkdtemp(top))
        return -1;
    snprintf(target, sizeof target, "%s/file", top);
    write_text(target, "old");
    calls[0] = '\0';
    return 0;
}

/* Names in the folder; those that are not among the expected ones are removed, so that the folder can be. */
static int count_files(bool remove)
{
    DIR *folder = opendir(top);
    int n = 0;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        if (remove)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder)
        closedir(folder);
    return n;
}

static int remove_top(void **state)
{
    (void)state;
    count_files(true);
    return rmdir(top);
}

static void assert_text(const char *path, const char *wanted)
{
    char text[64] = "";
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    size_t size = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    assert_int_equal(size, strlen(wanted));
    assert_string_equal(text, wanted);
}

static ek_save *begin(const char *path, const ek_save_options *options)
{
    ek_save *save = NULL;
    ek_error err = {0};
    if (ek_save_begin(path, options, &save, &err))
        fail_msg("%s", err.message);
    fputs("new text", ek_save_stream(save));
    return save;
}

static mode_t mode_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

/* ---- the tests ---- */

static void bytes_are_on_the_disk_before_the_name(void **state)
{
    (void)state;
    ek_save *save = begin(target, NULL);
    assert_text(target, "old");
    assert_int_equal(ek_save_finish(save, NULL), EK_OK);
    assert_text(target, "new text");
    assert_string_equal(calls, "fsync of a file of 8 bytes; rename; fsync of a folder of 0 bytes; ");
    assert_int_equal(count_files(false), 1);
}

static void a_disk_that_fails_leaves_the_old_file(void **state)
{
    (void)state;
    ek_error err = {0};
    failing = EIO;
    assert_int_equal(ek_save_finish(begin(target, NULL), &err), EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, strerror(EIO)));
    assert_non_null(strstr(err.message, target));
    assert_text(target, "old");
    assert_int_equal(count_files(false), 1);
    failing = EINVAL; /* a file system that has nothing to bring to a disk */
    assert_int_equal(ek_save_finish(begin(target, NULL), NULL), EK_OK);
    assert_text(target, "new text");
}

static void what_is_dropped_was_never_there(void **state)
{
    (void)state;
    ek_save_drop(begin(target, NULL));
    ek_save_drop(NULL);
    assert_text(target, "old");
    assert_int_equal(count_files(false), 1);
}

static void a_file_on_its_way_is_for_its_owner_alone(void **state)
{
    (void)state;
    assert_int_equal(chmod(target, 0644), 0);
    ek_save *save = begin(target, NULL);
    struct stat about;
    int fd = fileno(ek_save_stream(save));
    assert_int_equal(fstat(fd, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(ek_save_finish(save, NULL), EK_OK);
    assert_int_equal(mode_of(target), 0644);
}

static void a_file_has_the_mode_that_was_asked_for(void **state)
{
    (void)state;
    char path[160];
    struct stat about;
    snprintf(path, sizeof path, "%s/other", top);
    assert_int_equal(ek_save_finish(begin(path, NULL), NULL), EK_OK);
    assert_int_equal(mode_of(path), 0600);
    unlink(path);
    assert_int_equal(ek_save_finish(begin(path, &(ek_save_options){.mode = 0640}), NULL), EK_OK);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(chmod(target, 0604), 0);
    bool root = geteuid() == 0;
    if (root)
        assert_int_equal(chown(target, 12345, 23456), 0);
    assert_int_equal(ek_save_finish(begin(path, &(ek_save_options){.executable = true}), NULL), EK_OK);
    assert_int_equal(mode_of(path), 0750); /* of the existing file, for its permitted readers */
    const ek_save_options like = {.mode = 0666, .like = target, .keep_owner = true};
    assert_int_equal(ek_save_finish(begin(path, &like), NULL), EK_OK);
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_uid, root ? 12345 : geteuid());
    assert_true(!root || about.st_gid == 23456);
}

/* Without its group the bits of the group would be another group's. In a child, which is no longer root. */
static void bits_of_a_group_that_is_lost_are_lost(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip_because("only root can make a file of another user");
    assert_int_equal(chmod(top, 0777), 0);
    assert_int_equal(chown(target, 12345, 23456), 0);
    assert_int_equal(chmod(target, 0666 & ~0002), 0); /* the others may read */
    pid_t child = fork();
    if (child == 0) {
        ek_save *save = NULL;
        ek_error err;
        bool refused = setgid(65534) == 0 && setuid(65534) == 0 &&
                       ek_save_begin(target, NULL, &save, &err) == EK_ERR_SYSTEM; /* it may not write that one */
        char copy[160];
        snprintf(copy, sizeof copy, "%s/copy", top);
        bool kept = ek_save_begin(copy, &(ek_save_options){.like = target, .keep_owner = true}, &save, &err) == EK_OK;
        bool fine = ek_save_begin(copy, &(ek_save_options){.like = target}, &save, &err) == EK_OK &&
                    ek_save_finish(save, &err) == EK_OK && mode_of(copy) == 0644;
        _exit(refused && !kept && fine ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void names_may_be_as_long_as_names_can_be(void **state)
{
    (void)state;
    char path[512];
    int n = snprintf(path, sizeof path, "%s/", top);
    memset(path + n, 'x', 255);
    path[n + 255] = '\0';
    assert_int_equal(ek_save_finish(begin(path, NULL), NULL), EK_OK);
    assert_text(path, "new text");
    path[n + 255] = 'x';
    path[n + 256] = '\0';
    ek_save *save;
    assert_int_equal(ek_save_begin(path, NULL, &save, NULL), EK_ERR_SYSTEM);
    assert_int_equal(errno, ENAMETOOLONG);
}

static void links_are_gone_through_and_folders_refused(void **state)
{
    (void)state;
    char path[160];
    ek_save *save;
    ek_error err;
    struct stat about;
    snprintf(path, sizeof path, "%s/link", top);
    assert_int_equal(symlink("file", path), 0);
    assert_int_equal(ek_save_finish(begin(path, NULL), NULL), EK_OK);
    assert_text(target, "new text");
    assert_true(lstat(path, &about) == 0 && S_ISLNK(about.st_mode));
    unlink(target);
    assert_int_equal(ek_save_begin(path, NULL, &save, &err), EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, "a link to nothing"));
    assert_int_equal(ek_save_begin(top, NULL, &save, &err), EK_ERR_SYSTEM);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(ek_save_begin("", NULL, &save, &err), EK_ERR_SYSTEM);
}

static void devices_are_written_as_they_are(void **state)
{
    (void)state;
    ek_error err = {0};
    assert_int_equal(ek_save_finish(begin("/dev/null", NULL), NULL), EK_OK);
    assert_int_equal(ek_save_finish(begin("/dev/full", NULL), &err), EK_ERR_SYSTEM);
    assert_non_null(strstr(err.message, strerror(ENOSPC)));
    assert_string_equal(calls, ""); /* nothing was renamed onto them */
}

static void *make_another(void *unused)
{
    ek_save *save;
    ek_save_begin(target, NULL, &save, NULL);
    return unused;
}

/* In a child, as the end of a process: unfinished files are removed, and another thread creates no more. */
static void a_handler_removes_all_and_nothing_follows(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        char pattern[128], stays[128], released[128];
        int fd;
        snprintf(pattern, sizeof pattern, "%s/spool-XXXXXX", top);
        snprintf(stays, sizeof stays, "%s/stays", top);
        snprintf(released, sizeof released, "%s/released", top);
        begin(target, NULL);
        begin(target, NULL);
        if (ek_save_finish(begin(stays, &(ek_save_options){.temporary = true}), NULL) ||
            ek_save_finish(begin(released, &(ek_save_options){.temporary = true}), NULL))
            _exit(4);
        ek_temporary_remove(released);
        if (ek_temporary_open(pattern, &fd, NULL) || count_files(false) != 5)
            _exit(1);
        ek_temporaries_remove();
        if (count_files(false) != 1 || pthread_create(&thread, NULL, make_another, NULL) != 0)
            _exit(2);
        poll(NULL, 0, 50);
        _exit(count_files(false) == 1 ? 0 : 3);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_text(target, "old");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_on_the_disk_before_the_name, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_disk_that_fails_leaves_the_old_file, make_top, remove_top),
        cmocka_unit_test_setup_teardown(what_is_dropped_was_never_there, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_file_on_its_way_is_for_its_owner_alone, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_file_has_the_mode_that_was_asked_for, make_top, remove_top),
        cmocka_unit_test_setup_teardown(bits_of_a_group_that_is_lost_are_lost, make_top, remove_top),
        cmocka_unit_test_setup_teardown(names_may_be_as_long_as_names_can_be, make_top, remove_top),
        cmocka_unit_test_setup_teardown(links_are_gone_through_and_folders_refused, make_top, remove_top),
        cmocka_unit_test_setup_teardown(devices_are_written_as_they_are, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_handler_removes_all_and_nothing_follows, make_top, remove_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
