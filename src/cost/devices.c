/* Finds the devices known by name: the files of data/devices, part of the library, read when one is first needed. Peaks
 * are dense ("sparse" figures of brochures are twice as much), links are per direction and card. Figures that are not
 * on a product sheet make a device uncertain, and its source lists them. */

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "cost/cost_internal.h"
#include "cost/device_files.h"

enum { MAX_DEVICES = 64 };

static ek_device devices[MAX_DEVICES];
static int n_devices;
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

/* Other common names of devices. */
static const char *const aliases[][2] = {
    {"A100", "A100-80"},       {"A100-SXM", "A100-80"},          {"A100 PCIe", "A100-PCIe"},
    {"910A", "Atlas 800"},     {"Ascend 910A", "Atlas 800"},     {"Ascend910A", "Atlas 800"},
    {"910B", "Atlas 800T A2"}, {"Ascend 910B", "Atlas 800T A2"}, {"Ascend910B", "Atlas 800T A2"},
    {"A2", "Atlas 800T A2"},   {"800T A2", "Atlas 800T A2"},     {"Atlas 900 A2 PoDc", "Atlas 800T A2"},
    {"910C", "Atlas 900 A3"},  {"Ascend 910C", "Atlas 900 A3"},  {"A3", "Atlas 900 A3"},
};

/* The number of devices. A mutex and a count rather than pthread_once(): where memory was out, the next call tries
 * again. The count is read and written with the mutex held. */
static int read_all(void)
{
    pthread_mutex_lock(&reading);
    assert(ek__n_device_files <= MAX_DEVICES);
    int n = n_devices;
    for (; n < ek__n_device_files; n++) {
        const ek__device_file *file = &ek__device_files[n];
        ek_status status = ek_device_parse("a shipped device", file->text, file->size, NULL, &devices[n], NULL);
        assert(status == EK_OK || status == EK_ERR_MEMORY);
        if (status)
            break;
    }
    if (n == ek__n_device_files)
        n_devices = n;
    n = n_devices;
    pthread_mutex_unlock(&reading);
    return n;
}

const ek_device *ek_devices(int *n)
{
    *n = read_all();
    return devices;
}

const ek_device *ek_device_find(const char *name)
{
    int n = read_all();
    if (!name)
        return NULL;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (ek__strcasecmp(name, aliases[i][0]) == 0)
            name = aliases[i][1];
    for (int i = 0; i < n; i++)
        if (ek__strcasecmp(name, devices[i].name) == 0)
            return &devices[i];
    return NULL;
}

ek_status ek_device_open(const char *name, const ek_listener *listener, ek_device *out, bool *owns, ek_error *err)
{
    if (!name)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no device is named; ek_devices() lists those that are known");
    char all[512] = "";
    int n;
    const ek_device *known = ek_devices(&n), *device = ek_device_find(name);
    if (device) {
        *out = *device;
        *owns = false;
        return EK_OK;
    }
    if (strcmp(name, "-") != 0 && access(name, F_OK) == 0) {
        ek_status status = ek_device_read(name, listener, out, err);
        if (status == EK_OK)
            *owns = true;
        return status;
    }
    for (int i = 0; i < n; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", known[i].name);
    }
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "no device is called '%.256s', and there is no such file; there are %s", name, all);
}
