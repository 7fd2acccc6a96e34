/* Options by table, on top of getopt_long_only, which takes one dash or two. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/cost.h"
#include "evenkeel/lint.h"

#include "files.h"

enum { MAX_NAMES = 192, NAME_SIZE = 32, HELP_COLUMN = 26, HELP_WIDTH = 100, LONGEST_MESSAGE = 8192 };

/* Every name of every option, as getopt wants them. */
typedef struct name_table {
    int n;
    char name[MAX_NAMES][NAME_SIZE];
    const char *names[MAX_NAMES];
    struct option option[MAX_NAMES + 1];
} name_table;

/* Names of files and what stands in them may hold anything; a control character would reach the terminal. */
static void say(const char *text)
{
    for (; *text; text++) {
        bool control = ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f;
        fputc(control ? '?' : *text, stderr);
    }
}

static void say_place(const ek_error *err, const char *kind)
{
    say(err && err->file[0] ? err->file : "evenkeel");
    if (err && err->file[0] && err->line > 0)
        fprintf(stderr, ":%d:%d", err->line, err->column);
    fprintf(stderr, ": %s: ", kind);
}

static void say_message(const char *format, va_list arguments)
{
    char text[LONGEST_MESSAGE];
    vsnprintf(text, sizeof text, format, arguments);
    say(text);
    fputc('\n', stderr);
}

void cli_error(const ek_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_place(err, "error");
    say_message(format, arguments);
    va_end(arguments);
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_place(NULL, "note");
    say_message(format, arguments);
    va_end(arguments);
}

static void print_warning(void *user, const ek_error *warning)
{
    (void)user;
    say_place(warning, "warning");
    say(warning->message);
    fputc('\n', stderr);
}

const ek_listener cli_listener = {print_warning, NULL};

