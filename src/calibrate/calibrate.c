/* Calibrates a device from measurements, in this order: kernels and rates as measured, links from their tests,
 * constants from the steps of runs, then the remaining time of layers from the residuals of the constants. Each stage
 * starts from the result of the one before, so that a constant with its own measurement is not used to explain a step's
 * time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/linear.h"
#include "base/texts.h"
#include "calibrate/calibrating.h"
#include "calibrate/impossible.h"
#include "calibrate/links_fit.h"
#include "calibrate/profile.h"
#include "calibrate/table_device.h"
#include "evenkeel/calibrate.h"

static void report(const ek__calibrating *k, double share, const char *what)
{
    if (k->input->progress)
        k->input->progress(k->input->progress_user, share, what);
}

/* ---- which device ---- */

static bool names_device(const struct ek_calibration_source *source)
{
    return source->kind == EK_SOURCE_KERNELS || source->kind == EK_SOURCE_RATES;
}

/* The shipped device of a table of kernels or rates, where no run names one. */
static ek_status start_of_tables(ek__calibrating *k, const ek_device **out)
{
    for (int i = 0; i < k->c.n_sources && !*out; i++) {
        char words[EK__DEVICE_WORDS] = "";
        ek_status status = names_device(&k->c.source[i]) ? ek__table_device(k->c.source[i].path, words, k->err) : EK_OK;
        if (status)
            return status;
        if (names_device(&k->c.source[i]) && words[0])
            *out = ek_device_of_hardware(words);
    }
    return EK_OK;
}

/* Kernels and rates of another device are fitted as requested, with a warning. */
static ek_status check_tables(ek__calibrating *k, const ek_device *start)
{
    const ek_device *is = ek_device_of_hardware(start->name);
    for (int i = 0; i < k->c.n_sources; i++) {
        char words[EK__DEVICE_WORDS];
        if (!names_device(&k->c.source[i]))
            continue;
        ek_status status = ek__table_device(k->c.source[i].path, words, k->err);
        if (status)
            return status;
        const ek_device *of = words[0] ? ek_device_of_hardware(words) : NULL;
        if (is && of && strcmp(is->name, of->name) != 0)
            ek__warn(k->input->listener, (ek_origin){k->c.source[i].path, 2, 1},
                     "measurements on '%.80s' are used for %.80s, the start of the calibration; give --start '%.80s', "
                     "or a table of %.80s",
                     words, start->name, of->name, start->name);
    }
    return EK_OK;
}

/* The shipped device that all runs name. */
static ek_status start_of_runs(ek__calibrating *k, const ek_device **out)
{
    const ek_device *found = NULL;
    const char *words = "";
    for (int i = 0; i < k->c.n; i++) {
        const ek_device *one = ek__is_priced(&k->c.item[i]) ? ek_device_of_hardware(k->c.item[i].device) : NULL;
        if (one && found && one != found)
            return ek__fail(
                k->err, EK_ERR_INPUT, k->c.item[i].origin,
                "runs of '%.80s' and of '%.80s' cannot be fitted as one device; select one with --start NAME", words,
                k->c.item[i].device);
        if (one) {
            found = one;
            words = k->c.item[i].device;
        }
    }
    for (int i = 0; i < k->c.n && !found; i++)
        if (ek__is_priced(&k->c.item[i]) && k->c.item[i].device[0])
            return ek__fail(k->err, EK_ERR_INPUT, k->c.item[i].origin,
                            "the hardware '%.80s' is no shipped device; give the one to start from with --start "
                            "NAME|FILE",
                            k->c.item[i].device);
    ek_status status = found ? EK_OK : start_of_tables(k, &found);
    if (status)
        return status;
    if (!found)
        return ek__fail(k->err, EK_ERR_INPUT, EK__NOWHERE,
                        "no source contains its device; give the one to start from with --start NAME|FILE");
    *out = found;
    return EK_OK;
}

static void leave(ek__run_item *item, const char *why)
{
    item->suspect = true;
    snprintf(item->why, sizeof item->why, "%s", why);
}

/* Is a run of a shipped device, and of another one than the start? */
static bool is_of_another(const ek__run_item *item, const ek_device *start)
{
    const ek_device *of = ek_device_of_hardware(item->device), *is = ek_device_of_hardware(start->name);
    return of && strcmp(of->name, is ? is->name : start->name) != 0;
}

