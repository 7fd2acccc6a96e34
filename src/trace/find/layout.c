/* Assigns the found files to ranks. A key is made for every file: the folder above ASCEND_PROFILER_OUTPUT, or the
 * folder with the number in the file's name, or the file itself; files of one key are one rank. The rank's number comes
 * from profiler_info, the folder's name or the file's. Sorting everywhere: the order of paths and entries has no
 * influence. Ranks are not read from the contents of traces; that is done by their readers. */
#include "trace/find/layout.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/database/database.h"
#include "trace/text/side_json.h"

static const char output_folder[] = "ASCEND_PROFILER_OUTPUT";
static const char cluster_folder[] = "cluster_analysis_output";

/* The input of every rule. */
typedef struct grouping {
    ek__file_search search;
    int n_homes;
    ek__path_part *home; /* folders that contain an ASCEND_PROFILER_OUTPUT, sorted */
    int n_raw;
    const ek__found **raw; /* [n_raw]: in PROF_ folders, by the folder above and key */
    bool no_memory;        /* for the source of some files' rank */
    ek_error *err;
} grouping;

static ek__path_part name_of(const ek__found *f)
{
    return ek__last_of(ek__part_of(f->full));
}

static ek__path_part folder_of(const ek__found *f)
{
    return ek__folder_of(ek__part_of(f->full));
}

static bool same(ek__path_part a, ek__path_part b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* ---- homes ---- */

static int compare_parts(const void *a, const void *b)
{
    const ek__path_part *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    if (order != 0)
        return order;
    return (x->n > y->n) - (x->n < y->n);
}

static ek_status find_homes(grouping *g)
{
    g->home = ek__pool_alloc(g->search.pool, (size_t)g->search.n_found, sizeof *g->home);
    if (!g->home)
        return ek__no_memory(g->err);
    for (int i = 0; i < g->search.n_found; i++) {
        ek__path_part folder = folder_of(&g->search.found[i]);
        if (ek__part_is(ek__last_of(folder), output_folder))
            g->home[g->n_homes++] = ek__folder_of(folder);
    }
    if (g->n_homes > 0)
        qsort(g->home, (size_t)g->n_homes, sizeof *g->home, compare_parts);
    return EK_OK;
}

static bool is_home(const grouping *g, ek__path_part folder)
{
    return g->n_homes > 0 && bsearch(&folder, g->home, (size_t)g->n_homes, sizeof *g->home, compare_parts) != NULL;
}

/* ---- keys ---- */

static ek_status set_key(grouping *g, ek__found *f, ek__path_part folder, int number)
{
    /* A line feed is indistinguishable from one in a folder's name; the number after it does no harm there. */
    if (number >= 0)
        f->key = ek__pool_format(g->search.pool, "%.*s\n%d", (int)folder.n, folder.at, number);
    else
        f->key = ek__pool_text(g->search.pool, folder.at, folder.n);
    return f->key ? EK_OK : ek__no_memory(g->err);
}

static bool is_iteration(ek__path_part name)
{
    int number[3];
    return ek__part_begins(name, "msprof_") && ek__end_numbers(ek__stem_of(name), number) == 3;
}

static bool has_text(ek__path_part part, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= part.n; i++)
        if (memcmp(part.at + i, text, n) == 0)
            return true;
    return false;
}

/* Databases in a folder of one rank, with its tables. */
static bool is_of_ascend(ek__path_part name)
{
    return ek__part_begins(name, "ascend_") || ek__part_begins(name, "msprof_");
}

