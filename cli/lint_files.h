/* cli/lint_files.h - the files that `evenkeel lint` looks at. */
#ifndef EK_CLI_LINT_FILES_H
#define EK_CLI_LINT_FILES_H

#include <stdbool.h>

typedef struct cli_lint_files {
    char **path; /* [n], in the order of the operands, those of a folder by name */
    bool *found; /* [n] below a folder; false: named by the user */
    int n, capacity;
} cli_lint_files;

/** Add a file, or every *.yaml, *.yml, *.sh, *.bash, *.env, *.py below a folder; names with a dot in front, links to
 *  folders and what is no regular file are left out. False after a message. */
bool cli_lint_files_add(cli_lint_files *files, const char *path);
void cli_lint_files_clear(cli_lint_files *files);

#endif
