/* Parses options by table, with getopt_long_only, which takes one dash or two. A command's table is flattened first,
 * with the tables that it includes; every row then has the address of the structure that contains its field. */
#include "options.h"
#include "team.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/lint.h"
#include "progress.h"

#include "files.h"
#include "named_files.h"

enum { MAX_ROWS = 128, MAX_NAMES = 192, HELP_COLUMN = 26, HELP_WIDTH = 100, LONGEST_MESSAGE = 8192, HELP_SIZE = 1024 };

/* A command's options, with those of the tables that it includes. */
typedef struct cli_row {
    const cli_option *option;
    char *base; /* the structure of its field */
} cli_row;
typedef struct row_list {
    int n;
    cli_row row[MAX_ROWS];
} row_list;

/* Every name of every option, as getopt wants them. */
typedef struct name_table {
    int n;
    char name[MAX_NAMES][CLI_NAME_SIZE];
    const char *names[MAX_NAMES];
    struct option option[MAX_NAMES + 1];
} name_table;

/* Names and contents of files may contain any byte; a control character would reach the terminal. */
static void report(const char *text)
{
    for (; *text; text++) {
        bool control = ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f;
        fputc(control ? '?' : *text, stderr);
    }
}

static void note_place(const ek_error *err, const char *kind)
{
    report(err && err->file[0] ? err->file : "evenkeel");
    if (err && err->file[0] && err->line > 0)
        fprintf(stderr, ":%d:%d", err->line, err->column);
    fprintf(stderr, ": %s: ", kind);
}

static void print_message(const char *format, va_list arguments)
{
    char text[LONGEST_MESSAGE];
    vsnprintf(text, sizeof text, format, arguments);
    report(text);
    fputc('\n', stderr);
}

static ek_error last_error;

const ek_error *cli_last_error(void)
{
    return &last_error;
}

static void remember(const ek_error *err, const char *format, va_list arguments)
{
    last_error = err ? *err : (ek_error){.status = EK_ERR_INPUT};
    if (!last_error.status)
        last_error.status = EK_ERR_INPUT;
    vsnprintf(last_error.message, sizeof last_error.message, format, arguments);
}