/* The number in a bare file's own name. Kineto's names contain times, sizes and versions: only "rank" counts. */
static int own_number(const ek__found *f)
{
    ek__path_part name = name_of(f), stem = ek__stem_of(name);
    int number[3], n = ek__end_numbers(stem, number), rank = ek__number_behind(stem, "rank");
    if (rank >= 0)
        return rank;
    if (f->types && ek__part_begins(name, "ascend_"))
        return ek__last_number(stem);
    switch (f->type) {
    case EK__FILE_TRACE:
        if (n == 3 && (ek__part_begins(name, "msprof_") || ek__part_begins(name, "hccl_") ||
                       ek__part_begins(name, "task_time_") || ek__part_begins(name, "step_trace_")))
            return number[0];
        return ek__part_begins(name, "trace_view") || has_text(name, "timeline_display") ? ek__last_number(stem) : -1;
    case EK__FILE_op_summary:
    case EK__FILE_op_statistic:
    case EK__FILE_msprof_tx:
        return n == 3 ? number[0] : -1; /* with device, model and iteration, or with a time */
    default:
        return ek__last_number(stem);
    }
}

/* The folder PROF_... of a path, and the device_N below it; false without one. */
static bool find_prof(const ek__found *f, ek__path_part *prof, int *device)
{
    *device = -1;
    for (ek__path_part folder = folder_of(f); folder.n > 1; folder = ek__folder_of(folder)) {
        ek__path_part last = ek__last_of(folder);
        if (ek__part_begins(last, "device_"))
            *device = ek__last_number(last);
        if (ek__part_begins(last, "PROF_")) {
            *prof = folder;
            return true;
        }
    }
    return false;
}

static ek_status key_of_prof(grouping *g, ek__found *f, ek__path_part prof, int device)
{
    ek__path_part above = ek__folder_of(prof);
    f->prof = ek__pool_text(g->search.pool, prof.at, prof.n);
    if (!f->prof)
        return ek__no_memory(g->err);
    f->device_id = device >= 0 ? device : own_number(f);
    if (is_home(g, above))
        return set_key(g, f, above, -1);
    f->number = f->device_id;
    return f->number >= 0 ? set_key(g, f, above, f->number) : set_key(g, f, prof, -1);
}

static ek_status key_of_bare(grouping *g, ek__found *f)
{
    ek__path_part folder = folder_of(f), name = name_of(f);
    f->number = own_number(f);
    f->stage = ek__number_behind(ek__stem_of(name), "stage");
    if (is_iteration(name))
        f->device_id = f->number;
    /* Without a number, trace_view.json and tables belong to the folder's one rank; each other trace to a rank of its
     * own. */
    bool is_alone = f->type == EK__FILE_TRACE && !ek__part_is(ek__stem_of(name), "trace_view") &&
                    !ek__part_is(ek__stem_of(name), "msprof") && !(f->types && is_of_ascend(name));
    if (f->number < 0 && is_alone)
        return set_key(g, f, ek__part_of(f->full), -1);
    return set_key(g, f, folder, f->number);
}

static ek_status find_key(grouping *g, ek__found *f)
{
    ek__path_part folder = folder_of(f), prof;
    int device;
    if (ek__part_is(ek__last_of(folder), output_folder))
        return set_key(g, f, ek__folder_of(folder), -1);
    if ((f->type == EK__FILE_profiler_info || f->type == EK__FILE_profiler_metadata) && is_home(g, folder))
        return set_key(g, f, folder, -1);
    if (find_prof(f, &prof, &device))
        return key_of_prof(g, f, prof, device);
    return key_of_bare(g, f);
}

static bool is_common(const ek__found *f)
{
    return f->type == EK__FILE_cluster_step_trace_time || f->type == EK__FILE_communication_group;
}

/* ---- files of a folder that are left out ---- */

static int by_key(const void *a, const void *b)
{
    const ek__found *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : strcmp(x->path, y->path);
}

static bool is_in_output(const ek__found *f)
{
    return ek__part_is(ek__last_of(folder_of(f)), output_folder);
}

/* Parts of an msprof file of the same device that has all of them. */
static bool is_part_of_msprof(const ek__found *f)
{
    ek__path_part name = name_of(f);
    return f->type == EK__FILE_TRACE && (ek__part_begins(name, "hccl_") || ek__part_begins(name, "task_time_") ||
                                         ek__part_begins(name, "step_trace_"));
}