/* Rows of another device than the requested one are left out, where some are of that one. Where none is, they are used
 * for it, as with the user's own start, but with a warning where it is a shipped one. */
static void choose_rows(ek__calibrating *k, const ek_device *start)
{
    int first = -1;
    bool any = false;
    for (int i = 0; i < k->c.n; i++) {
        const ek_device *of = ek_device_of_hardware(k->c.item[i].device);
        bool another = is_of_another(&k->c.item[i], start);
        any |= of && !another;
        first = first < 0 && another && !k->c.item[i].suspect ? i : first;
    }
    for (int i = 0; i < k->c.n && any; i++)
        if (!k->c.item[i].suspect && is_of_another(&k->c.item[i], start))
            leave(&k->c.item[i], "of another device");
    if (!any && first >= 0 && ek_device_of_hardware(start->name))
        ek__warn(k->input->listener, k->c.item[first].origin,
                 "measurements on '%.80s' are used for %.80s, the start of the calibration", k->c.item[first].device,
                 start->name);
}

static ek_status find_start(ek__calibrating *k)
{
    const ek_device *start = k->input->start;
    ek_status status = start ? EK_OK : start_of_runs(k, &start);
    if (status)
        return status;
    choose_rows(k, start);
    snprintf(k->out.start, sizeof k->out.start, "%s", start->name);
    k->out.device = *start;
    k->out.device.kernels = NULL;
    k->out.device.layers = NULL;
    k->out.device.error = 0;
    k->out.device.error_basis = EK_ERROR_ASSUMED;
    return check_tables(k, start);
}

/* ---- kernels, rates, links ---- */

/* The result owns its tables: copies of the start's. */
static ek_status copy_tables(ek__calibrating *k)
{
    const ek_device *start = k->input->start ? k->input->start : ek_device_find(k->out.start);
    const ek_kernel_row *row;
    const ek__layer_row *layer;
    int n = 0;
    if (start && start->kernels && !k->out.device.kernels) {
        row = ek_kernel_table_rows(start->kernels, &n);
        ek_status status = ek_kernel_table_new(row, n, &k->out.device.kernels, k->err);
        if (status)
            return status;
    }
    n = start ? ek__layer_table_rows(start->layers, &layer) : 0;
    if (n > 0) {
        k->out.device.layers = ek__layer_table_new(layer, n, ek__layer_table_scale(start->layers));
        return k->out.device.layers ? EK_OK : ek__no_memory(k->err);
    }
    return EK_OK;
}

/* For kernels that were timed in isolation: their slowdown in a step is a factor on all kernels of a kind, fitted to
 * runs. */
static void read_as_alone(const ek_kernel_fit *fit, ek_device *device)
{
    for (int kind = 0; kind < EK_N_KERNEL_KINDS; kind++)
        device->curve[kind].alone_share = fit[kind].n > 0 ? device->curve[kind].share : 0;
}

static ek_status read_kernels(ek__calibrating *k, struct ek_calibration_source *source)
{
    ek_kernel_table *table = NULL;
    ek_status status = ek_kernel_table_read(source->path, k->input->listener, &table, k->err);
    if (status)
        return status;
    if (k->out.has_kernels) {
        ek_kernel_table_free(table);
        return ek__fail(k->err, EK_ERR_INPUT, ((ek_origin){source->path, 0, 0}),
                        "is a second table of measured kernels; put the rows of one device into one file");
    }
    ek_kernel_table_rows(table, &source->n);
    k->out.device.kernels = table;
    k->out.has_kernels = true;
    status = ek_device_fit_kernels(&k->out.device, table, k->out.kernels, k->err);
    if (status == EK_OK)
        read_as_alone(k->out.kernels, &k->out.device);
    return status;
}

static ek_status read_rates(ek__calibrating *k)
{
    ek_status status = EK_OK;
    for (int i = 0; i < k->c.n_sources && status == EK_OK; i++) {
        struct ek_calibration_source *source = &k->c.source[i];
        if (source->kind == EK_SOURCE_RATES)
            status = ek_device_read_rates(source->path, k->input->listener, &k->out.device, k->err);
        else if (source->kind == EK_SOURCE_KERNELS)
            status = read_kernels(k, source);
    }
    return status;
}