void cli_error(const ek_error *err, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    remember(err, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    cli_bar_wipe();
    note_place(err, "error");
    print_message(format, arguments);
    va_end(arguments);
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    cli_bar_wipe();
    note_place(NULL, "note");
    print_message(format, arguments);
    va_end(arguments);
}

static void print_warning(void *user, const ek_error *warning)
{
    (void)user;
    cli_bar_wipe();
    note_place(warning, "warning");
    report(warning->message);
    fputc('\n', stderr);
}

const ek_listener cli_listener = {print_warning, NULL};

static void print_note(void *user, const ek_error *note)
{
    (void)user;
    cli_note("%s", note->message);
}

const ek_listener cli_notes = {print_note, NULL};

static int edit_distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    int row[CLI_NAME_SIZE + 1];
    if (n > CLI_NAME_SIZE)
        return CLI_NAME_SIZE;
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

bool cli_is_terminal(int fd)
{
    return !cli_team_is_launched() && isatty(fd);
}

bool cli_color(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return cli_is_terminal(fd) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

static void list_rows(const cli_option *option, char *base, row_list *list)
{
    for (; option->names || option->rows; option++) {
        if (option->rows) {
            list_rows(option->rows, base + option->at, list);
            continue;
        }
        assert(list->n < MAX_ROWS);
        assert(option->kind != CLI_KIND_NONE);
        assert(!option->argument == (option->kind == CLI_KIND_FLAG || option->kind == CLI_KIND_HELP));
        list->row[list->n++] = (cli_row){option, base};
    }
}

static void list_names(const row_list *list, name_table *table)
{
    table->n = 0;
    for (int i = 0; i < list->n; i++) {
        for (const char *name = list->row[i].option->names; *name;) {
            size_t length = strcspn(name, "|");
            assert(table->n < MAX_NAMES && length < CLI_NAME_SIZE);
            char *place = table->name[table->n];
            snprintf(place, CLI_NAME_SIZE, "%.*s", (int)length, name);
            table->names[table->n] = place;
            table->option[table->n++] = (struct option){
                .name = place,
                .has_arg = list->row[i].option->argument ? required_argument : no_argument,
                .val = 256 + i,
            };
            name += length + (name[length] == '|');
        }
    }
    table->option[table->n] = (struct option){0};
}

/* The word of a list "text|yaml|json" at a place. */
static void copy_word(const char *words, int i, char *text, size_t size)
{
    assert(words);
    for (; i > 0 && *words; i--)
        words += strcspn(words, "|") + (words[strcspn(words, "|")] == '|');
    snprintf(text, size, "%.*s", (int)strcspn(words, "|"), words);
}

/* The default in words; false when there is none. */
static bool default_of(const cli_row *row, char *text, size_t size)
{
    const cli_option *option = row->option;
    const char *place = row->base + option->at;
    if (option->otherwise)
        snprintf(text, size, "%s", option->otherwise);
    else if (option->kind == CLI_KIND_INT)
        snprintf(text, size, "%d", *(const int *)(const void *)place);
    else if (option->kind == CLI_KIND_DOUBLE)
        snprintf(text, size, "%g", *(const double *)(const void *)place);
    else if (option->kind == CLI_KIND_WORD && option->type == CLI_OF_INT && *(const int *)(const void *)place >= 0)
        copy_word(option->argument, *(const int *)(const void *)place, text, size);
    else if ((option->kind == CLI_KIND_TEXT || (option->kind == CLI_KIND_WORD && option->type == CLI_OF_TEXT)) &&
             *(const char *const *)(const void *)place)
        snprintf(text, size, "%s", *(const char *const *)(const void *)place);
    else
        return false;
    return true;
}

/* The help of a row, with its default where "{}" is. */
static const char *help_of(const cli_row *row, char *text, size_t size)
{
    char value[64];
    const char *help = row->option->help, *hole = strstr(help, "{}");
    if (!hole || !default_of(row, value, sizeof value))
        return help;
    snprintf(text, size, "%.*s%s%s", (int)(hole - help), help, value, hole + 2);
    return text;
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

/* A paragraph's lines are wrapped again; an empty line ends it. */
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

static void print_help(const cli_spec *spec, const row_list *list)
{
    char help[HELP_SIZE];
    printf("usage: %s\n\n", spec->usage);
    print_summary(spec->summary);
    for (int i = 0; i < list->n; i++) {
        const cli_option *option = list->row[i].option;
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
        print_wrapped(help_of(&list->row[i], help, sizeof help));
    }
    printf("\n%s", spec->examples);
}

bool cli_has_option(const cli_option *rows, const char *word)
{
    const char *bare = word + strspn(word, "-");
    size_t n = strcspn(bare, "=");
    for (const cli_option *row = rows; row->names || row->rows; row++) {
        if (row->rows && cli_has_option(row->rows, word))
            return true;
        for (const char *name = row->names; name && *name;) {
            size_t length = strcspn(name, "|");
            if (length == n && strncmp(name, bare, n) == 0)
                return true;
            name += length + (name[length] == '|');
        }
    }
    return false;
}

bool cli_is(const cli_option *option, const char *name)
{
    size_t length = strcspn(option->names, "|");
    return strlen(name) == length && strncmp(option->names, name, length) == 0;
}

const char *cli_shown(const cli_option *option, char *text, size_t size)
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

/* The kind of an option's value: rules and devices by their names; shells treat a folder as a file. */
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

/* The input of completion scripts: one line for each name, with the kind of its value and its meaning, separated by
 * tabs. */
static void print_names(const row_list *list)
{
    char help[HELP_SIZE];
    for (int i = 0; i < list->n; i++) {
        const cli_option *option = list->row[i].option;
        for (const char *name = option->names; option->help && *name;) {
            size_t length = strcspn(name, "|");
            printf("%s%.*s\t", length > 2 ? "--" : "-", (int)length, name);
            print_argument(option);
            printf("\t%s\n", help_of(&list->row[i], help, sizeof help));
            name += length + (name[length] == '|');
        }
    }
}

/* The source of the man page and docs/, separated by tabs: group, names, argument, range, default, text. A default is
 * included where the help has it, and for words. */
static void print_rows(const row_list *list)
{
    const char *group = "";
    for (int i = 0; i < list->n; i++) {
        const cli_option *option = list->row[i].option;
        char value[HELP_SIZE];
        group = option->group ? option->group : group;
        if (!option->help || option->kind == CLI_KIND_HELP)
            continue;
        printf("%s\t%s\t%s\t", group, option->names, option->argument ? option->argument : "");
        if (option->most > option->least)
            printf("%.10g..%.10g", option->least, option->most);
        bool named = option->otherwise || option->kind == CLI_KIND_WORD || strstr(option->help, "{}");
        printf("\t%s\t", named && default_of(&list->row[i], value, sizeof value) ? value : "");
        const char *text = option->manual ? option->manual : option->help, *hole = strstr(text, " ({})");
        printf("%.*s%s\n", hole ? (int)(hole - text) : (int)strlen(text), text, hole ? hole + strlen(" ({})") : "");
    }
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
static const cli_row *attached(const row_list *list, const name_table *table, const char *word, const char **value)
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
        const cli_row *row = &list->row[table->option[i].val - 256];
        const cli_option *option = row->option;
        assert(option);
        bool text = option->argument && strcmp(option->argument, "N") != 0 && strcmp(option->argument, "SECONDS") != 0;
        if (table->names[i][0] == bare[0] && !table->names[i][1] && option->argument && (number || text)) {
            *value = bare + 1;
            return row;
        }
    }
    return NULL;
}

static void unknown(const name_table *table, const char *word)
{
    char bare[2 * CLI_NAME_SIZE];
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

const char **cli_operands(int argc)
{
    /* Twice, for the search below looks ahead. */
    const char **operand = calloc(2 * (size_t)argc + 2, sizeof *operand);
    if (!operand)
        cli_error(NULL, "out of memory");
    return operand;
}

/* Number of operands: the first ones of the array, few of a capacity of thousands. */
static int count_operands(const char *const *operand, int max)
{
    int low = 0, high = 1;
    while (high < max && operand[high - 1])
        low = high, high = high < max / 2 ? 2 * high : max;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (operand[middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put an operand into the next free place. */
static bool read_operand(const cli_spec *spec, const char **operand, const char *text)
{
    int max = spec->max_operands ? spec->max_operands : 1, n = count_operands(operand, max);
    if (n == max && max == 1)
        cli_error(NULL, "one %s is enough (got '%s' and '%s')", spec->operand, operand[0], text);
    else if (n == max)
        cli_error(NULL, "at most %d times %s (got '%s' too)", max, spec->operand, text);
    else
        operand[n] = text;
    return n < max && cli_named_add(NULL, text);
}

/* At least 1. */
static bool store_amount(const cli_option *option, const char *text, double *out)
{
    char *end = NULL, name[CLI_NAME_SIZE];
    double value = strtod(text, &end);
    if (end != text && *end && !end[1])
        value *= *end == 'M' ? 1e6 : *end == 'B' ? 1e9 : *end == 'T' ? 1e12 : NAN;
    else if (end == text || *end)
        value = NAN;
    if (!(value >= 1 && value <= 1e18)) {
        cli_error(NULL, "%s must be a number from 1 to 1e+18, as 38e9 or 38B, 560M, 1.2T (got '%s')",
                  cli_shown(option, name, sizeof name), text);
        return false;
    }
    *out = value;
    return true;
}

static bool store_word(const cli_option *option, const char *text, void *place)
{
    int i = cli_word(option, text);
    if (i < 0)
        return false;
    if (option->type == CLI_OF_TEXT)
        *(const char **)place = text;
    else if (option->type == CLI_OF_BOOL)
        *(bool *)place = i > 0;
    else
        *(int *)place = i;
    return true;
}

static bool store_switch(const cli_option *option, const char *text, void *place)
{
    bool on;
    if (!cli_switch(option, text, &on))
        return false;
    if (option->type == CLI_OF_BOOL)
        *(bool *)place = on;
    else
        *(int *)place = on;
    return true;
}

static bool add_text(const cli_option *option, const char *text, cli_texts *list)
{
    if (!*text) {
        cli_error(NULL, "--%s needs a text that is not empty", option->names);
        return false;
    }
    if (list->n == CLI_MAX_TEXTS) {
        cli_error(NULL, "at most %d times --%s (got '%s' too)", CLI_MAX_TEXTS, option->names, text);
        return false;
    }
    list->at[list->n++] = text;
    return true;
}

static void note_given(const cli_option *option, char *base)
{
    char *place = base + option->given - 1;
    const char **first = (const char **)(void *)place;
    if (option->given && option->given_type == CLI_OF_BOOL)
        *(bool *)(void *)place = true;
    else if (option->given && !*first)
        *first = option->names;
}

/* A name of standard output as a file: replacing it would lose the output. */
static bool is_stdout_file(const char *text)
{
    return strcmp(text, "/dev/stdout") == 0 || strcmp(text, "/dev/fd/1") == 0 || strcmp(text, "/proc/self/fd/1") == 0;
}

/* Store a value. */
static bool store(const cli_row *row, const char *text)
{
    const cli_option *option = row->option;
    void *place = row->base + option->at;
    assert(!option->argument == !text);
    if (option->writes && is_stdout_file(text))
        text = "-";
    note_given(option, row->base);
    if (option->argument && !cli_named_add(option, text))
        return false;
    switch (option->kind) {
    case CLI_KIND_NONE:
    case CLI_KIND_HELP:
        break;
    case CLI_KIND_FLAG:
        *(bool *)place = true;
        return true;
    case CLI_KIND_INT:
        return cli_int(option, text, place);
    case CLI_KIND_DOUBLE:
        return cli_double(option, text, place);
    case CLI_KIND_AMOUNT:
        return store_amount(option, text, place);
    case CLI_KIND_SWITCH:
        return store_switch(option, text, place);
    case CLI_KIND_WORD:
        return store_word(option, text, place);
    case CLI_KIND_TEXT:
        *(const char **)place = text;
        return true;
    case CLI_KIND_TEXTS:
        return add_text(option, text, place);
    case CLI_KIND_CALL:
        return option->take(option, text, place);
    }
    return false;
}

/* The kind of output of an option that names one, for the test that tries them all: "svg|s\tfile". */
static void print_outputs(const row_list *list)
{
    static const char *const kinds[] = {NULL, "file", "folder", "edited"};
    for (int i = 0; i < list->n; i++)
        if (list->row[i].option->writes)
            printf("%s\t%s\n", list->row[i].option->names, kinds[list->row[i].option->writes]);
}

/* --complete and its forms. */
static bool describe(const char *word, const row_list *list)
{
    if (strcmp(word, "--complete") == 0)
        print_names(list);
    else if (strcmp(word, "--complete=rows") == 0)
        print_rows(list);
    else if (strcmp(word, "--complete=outputs") == 0)
        print_outputs(list);
    else
        return false;
    return true;
}

/* A value that is the next word and looks like an option: the value was forgotten. */
static bool forgotten(const cli_option *option, char **argv, const char *value)
{
    if (!value || value != argv[optind - 1] || !is_option_word(value))
        return false;
    cli_error(NULL, "'%s' needs a value: %s (after it comes '%s'; a value that begins with a dash is given as %s=%s)",
              argv[optind - 2], option->argument, value, argv[optind - 2], value);
    return true;
}

int cli_parse(const cli_spec *spec, int argc, char **argv, void *base, const char **operand)
{
    row_list list = {0};
    name_table table;
    list_rows(spec->options, base, &list);
    list_names(&list, &table);
    if (argc == 2 && describe(argv[1], &list))
        return cli_printed(EK_OK, NULL) ? CLI_HELP : CLI_WRONG;
    cli_named_begin();
    opterr = 0;
    optind = 1;
    for (;;) {
        int index = -1;
        /* '-' returns operands in their order; ':' distinguishes a missing argument from an unknown option. */
        int c = getopt_long_only(argc, argv, "-:", table.option, &index);
        if (c == -1)
            break;
        if (c == 1) {
            if (!read_operand(spec, operand, optarg))
                return CLI_WRONG;
            continue;
        }
        if (c == ':') {
            const cli_option *option = optopt >= 256 ? list.row[optopt - 256].option : NULL;
            cli_error(NULL, "'%s' needs a value%s%s", argv[optind - 1], option ? ": " : "",
                      option ? option->argument : "");
            return CLI_WRONG;
        }
        const char *value = optarg;
        const cli_row *row = c == '?' ? attached(&list, &table, argv[optind - 1], &value) : &list.row[c - 256];
        if (!row)
            unknown(&table, argv[optind - 1]);
        assert(!row || row->option);
        if (!row || forgotten(row->option, argv, value))
            return CLI_WRONG;
        if (row->option->kind == CLI_KIND_HELP) {
            print_help(spec, &list);
            return cli_printed(EK_OK, NULL) ? CLI_HELP : CLI_WRONG;
        }
        if (!store(row, value))
            return CLI_WRONG;
    }
    for (; optind < argc; optind++) /* after "--" */
        if (!read_operand(spec, operand, argv[optind]))
            return CLI_WRONG;
    return cli_named_check() ? CLI_OK : CLI_WRONG;
}

bool cli_int(const cli_option *option, const char *text, int *out)
{
    int least = (int)option->least, most = (int)option->most;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most) {
        char name[CLI_NAME_SIZE];
        cli_error(NULL, "%s must be a whole number from %d to %d (got '%s')", cli_shown(option, name, sizeof name),
                  least, most, text);
        return false;
    }
    *out = (int)value;
    return true;
}

bool cli_double(const cli_option *option, const char *text, double *out)
{
    double least = option->least, most = option->most;
    char *end;
    double value = strtod(text, &end);
    bool plain = strspn(text, "0123456789+-.eE") == strlen(text); /* neither nan, inf nor hexadecimal */
    if (end == text || *end || !plain || !(value >= least && value <= most)) {
        char name[CLI_NAME_SIZE];
        cli_error(NULL, "%s must be a number from %g to %g (got '%s')", cli_shown(option, name, sizeof name), least,
                  most, text);
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
    char name[CLI_NAME_SIZE];
    cli_error(NULL, "%s must be 1 or 0 (got '%s')", cli_shown(option, name, sizeof name), text);
    return false;
}

int cli_word(const cli_option *option, const char *text)
{
    const char *must = option->must ? option->must : option->argument;
    size_t length = strlen(text);
    int i = 0;
    for (const char *word = option->argument;; i++) {
        size_t n = strcspn(word, "|");
        if (n == length && strncmp(word, text, n) == 0)
            return i;
        word += n;
        if (!*word++)
            break;
    }
    cli_error(NULL, "--%.*s must be %s (got '%s')%s", (int)strcspn(option->names, "|"), option->names, must, text,
              option->hint ? option->hint : "");
    return -1;
}