/* Better sources of the same content among the files of a rank. */
typedef struct better {
    bool framework; /* the framework's own trace in ASCEND_PROFILER_OUTPUT */
    bool msprof;
} better;

static better find_better(const ek__found *of, int n)
{
    better b = {false, false};
    for (int i = 0; i < n; i++) {
        if (of[i].type != EK__FILE_TRACE)
            continue;
        b.framework = b.framework || (!of[i].prof && is_in_output(&of[i]));
        b.msprof = b.msprof || ek__part_begins(name_of(&of[i]), "msprof");
    }
    return b;
}

/* Is `f` a duplicate? `before` is the file before it in order of path, where its plain twin would be. */
static bool is_told_again(const ek__found *f, const ek__found *before, const better *b)
{
    if (f->prof && b->framework)
        return true;
    if (f->type != EK__FILE_TRACE)
        return false;
    if (b->msprof && (is_part_of_msprof(f) || has_text(name_of(f), "timeline_display")))
        return true;
    size_t size = before ? strlen(before->full) : 0;
    return before && strncmp(f->full, before->full, size) == 0 && strcmp(f->full + size, ".gz") == 0;
}

/* A device profiled twice below one folder: results of two ranks, which must not be mixed. */
static ek_status part_profs(grouping *g, ek__found *of, int n)
{
    const char *only = NULL;
    bool several = false;
    for (int i = 0; i < n; i++) {
        several = several || (of[i].prof && only && strcmp(only, of[i].prof) != 0);
        only = of[i].prof ? of[i].prof : only;
    }
    for (int i = 0; i < n && several; i++) {
        if (!of[i].prof || is_home(g, ek__folder_of(ek__part_of(of[i].prof))))
            continue;
        ek_status status = set_key(g, &of[i], ek__part_of(of[i].prof), of[i].number);
        if (status)
            return status;
    }
    return EK_OK;
}

/* Traces in one folder are several ranks, with any names, unless the device's profiler wrote them. */
static void part_traces(ek__found *of, int n)
{
    bool have_one = false;
    for (int i = 0; i < n; i++) {
        if (of[i].type != EK__FILE_TRACE || of[i].types || of[i].left_out ||
            ek__part_begins(name_of(&of[i]), "msprof") || is_part_of_msprof(&of[i]))
            continue;
        if (have_one)
            of[i].key = of[i].full;
        have_one = true;
    }
}

static int end_of_key(const ek__file_search *s, int from)
{
    int to = from + 1;
    while (to < s->n_found && strcmp(s->found[to].key, s->found[from].key) == 0)
        to++;
    return to;
}

static void sort_by_key(ek__file_search *s)
{
    if (s->n_found > 0)
        qsort(s->found, (size_t)s->n_found, sizeof *s->found, by_key);
}

static ek_status part_all_profs(grouping *g)
{
    ek__file_search *s = &g->search;
    ek_status status = EK_OK;
    sort_by_key(s);
    for (int from = 0, to; from < s->n_found && status == EK_OK; from = to) {
        to = end_of_key(s, from); /* before keys change; the groups after it do not */
        status = part_profs(g, s->found + from, to - from);
    }
    return status;
}

static void leave_out(ek__file_search *s)
{
    sort_by_key(s);
    for (int from = 0, to; from < s->n_found; from = to) {
        to = end_of_key(s, from);
        better b = find_better(s->found + from, to - from);
        for (int i = from; i < to; i++)
            s->found[i].left_out =
                !s->found[i].given && is_told_again(&s->found[i], i > from ? &s->found[i - 1] : NULL, &b);
        part_traces(s->found + from, to - from);
    }
}

/* ---- ranks ---- */

static int number_in(json_t *value)
{
    json_int_t number = -1;
    if (json_is_integer(value))
        number = json_integer_value(value);
    else if (json_is_string(value) && json_string_length(value) > 0 && json_string_length(value) <= 6 &&
             strspn(json_string_value(value), "0123456789") == json_string_length(value))
        number = (json_int_t)strtol(json_string_value(value), NULL, 10);
    return number >= 0 && number < 1000000 ? (int)number : -1;
}

