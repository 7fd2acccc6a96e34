/* cli/page.h - pages for a browser, for --html. */
#ifndef EK_CLI_PAGE_H
#define EK_CLI_PAGE_H

#include "evenkeel/view.h"

/** The row of the language that a page begins in; `field` is a text. */
#define CLI_LANG_ROW(owner, field)                                                                                     \
    {                                                                                                                  \
        "lang", "en|zh", "language of the page, which its reader may change: English or Chinese ({})", NULL,           \
            CLI_WORD(owner, field), .otherwise = "en"                                                                  \
    }

/**
 * One page of some runs into a file ("-": stdout), whole or not at all. Where runs have the same name, the later ones
 * get a number appended, since addresses identify runs by name.
 * @param lang  that it begins in, as ek_view.lang; NULL
 * @return false after a message
 */
bool cli_write_page(const char *path, const char *title, const char *lang, const ek_view_run *run, int n_runs);

/** A page of all cases of a report, the first one first. False after a message. */
bool cli_write_plans_page(const char *path, const char *lang, const ek_report *report);

#endif
