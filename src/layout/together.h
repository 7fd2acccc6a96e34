/* layout/together.h - a search on several processes: the long items of each batch are distributed to them.
 *
 * Process 0 runs the search (on a separate thread), as in a single process: it fills batches and evaluates the results.
 * The others do items, each with all its input, so any process can do it, and an item of a lost process is done by
 * another. */
#ifndef EK_LAYOUT_TOGETHER_H
#define EK_LAYOUT_TOGETHER_H

#include "base/pack.h"
#include "layout/search.h"

/* The kind of an item. */
typedef enum ek__errand { EK__ERRAND_LOOK, EK__ERRAND_WHOLE, EK__ERRAND_SLAB } ek__errand;
enum { EK__N_ERRANDS = 3 };

/* Items that other processes can do. */
typedef struct ek__layout_items {
    ek__errand errand;
    ek__layout_work *work; /* does one here */
    /* Is it worth a message? Otherwise it is done here. NULL: all are. */
    bool (*is_long)(void *user, size_t item);
    void (*pack)(void *user, size_t item, ek__pack *to);
    /* Another process's result. Called by a thread other than the search's, one at a time. */
    ek_status (*take)(void *user, size_t item, ek__unpack *from, ek_error *err);
    /* The item's least possible step: it is irrelevant if this is not below the step to beat; NULL: none. */
    double (*least)(void *user, size_t item);
} ek__layout_items;

/* Do items [0, n): by all processes of the search, or by its threads if there is only one. The results are the same. */
ek_status ek__layout_do(ek__layout_search *search, size_t n, const ek__layout_items *items, void *user);

/* Send the step that plans now have to beat to all processes. */
void ek__layout_tell_upper(ek__layout_search *search, double upper);

/* The work of other processes: `search` has the space, and a candidate only for the item. */
typedef ek_status ek__layout_errand(ek__layout_search *search, ek__unpack *what, ek__pack *result, ek_error *err);
ek__layout_errand ek__layout_errand_look;  /* best_first.c */
ek__layout_errand ek__layout_errand_whole; /* prove.c */
ek__layout_errand ek__layout_errand_slab;  /* bound_all.c */

/**
 * Search together: process 0 runs `body` on `search`, and all do its items until it has ended.
 * @param search   of each process, with its space
 * @param errands  [EK__N_ERRANDS] the function for each kind of item
 * @return in process 0: the result of `body`, or the failure of the team. In the others: EK_OK when 0 has ended
 */
ek_status ek__layout_together(ek__layout_search *search, ek_status (*body)(ek__layout_search *search),
                              ek__layout_errand *const *errands);

/* ---- parts of items (together_pack.c) ---- */

/* Known mixes of a pipeline; NULL is none. */
void ek__mixes_pack(const ek__mixes *mixes, ek__pack *to);
/* @param known  the pipeline's in this process, to which missing ones are added
 * @param view   out: as they were packed; borrows from `known`
 * @param out    out: view, NULL if NULL was packed */
ek_status ek__mixes_unpack(ek__unpack *from, ek__mixes *known, ek__mixes *view, ek__mixes **out, ek_error *err);
void ek__mix_pack(const ek__mixes *of, const ek__mix *mix, ek__pack *to);
/* *out is NULL if NULL was packed; ek__mix_free() it. */
ek_status ek__mix_unpack(ek__unpack *from, const ek__mixes *of, ek__mix **out, ek_error *err);
/* The result for a layout, without its estimate. */
void ek__split_pack(const ek__split *split, ek__pack *to);
ek_status ek__split_unpack(ek__unpack *from, const char *path, ek__split *out, ek_error *err);

#endif