static int rank_inside(grouping *g, const char *path)
{
    bool no_memory;
    json_t *root = ek__json_load_file(path, &no_memory);
    int rank = number_in(json_object_get(root, "rank_id"));
    json_decref(root);
    g->no_memory |= no_memory;
    return rank;
}

/* The rank by the only profiler_info file in a folder: its name, else its rank_id. */
static int rank_by_info(grouping *g, ek__path_part folder)
{
    char path[EK__LAYOUT_PATH_SIZE + 300];
    int rank = -1, n = 0, length = (int)folder.n;
    if (folder.n >= EK__LAYOUT_PATH_SIZE)
        return -1;
    snprintf(path, sizeof path, "%.*s", length, folder.at);
    DIR *entries = opendir(path);
    g->no_memory |= !entries && errno == ENOMEM;
    if (!entries)
        return -1;
    for (struct dirent *entry; (entry = readdir(entries));) {
        ek__path_part name = ek__part_of(entry->d_name);
        if (!ek__part_begins(name, "profiler_info") || !has_text(name, ".json"))
            continue;
        n++;
        snprintf(path, sizeof path, "%.*s/%s", length, folder.at, entry->d_name);
        rank = ek__last_number(ek__stem_of(name));
        if (rank < 0)
            rank = rank_inside(g, path);
    }
    closedir(entries);
    return n == 1 ? rank : -1;
}

static int rank_by_folders(ek__path_part folder, bool any_number)
{
    int rank = ek__number_behind(ek__last_of(folder), "rank");
    if (rank < 0 && any_number)
        rank = ek__last_number(ek__last_of(folder));
    for (; rank < 0 && folder.n > 1; folder = ek__folder_of(folder))
        rank = ek__number_behind(ek__last_of(folder), "rank");
    return rank;
}

static ek__path_part above_prof(const ek__found *f)
{
    return ek__folder_of(ek__part_of(f->prof));
}

static int by_above_prof(const void *a, const void *b)
{
    const ek__found *x = *(const ek__found *const *)a, *y = *(const ek__found *const *)b;
    ek__path_part p = above_prof(x), q = above_prof(y);
    int order = compare_parts(&p, &q);
    return order != 0 ? order : strcmp(x->key, y->key);
}

static ek_status find_raw(grouping *g)
{
    const ek__file_search *s = &g->search;
    g->raw = ek__pool_alloc(s->pool, (size_t)s->n_found, sizeof *g->raw);
    if (!g->raw)
        return ek__no_memory(g->err);
    for (int i = 0; i < s->n_found; i++)
        if (s->found[i].prof)
            g->raw[g->n_raw++] = &s->found[i];
    if (g->n_raw > 0)
        qsort(g->raw, (size_t)g->n_raw, sizeof *g->raw, by_above_prof);
    return EK_OK;
}

/* Is there no other rank's raw result in the folder above? Then profiler_info there is of this one. */
static bool has_folder_alone(const grouping *g, const ek__found *f)
{
    const ek__found **at = bsearch(&f, g->raw, (size_t)g->n_raw, sizeof *g->raw, by_above_prof);
    ek__path_part folder = above_prof(f);
    for (const ek__found **i = at; i-- > g->raw && same(above_prof(*i), folder);)
        if (strcmp((*i)->key, f->key) != 0)
            return false;
    for (const ek__found **i = at; ++i < g->raw + g->n_raw && same(above_prof(*i), folder);)
        if (strcmp((*i)->key, f->key) != 0)
            return false;
    return true;
}

