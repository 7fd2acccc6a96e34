/* Evaluates a shell's integer arithmetic, $((...)), on variables that a script assigns: sums of products of operands,
 * from the left. Numbers stay below 2^53, so nothing overflows; comparisons, shifts and assignments are not
 * evaluated. */
#include <stdlib.h>
#include <string.h>

#include "job/arguments.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum { MAX_NESTING = 32 };

typedef struct sum {
    ek__words *words;
    const char *at, *end;
    const char *unknown; /* a name without an integer value */
    size_t n_unknown;
    bool wrong, twice;
    int depth;
} sum;

static int64_t expression(sum *m, int level);

static void skip_blanks(sum *m)
{
    while (m->at < m->end && is_blank(*m->at))
        m->at++;
}

static bool to_number(const char *text, int64_t *out)
{
    char *end;
    if (!is_digit(*text) || strlen(text) > 12)
        return false;
    *out = strtoll(text, &end, 10);
    return *end == '\0';
}

static int64_t named(sum *m)
{
    const char *name = m->at;
    size_t n = ek__name_length(m->at, (size_t)(m->end - m->at));
    int64_t value = 0;
    m->at += n;
    int i = n > 0 ? ek__words_find(m->words, name, n) : -1;
    if (i >= 0) {
        m->words->variable[i].referred = true;
        m->twice = m->twice || m->words->variable[i].twice;
    }
    if (i < 0 || !m->words->variable[i].value || !to_number(m->words->variable[i].value, &value)) {
        if (!m->unknown && n > 0) {
            m->unknown = name;
            m->n_unknown = n;
        }
        m->wrong = true;
    }
    return value;
}

static int64_t operand(sum *m)
{
    skip_blanks(m);
    bool braced = false;
    int64_t value = 0;
    if (m->at < m->end && *m->at == '$') {
        m->at++;
        braced = m->at < m->end && *m->at == '{';
        m->at += braced;
    }
    if (m->at < m->end && is_digit(*m->at)) {
        for (int n = 0; m->at < m->end && is_digit(*m->at); m->at++, n++) {
            m->wrong = m->wrong || n >= 12;
            value = n < 12 ? 10 * value + (*m->at - '0') : value;
        }
    } else if (m->at < m->end && *m->at == '(' && ++m->depth < MAX_NESTING) {
        m->at++;
        value = expression(m, 0);
        skip_blanks(m);
        m->wrong = m->wrong || m->at == m->end || *m->at != ')';
        m->at += m->at < m->end;
        m->depth--;
    } else {
        value = named(m);
    }
    if (braced && m->at < m->end && *m->at == '}')
        m->at++;
    else if (braced)
        m->wrong = true;
    return value;
}

/* One operation; numbers stay below 2^53. */
static int64_t operate(sum *m, char c, int64_t a, int64_t b)
{
    const int64_t most = (int64_t)1 << 53;
    if ((c == '/' || c == '%') && b == 0) {
        m->wrong = true;
        return 0;
    }
    if (c == '*' && (llabs(a) > (1 << 26) || llabs(b) > (1 << 26))) {
        m->wrong = true;
        return 0;
    }
    int64_t value = c == '+' ? a + b : c == '-' ? a - b : c == '*' ? a * b : c == '/' ? a / b : a % b;
    m->wrong = m->wrong || llabs(value) > most;
    return m->wrong ? 0 : value;
}

/* Sums of products of operands, from the left. */
static int64_t expression(sum *m, int level)
{
    const char *signs = level == 0 ? "+-" : "*/%";
    int64_t value = level == 0 ? expression(m, 1) : operand(m);
    for (;;) {
        skip_blanks(m);
        if (m->wrong || m->at == m->end || !strchr(signs, *m->at) || !*m->at)
            return value;
        char c = *m->at++;
        value = operate(m, c, value, level == 0 ? expression(m, 1) : operand(m));
    }
}

ek__arithmetic ek__arithmetic_of(ek__words *words, const char *text, size_t n)
{
    sum m = {.words = words, .at = text, .end = text + n};
    int64_t value = expression(&m, 0);
    skip_blanks(&m);
    return (ek__arithmetic){.value = value,
                            .known = !m.wrong && m.at == m.end,
                            .twice = m.twice,
                            .unknown = m.unknown,
                            .n_unknown = m.n_unknown};
}