static int edit_distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    int row[NAME_SIZE + 1];
    if (n > NAME_SIZE)
        return NAME_SIZE;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int best = diagonal + (*a != b[j - 1]);
            diagonal = row[j];
            best = diagonal + 1 < best ? diagonal + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *names, int n)
{
    const char *nearest = NULL;
    int best = (int)strlen(word) / 3 + 2; /* a third of the letters may be wrong */
    for (int i = 0; i < n; i++) {
        int distance = edit_distance(word, names[i]);
        if (distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

bool cli_color(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

static void list_names(const cli_spec *spec, name_table *table)
{
    table->n = 0;
    for (int i = 0; i < spec->n_options; i++) {
        for (const char *name = spec->options[i].names; *name && table->n < MAX_NAMES;) {
            size_t length = strcspn(name, "|");
            char *place = table->name[table->n];
            snprintf(place, NAME_SIZE, "%.*s", (int)length, name);
            table->names[table->n] = place;
            table->option[table->n++] = (struct option){
                .name = place,
                .has_arg = spec->options[i].argument ? required_argument : no_argument,
                .val = 256 + i,
            };
            name += length + (name[length] == '|');
        }
    }
    table->option[table->n] = (struct option){0};
}

/* Wrap `text` at HELP_WIDTH, its lines starting at HELP_COLUMN. */
static void print_wrapped(const char *text)
{
    int column = HELP_COLUMN;
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (column + word > HELP_WIDTH && column > HELP_COLUMN)
            column = printf("\n%*s", HELP_COLUMN, "") - 1;
        column += printf("%.*s", word, text);
        text += word;
        if (*text == ' ') {
            text++;
            if (column + 1 + (int)strcspn(text, " ") <= HELP_WIDTH)
                column += printf(" ");
            else
                column = HELP_WIDTH; /* the next word begins a line */
        }
    }
    putchar('\n');
}

/* A paragraph's lines are filled anew; an empty line ends it. */
static void print_summary(const char *text)
{
    int column = 0;
    while (*text) {
        int word = (int)strcspn(text, " \n");
        bool ends = text[0] == '\n' || strncmp(text + word, "\n\n", 2) == 0;
        if (column > 0 && column + 1 + word > HELP_WIDTH) {
            putchar('\n');
            column = 0;
        }
        column += printf("%s%.*s", column > 0 ? " " : "", word, text);
        text += word;
        if (ends) {
            fputs("\n\n", stdout);
            column = 0;
        }
        text += strspn(text, " \n");
    }
    putchar('\n');
}

static void print_help(const cli_spec *spec)
{
    printf("usage: %s\n\n", spec->usage);
    print_summary(spec->summary);
    for (int i = 0; i < spec->n_options; i++) {
        const cli_option *option = &spec->options[i];
        if (option->group)
            printf("\n%s:\n", option->group);
        if (!option->help)
            continue;
        int column = printf("  ");
        for (const char *name = option->names; *name;) {
            size_t length = strcspn(name, "|");
            column += printf("%s%s%.*s", column > 2 ? ", " : "", length > 2 ? "--" : "-", (int)length, name);
            name += length + (name[length] == '|');
        }
        if (option->argument)
            column += printf(" %s", option->argument);
        if (column + 2 > HELP_COLUMN)
            printf("\n%*s", HELP_COLUMN, "");
        else
            printf("%*s", HELP_COLUMN - column, "");
        print_wrapped(option->help);
    }
    printf("\n%s", spec->examples);
}

bool cli_is(const cli_option *option, const char *name)
{
    size_t length = strcspn(option->names, "|");
    return strlen(name) == length && strncmp(option->names, name, length) == 0;
}

/* "--name" for messages, or "-n" when the name is as short as the original's. */
static const char *shown(const cli_option *option, char *text, size_t size)
{
    int length = (int)strcspn(option->names, "|");
    snprintf(text, size, "%s%.*s", length > 2 ? "--" : "-", length, option->names);
    return text;
}

static void print_rules(void)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    for (int i = 0; i < n; i++)
        printf("%s%s", i ? "|" : "", rules[i]->id);
}

static void print_devices(void)
{
    int n;
    const ek_device *device = ek_devices(&n);
    for (int i = 0; i < n; i++)
        printf("%s|", device[i].name);
}

/* What an option's value is: rules and devices by their names; a folder is a file to shells. */
static void print_argument(const cli_option *option)
{
    const char *argument = option->argument ? option->argument : "";
    if (strcmp(argument, "RULE") == 0) {
        print_rules();
    } else if (strstr(argument, "|FILE")) {
        if (cli_is(option, "device"))
            print_devices();
        fputs("FILE", stdout);
    } else {
        fputs(argument, stdout);
    }
}

/* What completion scripts read: a line for each name, then what its value is and what it means, by tabs. */
static void print_names(const cli_spec *spec)
{
    for (int i = 0; i < spec->n_options; i++) {
        const cli_option *option = &spec->options[i];
        for (const char *name = option->names; option->help && *name;) {
            size_t length = strcspn(name, "|");
            printf("%s%.*s\t", length > 2 ? "--" : "-", (int)length, name);
            print_argument(option);
            printf("\t%s\n", option->help);
            name += length + (name[length] == '|');
        }
    }
}

/* The option that a table's name is of. */
static const cli_option *option_at(const cli_spec *spec, const name_table *table, int i)
{
    return &spec->options[table->option[i].val - 256];
}

/* Does `word` begin with a name of several letters that takes a value, and go on with a number? Then it is no value of
 * a one-letter option: -mb16 is not -m b16. */
static const char *glued_name(const name_table *table, const char *word)
{
    for (int i = 0; i < table->n; i++) {
        size_t n = strlen(table->names[i]);
        if (n > 1 && table->option[i].has_arg && strncmp(word, table->names[i], n) == 0 &&
            isdigit((unsigned char)word[n]))
            return table->names[i];
    }
    return NULL;
}

/* -s16 as getopt's short options take it: a letter that is an option, and its value. A text that is near a known
 * option is a mistyped one instead. @return NULL when it is none */
static const cli_option *attached(const cli_spec *spec, const name_table *table, const char *word, const char **value)
{
    const char *bare = word + 1;
    if (word[0] != '-' || !isalpha((unsigned char)bare[0]) || !bare[1] || glued_name(table, bare))
        return NULL;
    bool number = isdigit((unsigned char)bare[1]) || bare[1] == '.';
    int n = (int)strlen(bare), wrong = n < 6 ? 1 : n / 3; /* letters that a mistyped name has wrong */
    for (int i = 0; i < table->n && !number; i++)
        if (edit_distance(bare, table->names[i]) <= wrong && strlen(table->names[i]) > 1)
            return NULL;
    for (int i = 0; i < table->n; i++) {
        const cli_option *option = option_at(spec, table, i);
        bool text = option->argument && strcmp(option->argument, "N") != 0 && strcmp(option->argument, "SECONDS") != 0;
        if (table->names[i][0] == bare[0] && !table->names[i][1] && option->argument && (number || text)) {
            *value = bare + 1;
            return option;
        }
    }
    return NULL;
}

static void unknown(const name_table *table, const char *word)
{
    char bare[2 * NAME_SIZE];
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + strspn(word, "-"), "="), word + strspn(word, "-"));
    const char *glued = word[0] == '-' && word[1] != '-' ? glued_name(table, bare) : NULL;
    if (glued) {
        cli_error(NULL, "unknown option '%s'; write '-%s %s'", word, glued, bare + strlen(glued));
        return;
    }
    /* Any letter is near any other. */
    const char *near = strlen(bare) > 1 ? cli_nearest(bare, table->names, table->n) : NULL;
    cli_error(NULL, "unknown option '%s'%s%s%s", word, near ? "; did you mean '--" : "", near ? near : "",
              near ? "'?" : "; see --help");
}

