/* Recognises collectives that wait for, or send to, another pipeline stage, by the beginnings of their names as
 * MindSpore lists them (hcom_receive__12, Receive-op5, hcom_X_SendRecv__7) and the batched form of Megatron on
 * torch_npu. Such a trace has only names; the purpose of Kineto's SendRecv kernels is found in exchanges.c and
 * compare_exchanges.c. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "trace/analyse/analysis.h"

static bool begins(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* `start` and a digit after it. */
static bool begins_numbered(const char *name, const char *start)
{
    return begins(name, start) && isdigit((unsigned char)name[strlen(start)]);
}

/* hcom_\w+SendRecv__\d+ at the beginning of the name. */
static bool is_numbered_exchange(const char *name)
{
    static const char word[] = "SendRecv__";
    if (!begins(name, "hcom_") || name[strlen("hcom_")] == '\0')
        return false;
    size_t n = 0;
    for (const char *at = name + strlen("hcom_") + 1; (at = strstr(at, word)); at++) {
        while (ek__is_alnum((unsigned char)name[n]) || name[n] == '_')
            n++;
        if (name + n < at) /* preceded by other text */
            return false;
        if (isdigit((unsigned char)at[strlen(word)]))
            return true;
    }
    return false;
}

static bool is_listed(const ek_trace_options *options, const char *name)
{
    for (int i = 0; i < options->n_receives; i++)
        if (begins(name, options->receive[i]))
            return true;
    return false;
}

bool ek__is_receive(const ek_trace_options *options, const char *name)
{
    if (options->n_receives > 0)
        return is_listed(options, name);
    return begins_numbered(name, "hcom_receive__") || begins(name, "Receive-op") || is_numbered_exchange(name) ||
           begins(name, "hcom_batchSendRecv_");
}

bool ek__is_send(const ek_trace_options *options, const char *name)
{
    return !is_listed(options, name) && (begins_numbered(name, "hcom_send__") || begins(name, "Send-op"));
}

/* Sums go by a name without its numbers, as the lists of names need it. "Send" is in "SendRecv" too. */
bool ek__is_p2p(const ek_trace_options *options, const char *name)
{
    const char *slash = strrchr(name, '/'); /* after a scope, as in graph mode */
    name = slash ? slash + 1 : name;
    char numbered[256];
    snprintf(numbered, sizeof numbered, "%.240s__0_0_0", name);
    return ek__is_receive(options, name) || ek__is_send(options, name) || ek__is_receive(options, numbered) ||
           ek__is_send(options, numbered) || strstr(name, "send") || strstr(name, "Send") || strstr(name, "receive") ||
           strstr(name, "Receive");
}

bool ek__collective_is_p2p(const ek_trace_collective *c)
{
    static const ek_trace_options usual = {0};
    return c->p2p || (c->exchange == EK_EXCHANGE_NONE && ek__is_p2p(&usual, c->name));
}

bool ek__is_producer_bubble(ek_producer producer, const char *name)
{
    if (producer == EK_PRODUCER_TORCH_NPU)
        return begins(name, "hcom_receive");
    return is_numbered_exchange(name) || begins_numbered(name, "hcom_send__") ||
           begins_numbered(name, "hcom_receive__") || begins(name, "Receive-op") || begins(name, "Send-op");
}
