/* tests/unit/configs.h - configurations that tests go through: those shipped, of the tests, and of others where they
 * are there. */
#ifndef EK_TESTS_CONFIGS_H
#define EK_TESTS_CONFIGS_H

#include <dirent.h>

#include "input.h"

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

/* reference/configs below EK_SHARED. */
static void list_reference(void)
{
    const char *shared = getenv("EK_SHARED");
    char folder[1000];
    int before = n_configs;
    snprintf(folder, sizeof folder, "%s/reference/configs", shared ? shared : "../shared");
    list_folder(folder);
    if (n_configs == before)
        print_message("# no configurations of others here\n");
}

#endif
