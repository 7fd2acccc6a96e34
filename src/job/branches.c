/* Decides the branches of a shell script from its own variables, so that arguments of a branch that is never run do not
 * count. A condition is true, false or unknown before a run. An `if` counts only with its `then`, so that ifs of other
 * languages in texts inside the script are ignored. */
#include "job/branches.h"

#include <stdlib.h>
#include <string.h>

typedef enum truth { NO, YES, UNKNOWN } truth;

static truth truth_of(bool holds)
{
    return holds ? YES : NO;
}

static truth negated(truth t)
{
    return t == UNKNOWN ? UNKNOWN : truth_of(t == NO);
}

static bool is(const ek__word *word, const char *text)
{
    return strcmp(word->text, text) == 0;
}

static bool is_known(const ek__word *word)
{
    return !word->unknown && !word->twice;
}

/* ---- one test ---- */

static bool to_whole(const char *text, long long *out)
{
    char *end;
    size_t n = strlen(text);
    *out = strtoll(text, &end, 10);
    return n > 0 && n < 18 && *end == '\0';
}

static truth compare(const char *left, const char *sign, const char *right)
{
    static const char *const signs[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    long long a, b;
    size_t which = 0;
    while (which < 6 && strcmp(signs[which], sign) != 0)
        which++;
    if (which == 6 || !to_whole(left, &a) || !to_whole(right, &b))
        return UNKNOWN;
    const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    return truth_of(holds[which]);
}

/* Patterns are not matched. */
static truth compare_texts(const ek__word *left, const ek__word *sign, const ek__word *right)
{
    bool equal = is(left, right->text);
    if (is(sign, "=") || is(sign, "=="))
        return strpbrk(right->text, "*?[") ? UNKNOWN : truth_of(equal);
    if (is(sign, "!="))
        return strpbrk(right->text, "*?[") ? UNKNOWN : truth_of(!equal);
    return compare(left->text, sign->text, right->text);
}

/* A test without its brackets, `n` words. */
static truth test_of(const ek__word *word, int n)
{
    if (n > 0 && is(word, "!"))
        return negated(test_of(word + 1, n - 1));
    for (int i = 0; i < n; i++)
        if (!is_known(&word[i]))
            return UNKNOWN;
    if (n == 2 && (is(word, "-z") || is(word, "-n")))
        return truth_of((word[1].text[0] == '\0') == is(word, "-z"));
    return n == 3 ? compare_texts(&word[0], &word[1], &word[2]) : UNKNOWN;
}

/* ---- a condition ---- */

static bool is_bracket(const ek__word *word)
{
    return is(word, "[") || is(word, "[[") || is(word, "test");
}

/* One group of words: a test, or the part of one between && and ||. */
static truth group_of(const ek__word *word, int n)
{
    bool turned = n > 0 && is(word, "!");
    word += turned;
    n -= turned;
    bool opens = n > 0 && is_bracket(word);
    word += opens;
    n -= opens;
    n -= n > 0 && (is(&word[n - 1], "]") || is(&word[n - 1], "]]"));
    truth t = test_of(word, n);
    return turned ? negated(t) : t;
}

static truth both(truth a, truth b, bool either)
{
    truth rules = either ? YES : NO; /* the value that decides by itself */
    if (a == rules || b == rules)
        return rules;
    return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : negated(rules);
}

static bool contains(const char *text, size_t n, const char *two)
{
    for (size_t i = 0; i + 1 < n; i++)
        if (text[i] == two[0] && text[i + 1] == two[1])
            return true;
    return false;
}

/* Words [from, to), which are `length` bytes of text. */
static truth condition_of(const ek__words *words, int from, int to, const char *begin, size_t length)
{
    bool all = contains(begin, length, "&&"), any = contains(begin, length, "||");
    int first = from < to && is(&words->word[from], "!") ? from + 1 : from;
    if (first >= to || !is_bracket(&words->word[first]) || (all && any))
        return UNKNOWN;
    truth sum = UNKNOWN;
    for (int i = from, n; i < to; i += n) {
        for (n = 1; i + n < to && words->word[i + n].group == words->word[i].group;)
            n++;
        if (i > from && !all && !any)
            return UNKNOWN; /* several commands, or < and > inside the brackets */
        truth here = group_of(&words->word[i], n);
        sum = i == from ? here : both(sum, here, any);
    }
    return sum;
}

/* ---- branches ---- */

static void begin_branch(ek__branches *b, truth holds)
{
    bool elif = b->asked == 2;
    if (!elif && b->n++ < EK__MAX_BRANCHES)
        b->open[b->n - 1] = (ek__branch){.skipped_around = b->skip};
    if (b->n < 1 || b->n > EK__MAX_BRANCHES)
        return;
    ek__branch *top = &b->open[b->n - 1];
    b->skip = top->skipped_around || top->decided || holds == NO;
    top->decided = top->decided || holds == YES;
}

static void ask(ek__branches *b, int kind, const ek__words *words, size_t at)
{
    ek__branch *top = b->n > 0 && b->n <= EK__MAX_BRANCHES ? &b->open[b->n - 1] : NULL;
    if (kind == 2 && top) /* the condition itself is evaluated, if it is reached */
        b->skip = top->skipped_around || top->decided;
    b->asked = kind;
    b->from = words->n;
    b->text = at;
}

void ek__branches_word(ek__branches *b, const char *word, const ek__words *words, const char *text, size_t at)
{
    if (strcmp(word, "if") == 0) {
        ask(b, 1, words, at);
    } else if (strcmp(word, "elif") == 0 && b->n > 0) {
        ask(b, 2, words, at);
    } else if (strcmp(word, "then") == 0 && b->asked) {
        begin_branch(b, b->skip ? UNKNOWN : condition_of(words, b->from, words->n, text + b->text, at - b->text));
        b->asked = 0;
    } else if (strcmp(word, "else") == 0 && b->n > 0 && b->n <= EK__MAX_BRANCHES) {
        b->skip = b->open[b->n - 1].skipped_around || b->open[b->n - 1].decided;
    } else if (strcmp(word, "fi") == 0 && b->n > 0) {
        if (b->n <= EK__MAX_BRANCHES)
            b->skip = b->open[b->n - 1].skipped_around;
        b->n--;
    }
}