/* The rank of the files of one key, of which `f` is the first. */
static int rank_of(grouping *g, const ek__found *f)
{
    ek__path_part key = ek__part_of(f->key), folder = folder_of(f);
    int rank = -1;
    if (is_home(g, key)) {
        rank = rank_by_info(g, key);
        return rank >= 0 ? rank : rank_by_folders(key, true);
    }
    if (f->prof) {
        folder = above_prof(f);
        rank = has_folder_alone(g, f) ? rank_by_info(g, folder) : -1;
        if (rank < 0)
            rank = rank_by_folders(folder, false);
        return rank >= 0 ? rank : f->number;
    }
    if (f->number >= 0)
        return f->number;
    bool is_folders = same(key, folder);
    rank = is_folders ? rank_by_info(g, folder) : -1;
    if (rank < 0 && is_folders)
        rank = rank_by_info(g, ek__folder_of(folder));
    return rank >= 0 ? rank : rank_by_folders(folder, is_folders);
}

/* ---- the result ---- */

/* Device, model and iteration in the name of a file that the device's profiler writes for each iteration:
 * msprof_1_0_3.json, op_summary_1_0_3.csv. */
static bool is_of_iteration(const ek__rank_file *f, int number[3])
{
    ek__path_part name = ek__last_of(ek__part_of(f->path));
    bool known = (f->type == EK__FILE_TRACE && ek__part_begins(name, "msprof_")) || f->type == EK__FILE_op_summary ||
                 f->type == EK__FILE_op_statistic;
    return known && ek__end_numbers(ek__stem_of(name), number) == 3;
}

/* By iteration, then model. */
static int compare_iterations(const int *i, const int *k)
{
    for (int at = 2; at > 0; at--)
        if (i[at] != k[at])
            return i[at] < k[at] ? -1 : 1;
    return 0;
}

/* Iterations in their order; else by path. */
static int by_use(const void *a, const void *b)
{
    const ek__rank_file *x = a, *y = b;
    int i[3], k[3];
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    bool iterations = is_of_iteration(x, i), others = is_of_iteration(y, k);
    if (iterations != others)
        return iterations ? -1 : 1;
    int order = iterations ? compare_iterations(i, k) : 0;
    return order != 0 ? order : strcmp(x->path, y->path);
}

static int by_rank(const void *a, const void *b)
{
    const ek__rank_files *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < 0 || (y->rank >= 0 && y->rank < x->rank) ? 1 : -1;
    return strcmp(x->file[0].path, y->file[0].path);
}

/* The text form of each kind of file is read where it exists, else a database, the first by path: both have the same
 * content. A table of operators has two names. */
static void add_database(ek__rank_files *rank, const ek__found *f, uint32_t *have)
{
    const uint32_t operators = EK__FILE_BIT(EK__FILE_kernel_details) | EK__FILE_BIT(EK__FILE_op_summary);
    if (*have & operators)
        *have |= operators;
    for (uint32_t left = f->types & ~*have; left; left &= left - 1)
        rank->file[rank->n_files++] = (ek__rank_file){f->path, (ek__file_type)__builtin_ctz(left), true};
    *have |= f->types;
}

static ek_status make_rank(grouping *g, int from, int to, ek__rank_files *out)
{
    ek__rank_files rank = {.rank = EK_TRACE_NO_RANK, .stage = -1, .device = -1};
    uint32_t have = 0; /* types */
    rank.file = ek__pool_alloc(g->search.pool, (size_t)(to - from) + EK__N_FILE_TYPES, sizeof *rank.file);
    if (!rank.file)
        return ek__no_memory(g->err);
    const ek__found *first = NULL;
    for (int i = from; i < to; i++) {
        const ek__found *f = &g->search.found[i];
        if (f->left_out)
            continue;
        first = first ? first : f;
        if (!f->types) {
            rank.file[rank.n_files++] = (ek__rank_file){f->path, f->type, false};
            have |= EK__FILE_BIT(f->type);
        }
        rank.stage = rank.stage < 0 ? f->stage : rank.stage;
        rank.device = rank.device < 0 ? f->device_id : rank.device;
    }
    for (int i = from; i < to; i++)
        if (!g->search.found[i].left_out && g->search.found[i].types)
            add_database(&rank, &g->search.found[i], &have);
    if (first) {
        rank.rank = rank_of(g, first);
        qsort(rank.file, (size_t)rank.n_files, sizeof *rank.file, by_use);
    }
    *out = rank;
    return EK_OK;
}

