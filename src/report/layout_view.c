/* Texts shared by the writers of a layout search. */
#include <math.h>

#include "report/layout_internal.h"

/* "less than 0.01", "3.1" */
static ek__digits percent(double share)
{
    ek__digits digits = ek__fixed(100 * share, 100 * share < 1 ? 2 : 1);
    if (100 * share < 0.01)
        snprintf(digits.text, sizeof digits.text, "less than 0.01");
    return digits;
}

void ek__layout_proof(const ek_layout_result *r, char *text, size_t size)
{
    const ek__digits n = ek__grouped((double)ek__layout_judged(r)), seconds = ek__fixed(r->seconds, 1);
    if (r->proved && r->gap > 0)
        snprintf(text, size, "proved best of %s layouts in %s s, but for how its layers are split: %s %%", n.text,
                 seconds.text, percent(r->gap).text);
    else if (r->proved || r->gap <= 0)
        snprintf(text, size, "proved best of %s layouts in %s s%s", n.text, seconds.text,
                 r->proved ? "" : ", those after it not");
    else
        snprintf(text, size, "best found of %s layouts in %s s, a step may be %s %% shorter", n.text, seconds.text,
                 percent(r->gap).text);
}

long ek__layout_judged(const ek_layout_result *r)
{
    return r->counts.bounded;
}

/* The setting in the framework's words. */
static const char *offload_words(ek_framework framework)
{
    switch (framework) {
    case EK_MEGATRON:
        return "--optimizer-cpu-offload";
    case EK_TORCHTITAN:
        return "training.enable_cpu_offload";
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
    case EK_MINDSPEED:
    default:
        return "optimizer: swap: True";
    }
}

void ek__layout_change(const ek_layout_result *r, const ek_layout_fit *fit, char *text, size_t size)
{
    switch (fit->change) {
    case EK_FIT_FREE:
        snprintf(text, size, "the axes that are held left free");
        break;
    case EK_FIT_OFFLOAD:
        snprintf(text, size, "optimizer states on the host (%s)", offload_words(r->job->framework));
        break;
    case EK_FIT_DEVICES:
        snprintf(text, size, "%s%d devices", fit->fits ? "" : "up to ", fit->n_devices);
        break;
    case EK_FIT_MEMORY:
    default:
        snprintf(text, size, "%s%s MB a device", fit->fits ? "" : "up to ", ek__grouped(fit->limit_mb).text);
        break;
    }
}