/* Is the value that was taken from the next word an option? "-" is standard input or output, -1 a number. */
static bool is_option_word(const char *text)
{
    return text[0] == '-' && text[1] && !isdigit((unsigned char)text[1]) && text[1] != '.';
}

/* Put an operand into the next free place. */
static bool take_operand(const cli_spec *spec, const char **operand, const char *text)
{
    int max = spec->max_operands ? spec->max_operands : 1, n = 0;
    while (n < max && operand[n])
        n++;
    if (n == max && max == 1)
        cli_error(NULL, "one %s is enough (got '%s' and '%s')", spec->operand, operand[0], text);
    else if (n == max)
        cli_error(NULL, "at most %d times %s (got '%s' too)", max, spec->operand, text);
    else
        operand[n] = text;
    return n < max;
}

int cli_parse(const cli_spec *spec, int argc, char **argv, cli_handler *handle, void *user, const char **operand)
{
    name_table table;
    list_names(spec, &table);
    if (argc == 2 && strcmp(argv[1], "--complete") == 0) {
        print_names(spec);
        return CLI_HELP;
    }
    opterr = 0;
    optind = 1;
    for (;;) {
        int index = -1;
        /* '-' hands operands over in place; ':' tells a missing argument from an unknown option. */
        int c = getopt_long_only(argc, argv, "-:", table.option, &index);
        if (c == -1)
            break;
        if (c == ':') {
            const cli_option *option = optopt >= 256 ? &spec->options[optopt - 256] : NULL;
            cli_error(NULL, "'%s' needs a value%s%s", argv[optind - 1], option ? ": " : "",
                      option ? option->argument : "");
            return CLI_WRONG;
        }
        const char *value = optarg;
        const cli_option *option = c == '?' ? attached(spec, &table, argv[optind - 1], &value) : NULL;
        if (c == '?' && !option) {
            unknown(&table, argv[optind - 1]);
            return CLI_WRONG;
        }
        if (c == 1) {
            if (!take_operand(spec, operand, optarg))
                return CLI_WRONG;
            continue;
        }
        if (!option)
            option = &spec->options[c - 256];
        if (value && value == argv[optind - 1] && is_option_word(value)) {
            cli_error(NULL,
                      "'%s' needs a value: %s (after it comes '%s'; a value that begins with a dash is given as "
                      "%s=%s)",
                      argv[optind - 2], option->argument, value, argv[optind - 2], value);
            return CLI_WRONG;
        }
        if (cli_is(option, "h")) {
            print_help(spec);
            return cli_printed(EK_OK, NULL) ? CLI_HELP : CLI_WRONG;
        }
        if (!handle(user, option, value))
            return CLI_WRONG;
    }
    for (; optind < argc; optind++) /* after "--" */
        if (!take_operand(spec, operand, argv[optind]))
            return CLI_WRONG;
    return CLI_OK;
}

bool cli_int(const cli_option *option, const char *text, int least, int most, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most) {
        char name[NAME_SIZE];
        cli_error(NULL, "%s must be a whole number from %d to %d (got '%s')", shown(option, name, sizeof name), least,
                  most, text);
        return false;
    }
    *out = (int)value;
    return true;
}

bool cli_double(const cli_option *option, const char *text, double least, double most, double *out)
{
    char *end;
    double value = strtod(text, &end);
    bool plain = strspn(text, "0123456789+-.eE") == strlen(text); /* neither nan, inf nor hexadecimal */
    if (end == text || *end || !plain || !(value >= least && value <= most)) {
        char name[NAME_SIZE];
        cli_error(NULL, "%s must be a number from %g to %g (got '%s')", shown(option, name, sizeof name), least, most,
                  text);
        return false;
    }
    *out = value;
    return true;
}

bool cli_amount(const cli_option *option, const char *text, double *out)
{
    char *end = NULL, name[NAME_SIZE];
    double value = strtod(text, &end);
    if (end != text && *end && !end[1])
        value *= *end == 'M' ? 1e6 : *end == 'B' ? 1e9 : *end == 'T' ? 1e12 : NAN;
    else if (end == text || *end)
        value = NAN;
    if (!(value >= 1 && value <= 1e18)) {
        cli_error(NULL, "%s must be a number from 1 to 1e+18, as 38e9 or 38B, 560M, 1.2T (got '%s')",
                  shown(option, name, sizeof name), text);
        return false;
    }
    *out = value;
    return true;
}

bool cli_switch(const cli_option *option, const char *text, bool *out)
{
    static const char *const on[] = {"1", "true", "True", "yes"}, *const off[] = {"0", "false", "False", "no"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, on[i]) == 0 || strcmp(text, off[i]) == 0) {
            *out = strcmp(text, on[i]) == 0;
            return true;
        }
    }
    char name[NAME_SIZE];
    cli_error(NULL, "%s must be 1 or 0 (got '%s')", shown(option, name, sizeof name), text);
    return false;
}