/* Types of which more than one group has files. */
static void find_shared(const ek__rank_files *rank, int n, bool shared[EK__N_FILE_TYPES])
{
    bool seen[EK__N_FILE_TYPES] = {0};
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < rank[i].n_files; k++)
            shared[rank[i].file[k].type] |= seen[rank[i].file[k].type];
        for (int k = 0; k < rank[i].n_files; k++)
            seen[rank[i].file[k].type] = true;
    }
}

/* Groups of one number are one rank when no two of them have files of one type, for example a dump of the memory
 * tracker and a profile, or when those are different iterations of one device. `all`: sorted files of the groups. */
static bool may_join(const ek__rank_files *rank, int n, const ek__rank_files *all)
{
    bool shared[EK__N_FILE_TYPES] = {0};
    int number[3], before[3] = {0};
    find_shared(rank, n, shared);
    for (int i = 0; i < all->n_files; i++) {
        const ek__rank_file *f = &all->file[i];
        if (!shared[f->type])
            continue;
        if (!is_of_iteration(f, number))
            return false;
        bool first = i == 0 || all->file[i - 1].type != f->type;
        if (!first && (before[0] != number[0] || compare_iterations(before, number) == 0))
            return false;
        memcpy(before, number, sizeof before);
    }
    return true;
}

/* The files of n groups as one. */
static ek_status join(grouping *g, const ek__rank_files *rank, int n, ek__rank_files *out)
{
    ek__rank_files all = rank[0];
    all.n_files = 0;
    for (int i = 0; i < n; i++)
        all.n_files += rank[i].n_files;
    all.file = ek__pool_alloc(g->search.pool, (size_t)all.n_files, sizeof *all.file);
    if (!all.file)
        return ek__no_memory(g->err);
    for (int i = 0, at = 0; i < n; at += rank[i++].n_files) {
        memcpy(all.file + at, rank[i].file, (size_t)rank[i].n_files * sizeof *all.file);
        all.stage = all.stage < 0 ? rank[i].stage : all.stage;
        all.device = all.device < 0 ? rank[i].device : all.device;
    }
    qsort(all.file, (size_t)all.n_files, sizeof *all.file, by_use);
    *out = all;
    return EK_OK;
}

static ek_status join_ranks(grouping *g, ek__layout *out)
{
    int kept = 0;
    ek_status status = EK_OK;
    for (int from = 0, to; from < out->n_ranks && status == EK_OK; from = to) {
        ek__rank_files *rank = &out->rank[from];
        for (to = from + 1; to < out->n_ranks && rank->rank >= 0 && out->rank[to].rank == rank->rank;)
            to++;
        ek__rank_files all = {0};
        bool one = false;
        if (to - from > 1) {
            status = join(g, rank, to - from, &all);
            one = status == EK_OK && may_join(rank, to - from, &all);
        }
        if (one)
            *rank = all;
        for (int i = from; i < (one ? from + 1 : to); i++)
            out->rank[kept++] = out->rank[i];
    }
    out->n_ranks = kept;
    return status;
}

static ek_status make_ranks(grouping *g, ek__layout *out)
{
    ek__file_search *s = &g->search;
    sort_by_key(s);
    ek_status status = find_raw(g);
    for (int from = 0, to; from < s->n_found && status == EK_OK; from = to) {
        to = end_of_key(s, from);
        ek__rank_files *grown = ek__pool_push(s->pool, out->rank, out->n_ranks, sizeof *grown);
        if (!grown)
            return ek__no_memory(g->err);
        out->rank = grown;
        status = make_rank(g, from, to, &out->rank[out->n_ranks]);
        out->n_ranks += status == EK_OK && out->rank[out->n_ranks].n_files > 0;
    }
    if (status || out->n_ranks == 0)
        return status;
    qsort(out->rank, (size_t)out->n_ranks, sizeof *out->rank, by_rank);
    return join_ranks(g, out);
}

