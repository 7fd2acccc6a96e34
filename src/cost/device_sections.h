/* cost/device_sections.h - reads the maps and lists inside a device file, each into its part of the device. */
#ifndef EK_COST_DEVICE_SECTIONS_H
#define EK_COST_DEVICE_SECTIONS_H

#include "base/config_tree.h"
#include "cost/device_keys.h"

/* Read the existing figures of a map into the struct at `base`. */
ek_status ek__read_figures(const ek__in *in, const ek__node *map, const ek__device_entry *figure, int n, void *base);
/* Warn of keys that are neither figures nor among `more`, NULL at the end or NULL. */
void ek__warn_keys(const ek__in *in, const ek__node *map, const ek__device_entry *figure, int n,
                   const char *const *more);
/* One of n words. */
ek_status ek__read_word(const ek__in *in, const ek__node *node, const char *const *words, int n, int *out);
/* A flat map of figures, the value of a key. */
ek_status ek__read_map(const ek__in *in, const ek__node *map, const ek__device_entry *figure, int n, void *base);

ek_status ek__read_curves(const ek__in *in, const ek__node *curves, ek_device *device);
ek_status ek__read_tiers(const ek__in *in, const ek__node *tiers, ek_device *device);
ek_status ek__read_host(const ek__in *in, const ek__node *host, ek_device *device);
ek_status ek__read_optimizer(const ek__in *in, const ek__node *map, ek_device *device);

#endif
