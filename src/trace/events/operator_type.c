/* Finds the types of Ascend's operators, from the names of tasks as far as those follow the usual patterns. */
#include <ctype.h>
#include <string.h>

#include "trace/events/device.h"

const char *ek__operator_type(const char *name, size_t *size)
{
    const char *begin = strrchr(name, '/');
    begin = begin ? begin + 1 : name;
    const char *end = begin + strlen(begin), *op = NULL;
    for (const char *s = begin; (s = strstr(s, "-op")); s++)
        op = s;
    if (op && op > begin && isdigit((unsigned char)op[3]))
        end = op;
    while (end > begin + 1 && isdigit((unsigned char)end[-1])) {
        const char *digits = end;
        while (digits > begin && isdigit((unsigned char)digits[-1]))
            digits--;
        if (digits <= begin + 1 || digits[-1] != '_')
            break;
        end = digits - 1;
    }
    for (const char *s = end; s > begin; s--)
        if (s[-1] == '_' && s < end && (strncmp(begin, "aclnn", 5) == 0 || strncmp(begin, "trans_", 6) == 0)) {
            begin = s;
            break;
        }
    *size = (size_t)(end - begin);
    return begin;
}