static ek_status read_links(ek__calibrating *k)
{
    int n = 0, at = 0;
    ek_status status = ek__collect_links(k->out.device.devices_per_node, &k->c, k->err);
    for (int i = 0; i < k->c.n_sources && status == EK_OK; i++)
        n += k->c.link[i].n;
    if (status || n == 0)
        return status;
    ek_link_time *all = ek__alloc((size_t)n, sizeof *all);
    if (!all)
        return ek__no_memory(k->err);
    for (int i = 0; i < k->c.n_sources; i++)
        for (int t = 0; t < k->c.link[i].n; t++)
            all[at++] = k->c.link[i].time[t];
    status = ek__links_fit(all, n, &k->out.device, k->out.link, &k->out.n_links, k->err);
    free(all);
    return status;
}

/* ---- runs ---- */

static bool make_room(ek__calibrating *k)
{
    size_t n = (size_t)k->c.n;
    k->item = ek__alloc(n, sizeof *k->item);
    k->job = ek__alloc(n, sizeof *k->job);
    k->seconds = ek__alloc(n, sizeof *k->seconds);
    k->group = ek__alloc(n, sizeof *k->group);
    k->held = ek__alloc(n, sizeof *k->held);
    k->out.run = ek__alloc(n, sizeof *k->out.run);
    return k->item && k->job && k->seconds && k->group && k->held && k->out.run;
}

static const char *group_name(const ek__calibrating *k, int i)
{
    return k->c.item[k->item[i]].group;
}

static void number_groups(ek__calibrating *k)
{
    for (int i = 0; i < k->n; i++) {
        k->group[i] = i;
        for (int j = 0; j < i; j++)
            if (strcmp(group_name(k, i), group_name(k, j)) == 0) {
                k->group[i] = k->group[j];
                break;
            }
    }
}

typedef struct hashed {
    uint64_t hash;
    int group;
} hashed;

static int by_hash(const void *a, const void *b)
{
    const hashed *x = a, *y = b;
    return x->hash != y->hash ? (x->hash < y->hash ? -1 : 1) : x->group - y->group;
}

/* Whole groups in the order of their names' hashes, until their share is reached; one stays to be fitted. */
static ek_status hold_back(ek__calibrating *k)
{
    int n = 0;
    hashed *list = ek__alloc((size_t)k->n, sizeof *list);
    if (!list)
        return ek__no_memory(k->err);
    for (int i = 0; i < k->n; i++)
        if (k->group[i] == i)
            list[n++] = (hashed){ek__texts_hash(group_name(k, i), strlen(group_name(k, i))), i};
    qsort(list, (size_t)n, sizeof *list, by_hash);
    int n_held = (int)lround(k->input->holdout * n);
    n_held = k->input->holdout > 0 && n_held < 1 ? 1 : n_held;
    n_held = n_held >= n ? n - 1 : n_held;
    for (int i = 0; i < k->n; i++)
        for (int g = 0; g < n_held; g++)
            k->held[i] |= list[g].group == k->group[i];
    k->out.n_groups = n - n_held;
    free(list);
    return EK_OK;
}

static ek_status gather_runs(ek__calibrating *k)
{
    if (!make_room(k))
        return ek__no_memory(k->err);
    for (int i = 0; i < k->c.n; i++) {
        if (!ek__is_priced(&k->c.item[i]))
            continue;
        k->item[k->n] = i;
        k->job[k->n] = k->c.item[i].job;
        k->seconds[k->n++] = k->c.item[i].seconds;
    }
    if (k->n == 0)
        return EK_OK;
    number_groups(k);
    return hold_back(k);
}

/* ---- together ---- */

static void fit_progress(void *user, double share, const char *what)
{
    report(user, 0.9 * share, what);
}

/* The result owns its tables: the table of layers from the runs replaces the start's. */
static void read_fit(ek__calibrating *k)
{
    ek__runs_fit *found = &k->found;
    ek_layer_table *old = k->out.device.layers;
    k->out.device = found->fit.device;
    if (found->layers) {
        ek__layer_table_free(old);
        k->out.n_layers = ek__layer_table_size(found->layers);
        k->out.layer_width = found->scale.scale.width;
        k->out.layer_lambda = found->scale.scale.lambda;
        found->layers = NULL;
    }
}