/* Files of the whole run go to `out`; other files in the vendor's folder are dropped. */
static ek_status add_common(grouping *g, ek__layout *out)
{
    ek__file_search *s = &g->search;
    int n = 0;
    for (int i = 0; i < s->n_found; i++) {
        const ek__found f = s->found[i];
        if (is_common(&f)) {
            ek__rank_file *grown = ek__pool_push(s->pool, out->common, out->n_common, sizeof *grown);
            if (!grown)
                return ek__no_memory(g->err);
            out->common = grown;
            out->common[out->n_common++] = (ek__rank_file){f.path, f.type, false};
        } else if (f.given || !ek__part_is(ek__last_of(folder_of(&f)), cluster_folder)) {
            s->found[n++] = f;
        }
    }
    s->n_found = n;
    if (out->n_common > 0)
        qsort(out->common, (size_t)out->n_common, sizeof *out->common, by_use);
    return EK_OK;
}

static ek_status group(grouping *g, ek__layout *out)
{
    ek__file_search *s = &g->search;
    ek_status status = add_common(g, out);
    if (status == EK_OK)
        status = find_homes(g);
    for (int i = 0; i < s->n_found && status == EK_OK; i++)
        status = find_key(g, &s->found[i]);
    if (status == EK_OK)
        status = part_all_profs(g);
    if (status)
        return status;
    leave_out(s);
    return make_ranks(g, out);
}

static ek_status nothing(const ek__file_search *s, const char *path, ek_error *err)
{
    if (s->n_troubles > 0)
        return ek__fail(err, s->trouble[0].status, ((ek_origin){s->trouble[0].path, 0, 0}), "%s", s->trouble[0].text);
    if (s->n_databases > 0)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                        "contains no export of a profiler: its databases (.db, .sqlite) have other tables, like raw "
                        "results of the device profiler; %s",
                        EK__EXPORT_AS_TEXT);
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                    "contains no profiler output; looked for %s folders, trace_view.json, msprof_*.json, "
                    "*.pt.trace.json, other .json with events, all of them also as .json.gz, for databases such as "
                    "ascend_pytorch_profiler_0.db or .sqlite of nsys export, for tables such as kernel_details.csv or "
                    "step_trace_time.csv, and for partial results (.ekr)",
                    output_folder);
}

static int by_trouble(const void *a, const void *b)
{
    return strcmp(((const ek__trouble *)a)->path, ((const ek__trouble *)b)->path);
}

ek_status ek__layout_find(const char *const *path, int n_paths, ek__pool *pool, const ek_listener *listener,
                          ek__layout *out, ek_error *err)
{
    grouping g = {.search.pool = pool, .err = err};
    ek__layout found = {0};
    ek__file_search *s = &g.search;
    if (n_paths < 1)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no file or folder is given");
    ek_status status = ek__file_search_walk(s, path, n_paths, err);
    if (status == EK_OK)
        status = group(&g, &found);
    if (status == EK_OK && g.no_memory)
        status = ek__no_memory(err);
    if (status)
        return status;
    if (s->n_troubles > 0)
        qsort(s->trouble, (size_t)s->n_troubles, sizeof *s->trouble, by_trouble);
    found.n_parts = s->n_parts;
    found.part = ek__pool_alloc(pool, (size_t)s->n_parts, sizeof *found.part);
    if (!found.part)
        return ek__no_memory(err);
    for (int i = 0; i < s->n_parts; i++)
        found.part[i] = s->part[i].path;
    if (found.n_ranks + found.n_common + found.n_parts == 0)
        return nothing(s, path[0], err);
    for (int i = 0; i < s->n_troubles; i++)
        ek__warn(listener, (ek_origin){s->trouble[i].path, 0, 0}, "%s", s->trouble[i].text);
    found.n_databases = s->n_databases;
    found.database = s->database;
    *out = found;
    return EK_OK;
}
