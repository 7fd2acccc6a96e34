/* tests/unit/configs.h - lists the configurations that tests go through: shipped ones, those of the tests, and
 * published ones where available. */
#ifndef EK_TESTS_CONFIGS_H
#define EK_TESTS_CONFIGS_H

#include <dirent.h>

#include "input.h"
#include "skip.h"

enum { MOST_CONFIGS = 128 };
static char config[MOST_CONFIGS][1024];
static int n_configs;

static void list_folder(const char *folder)
{
    DIR *files = opendir(folder);
    for (struct dirent *entry; files && (entry = readdir(files));)
        if ((strstr(entry->d_name, ".yaml") || strstr(entry->d_name, ".sh")) && n_configs < MOST_CONFIGS)
            snprintf(config[n_configs++], sizeof config[0], "%s/%s", folder, entry->d_name);
    if (files)
        closedir(files);
}

static int n_of_others;

/* Those of ../shared, if it is there. */
static void list_reference(void)
{
    int before = n_configs;
    list_folder(shared_path("reference/configs"));
    n_of_others = n_configs - before;
}

/* A case of every test that lists them: without them it is skipped, so that the summary counts it. */
static void configurations_of_others_are_among_them(void **state)
{
    (void)state;
    need_shared("reference/configs");
    assert_true(n_of_others >= 29);
}

#endif