static ek_status fit_runs(ek__calibrating *k)
{
    const ek__runs_to_fit runs = {.n = k->n,
                                  .job = k->job,
                                  .seconds = k->seconds,
                                  .group = k->group,
                                  .held = k->held,
                                  .progress = fit_progress,
                                  .progress_user = k,
                                  .interrupt = k->input->interrupt};
    ek_status status = ek__runs_fit_run(&runs, &k->out.device, &k->found, k->err);
    if (status)
        return status;
    read_fit(k);
    status = ek__report_runs(k);
    if (status)
        return status;
    report(k, 0.92, "choosing the next runs");
    return ek__propose_runs(k);
}

static void describe(ek__calibrating *k)
{
    ek_device *d = &k->out.device;
    char text[sizeof d->source];
    int n = snprintf(text, sizeof text, "fitted from %.60s", k->out.start);
    for (int i = 0; i < k->c.n_sources && n > 0 && (size_t)n < sizeof text; i++) {
        const char *path = k->c.source[i].path, *slash = strrchr(path, '/');
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %.60s", i ? "," : " to", slash ? slash + 1 : path);
    }
    memcpy(d->source, text, sizeof text);
}

static ek_status check_any(const ek__calibrating *k)
{
    bool device = false;
    for (int i = 0; i < k->c.n_sources; i++)
        device |= k->c.source[i].kind == EK_SOURCE_KERNELS || k->c.source[i].kind == EK_SOURCE_RATES ||
                  k->c.source[i].kind == EK_SOURCE_LINKS || k->c.source[i].kind == EK_SOURCE_PROFILE;
    if (k->n == 0 && !device)
        return ek__fail(k->err, EK_ERR_INPUT, EK__NOWHERE,
                        "no source has a run with a job and a step time (%d rows, all suspect, of another device, "
                        "impossible or without a job), kernels, rates or links; there is nothing to calibrate to",
                        k->c.n);
    return EK_OK;
}

static ek_status calibrate(ek__calibrating *k)
{
    ek_status status = ek__linear_needed("calibration", k->err);
    report(k, 0, "reading");
    if (status == EK_OK)
        status = ek__collect(k->input, &k->c, k->err);
    if (status == EK_OK)
        status = find_start(k);
    if (status == EK_OK)
        status = read_rates(k);
    if (status == EK_OK)
        status = copy_tables(k);
    if (status == EK_OK)
        status = ek__profiles_take(k->input, &k->c, &k->out, k->err);
    if (status == EK_OK)
        status = read_links(k);
    if (status == EK_OK)
        status = ek__leave_impossible(&k->c, &k->out.device, k->input->listener, k->err);
    if (status == EK_OK)
        status = gather_runs(k);
    if (status == EK_OK)
        status = check_any(k);
    if (status == EK_OK && k->n > 0)
        status = fit_runs(k);
    else if (status == EK_OK)
        k->out.n_runs = 0;
    if (status == EK_OK)
        describe(k);
    return status;
}

ek_status ek_calibrate(const ek_calibrate_input *input, ek_calibration *out, ek_error *err)
{
    ek_error unused = {.line = 0};
    ek__calibrating k = {.input = input, .err = err ? err : &unused};
    ek_status status = calibrate(&k);
    if (status == EK_OK) {
        k.out.n_sources = k.c.n_sources;
        k.out.source = k.c.source;
        k.c.source = NULL;
    }
    ek__runs_fit_clear(&k.found);
    ek__collected_clear(&k.c);
    free(k.item);
    free(k.job);
    free(k.seconds);
    free(k.group);
    free(k.held);
    if (status)
        ek_calibration_clear(&k.out);
    else
        *out = k.out;
    return status;
}

void ek_calibration_clear(ek_calibration *calibration)
{
    ek_device_clear(&calibration->device);
    free(calibration->source);
    free(calibration->run);
    free(calibration->profile);
    free(calibration->constant);
    *calibration = (ek_calibration){0};
}
