/* Tests the pictures: well-formed XML, every label inside the page and clear of the others, every block in its row at
 * its time, whatever the number of stages, and small files for large runs. */
#include "report/writers.h"
#include "report_fixture.h"

#include <ctype.h>
#include <math.h>

enum { MAX_TEXTS = 8000, MAX_RECTS = 40000, MAX_DEPTH = 8 };

typedef struct label {
    double left, right, top, bottom;
    char text[512];
} label;

typedef struct box {
    char style[16];
    double x, y, width, height;
    bool block; /**< carries a tooltip */
    int stage;  /**< of a block, from its tooltip */
} box;

typedef struct picture {
    double width, height;
    size_t n_labels, n_boxes;
    label *labels;
    box *boxes;
    bool over; /**< some curve is drawn as over the limit */
} picture;

/* An element being read: its name and attributes as in the file. */
typedef struct element {
    char name[16];
    const char *attributes, *end;
    double font_size;
    bool middle;
} element;

static bool attribute(const element *e, const char *name, char *value, size_t room)
{
    size_t length = strlen(name);
    for (const char *p = e->attributes; p < e->end; p++)
        if (isspace((unsigned char)p[-1]) && strncmp(p, name, length) == 0 && p[length] == '=') {
            const char *from = p + length + 2, *to = strchr(from, '"');
            snprintf(value, room, "%.*s", (int)(to - from), from);
            return true;
        }
    return false;
}

static double number(const element *e, const char *name, double otherwise)
{
    char value[64];
    return attribute(e, name, value, sizeof value) ? strtod(value, NULL) : otherwise;
}

/* Attributes must be name="value" pairs without '<' or bare '&', each name once. */
static void check_attributes(const char *p, const char *end)
{
    char seen[12][32];
    int n = 0;
    for (;;) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p >= end)
            return;
        const char *equals = memchr(p, '=', (size_t)(end - p));
        if (!equals || equals[1] != '"' || n == 12)
            fail_msg("attribute at %.40s", p);
        snprintf(seen[n], sizeof seen[n], "%.*s", (int)(equals - p), p);
        for (int i = 0; i < n; i++)
            if (strcmp(seen[i], seen[n]) == 0)
                fail_msg("%s twice", seen[n]);
        n++;
        const char *quote = memchr(equals + 2, '"', (size_t)(end - equals - 2));
        if (!quote || memchr(equals, '<', (size_t)(quote - equals)) || memchr(equals, '&', (size_t)(quote - equals)))
            fail_msg("value at %.40s", equals);
        p = quote + 1;
    }
}

/* Character data with its entities resolved; anything XML forbids fails the test. */
static void decode(const char *from, const char *to, char *out, size_t room)
{
    static const char *const entity[][2] = {{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"&quot;", "\""}};
    size_t n = 0;
    while (from < to) {
        char c = *from;
        size_t length = 1;
        if (c == '&') {
            length = 0;
            for (size_t i = 0; i < 4; i++)
                if (strncmp(from, entity[i][0], strlen(entity[i][0])) == 0) {
                    c = entity[i][1][0];
                    length = strlen(entity[i][0]);
                }
            if (length == 0)
                fail_msg("entity at %.20s", from);
        } else if ((unsigned char)c < 0x20 && c != '\n')
            fail_msg("control character %d", c);
        if (n + 1 < room)
            out[n++] = c;
        from += length;
    }
    out[n] = '\0';
}

/* A width no common sans-serif face exceeds, by broad classes of characters. */
static double text_width(const char *text, double size, bool bold)
{
    double ems = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if ((*p & 0xc0) == 0x80)
            continue;
        else if (*p >= 0x80)
            ems += p[0] == 0xc2 && p[1] == 0xb7 ? 0.35 : 1;
        else if (strchr("ijlI|.,:;' ()-", *p))
            ems += 0.42;
        else if (strchr("mwW%@", *p))
            ems += 1;
        else if (isupper(*p) || strchr("+=<>#&", *p))
            ems += 0.88;
        else
            ems += 0.645;
    }
    return ems * size * (bold ? 1.15 : 1);
}

static void add_label(picture *p, const element *e, const char *text)
{
    char anchor[16] = "", style[16] = "";
    attribute(e, "text-anchor", anchor, sizeof anchor);
    attribute(e, "class", style, sizeof style);
    double size = e->font_size, x = number(e, "x", NAN), y = number(e, "y", NAN);
    double width = text_width(text, size, strcmp(style, "h") == 0 || strcmp(style, "bad") == 0);
    double left = e->middle ? x - width / 2 : strcmp(anchor, "end") == 0 ? x - width : x;
    assert_true(p->n_labels < MAX_TEXTS);
    label *l = &p->labels[p->n_labels++];
    *l = (label){left, left + width, y - 0.74 * size, y + 0.2 * size, ""};
    snprintf(l->text, sizeof l->text, "%s", text);
}

static void add_box(picture *p, const element *e)
{
    assert_true(p->n_boxes < MAX_RECTS);
    box *b = &p->boxes[p->n_boxes++];
    *b = (box){.x = number(e, "x", NAN),
               .y = number(e, "y", NAN),
               .width = number(e, "width", NAN),
               .height = number(e, "height", NAN)};
    attribute(e, "class", b->style, sizeof b->style);
}

static void close_element(picture *p, const element *stack, int depth, const char *from, const char *to)
{
    const element *e = &stack[depth - 1];
    char text[512] = "";
    if (strcmp(e->name, "style") != 0)
        decode(from, to, text, sizeof text);
    if (strcmp(e->name, "text") == 0)
        add_label(p, e, text);
    if (strcmp(e->name, "title") == 0 && depth > 1 && strcmp(stack[depth - 2].name, "rect") == 0) {
        box *b = &p->boxes[p->n_boxes - 1];
        b->block = true;
        assert_int_equal(sscanf(text, "stage %d,", &b->stage), 1);
    }
}

/* Walk the elements: names must nest, there must be one root, and drawn elements are collected. */
static picture read_picture(const char *svg)
{
    picture p = {.labels = calloc(MAX_TEXTS, sizeof(label)), .boxes = calloc(MAX_RECTS, sizeof(box))};
    element stack[MAX_DEPTH];
    int depth = 0, roots = 0;
    const char *content = svg;
    assert_non_null(p.labels);
    assert_non_null(p.boxes);
    for (const char *at = strchr(svg, '<'); at; at = strchr(at + 1, '<')) {
        const char *end = strchr(at, '>'), *name = at + 1 + (at[1] == '/');
        size_t length = strcspn(name, " />");
        assert_non_null(end);
        if (at[1] == '/') {
            assert_true(depth > 0);
            assert_int_equal(strlen(stack[depth - 1].name), length);
            assert_int_equal(strncmp(stack[depth - 1].name, name, length), 0);
            close_element(&p, stack, depth, content, at);
            depth--;
            content = end + 1;
            continue;
        }
        bool empty = end[-1] == '/';
        element e = {.attributes = name + length, .end = end - empty};
        assert_true(depth < MAX_DEPTH);
        snprintf(e.name, sizeof e.name, "%.*s", (int)length, name);
        check_attributes(e.attributes, e.end);
        char anchor[16] = "", style[16] = "", path[16] = "", view[64] = "";
        e.font_size = number(&e, "font-size", depth ? stack[depth - 1].font_size : 16);
        e.middle = attribute(&e, "text-anchor", anchor, sizeof anchor) ? strcmp(anchor, "middle") == 0
                                                                       : depth && stack[depth - 1].middle;
        if (depth == 0) {
            roots++;
            assert_string_equal(e.name, "svg");
            assert_true(attribute(&e, "viewBox", view, sizeof view));
            assert_int_equal(sscanf(view, "0 0 %lf %lf", &p.width, &p.height), 2);
        }
        if (strcmp(e.name, "rect") == 0)
            add_box(&p, &e);
        if (strcmp(e.name, "path") == 0 && attribute(&e, "class", style, sizeof style) && strcmp(style, "over") == 0 &&
            attribute(&e, "d", path, sizeof path) && path[0])
            p.over = true;
        if (!empty) {
            stack[depth++] = e;
            content = end + 1;
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
    return p;
}

static void picture_clear(picture *p)
{
    free(p->labels);
    free(p->boxes);
}

static void assert_labels_are_clear(const picture *p)
{
    for (size_t i = 0; i < p->n_labels; i++) {
        const label *a = &p->labels[i];
        if (a->left < 0 || a->right > p->width || a->top < 0 || a->bottom > p->height)
            fail_msg("\"%s\" leaves the page: %g..%g, %g..%g", a->text, a->left, a->right, a->top, a->bottom);
        for (size_t j = 0; j < i; j++) {
            const label *b = &p->labels[j];
            if (a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom)
                fail_msg("\"%s\" and \"%s\" overlap at %g, %g", a->text, b->text, a->left, a->top);
        }
    }
}

static void assert_boxes_are_inside(const picture *p)
{
    for (size_t i = 0; i < p->n_boxes; i++) {
        const box *b = &p->boxes[i];
        if (!(b->x >= 0 && b->y >= 0 && b->width >= 0 && b->height >= 0 && b->x + b->width <= p->width + 0.01 &&
              b->y + b->height <= p->height + 0.01))
            fail_msg("%s leaves the page: %g+%g, %g+%g", b->style, b->x, b->width, b->y, b->height);
    }
}

/* Row of a stage: the idle backgrounds after the legend's patch, in order. */
static const box *row_of(const picture *p, int stage)
{
    for (size_t i = 0; i < p->n_boxes; i++)
        if (strcmp(p->boxes[i].style, "idle") == 0 && p->boxes[i].width > 20 && stage-- == 0)
            return &p->boxes[i];
    fail_msg("no row");
    return NULL;
}

static void assert_blocks_are_the_timeline(const picture *p, const ek_timeline *t)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_boxes; i++) {
        const box *b = &p->boxes[i];
        if (!b->block)
            continue;
        const box *row = row_of(p, b->stage);
        const ek_interval *block = &t->block[n++];
        assert_true(b->y >= row->y - 0.011 && b->y + b->height <= row->y + row->height + 0.011);
        assert_true(b->x >= row->x - 0.011 && b->x + b->width <= row->x + row->width + 0.011);
        assert_true(fabs(b->x - (row->x + block->start / t->step_time * row->width)) < 0.02);
        assert_true(b->width <= (block->end - block->start) / t->step_time * row->width + 0.02);
        assert_int_equal(b->style[0], block->kind == EK_FORWARD ? 'f' : 'b');
    }
    assert_int_equal(n, t->n_blocks);
}

typedef struct picture_case {
    ek_shape shape;
    int n_layers;
    double limit;
    bool tooltips;
} picture_case;

static void pictures_of_many_shapes_are_sound(void **state)
{
    (void)state;
    static const picture_case cases[] = {
        {{1, 1, 1, 0}, 2, 0, true},           {{1, 1, 5, 0}, 2, 1000, true},        {{2, 1, 2, 0}, 4, 2500, true},
        {{2, 2, 4, 0}, 8, 90000, true},       {{3, 1, 7, 0}, 9, 1, true},           {{4, 2, 8, 0}, 16, 4000, true},
        {{8, 8, 16, 0}, 128, 20000, true},    {{16, 3, 16, 0}, 96, 9000, true},     {{16, 1, 64, 0}, 96, 6000, true},
        {{32, 1, 40, 0}, 96, 5000, true},     {{64, 1, 64, 0}, 128, 4000, true},    {{16, 4, 512, 0}, 96, 9000, false},
        {{100, 1, 100, 0}, 200, 4000, false}, {{300, 2, 600, 0}, 600, 4000, false}, {{2, 64, 2, 0}, 128, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const picture_case *c = &cases[i];
        fixture f;
        fixture_init(&f, "model", c->n_layers);
        fixture_add(&f, "result", c->shape, 1, EK_RECOMPUTE_SELECT);
        ek_report report = fixture_report(&f, c->limit, NULL);
        char *svg = written(&report, NULL, ek__svg_write, 0);
        picture p = read_picture(svg);
        print_message("# p=%d v=%d m=%d: %zu bytes\n", c->shape.n_stages, c->shape.n_chunks, c->shape.n_micro_batches,
                      strlen(svg));
        assert_true(p.width == 1600);
        assert_labels_are_clear(&p);
        assert_boxes_are_inside(&p);
        if (c->tooltips)
            assert_blocks_are_the_timeline(&p, &f.timeline[0]);
        assert_int_equal(p.over, c->limit > 0 && ek_timeline_peak(&f.timeline[0], NULL) > c->limit);
        picture_clear(&p);
        free(svg);
        fixture_clear(&f);
    }
}

static void large_runs_give_small_files(void **state)
{
    (void)state;
    static const ek_shape shapes[] = {
        {64, 1, 256, 0}, {64, 1, 512, 0}, {64, 4, 512, 0}, {16, 8, 1024, 0}, {512, 1, 1024, 0}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fixture f;
        fixture_init(&f, "large", shapes[i].n_stages * shapes[i].n_chunks);
        fixture_add(&f, "result", shapes[i], 0, EK_RECOMPUTE_NONE);
        ek_report report = fixture_report(&f, 3000, NULL);
        char *svg = written(&report, NULL, ek__svg_write, 0);
        if (strlen(svg) > 3000000)
            fail_msg("%zu bytes for p=%d, m=%d", strlen(svg), shapes[i].n_stages, shapes[i].n_micro_batches);
        free(svg);
        fixture_clear(&f);
    }
}

static void comparisons_are_sound(void **state)
{
    (void)state;
    static const char *const name[] = {"result", "naive_no_recomp",
                                       "naive_all_recomp, with a rather long name of its own", "手工"};
    static const ek_recompute kind[] = {EK_RECOMPUTE_BOTH, EK_RECOMPUTE_NONE, EK_RECOMPUTE_FULL, EK_RECOMPUTE_SELECT};
    for (int stages = 1; stages <= 64; stages *= 4)
        for (int n = 1; n <= 4; n++) {
            fixture f;
            fixture_init(&f, "a <model> & \"more\"", stages * 6);
            for (int i = 0; i < n; i++)
                fixture_add(&f, name[i], (ek_shape){stages, i == 3 ? 1 : 3, stages * (1 + i / 2), 0}, i % 2, kind[i]);
            ek_report report = fixture_report(&f, 5000, NULL);
            char *svg = written(&report, ek__svg_compare_write, NULL, 0);
            picture p = read_picture(svg);
            assert_labels_are_clear(&p);
            assert_boxes_are_inside(&p);
            for (int i = 0; i < n; i++) {
                double peak = ek_timeline_peak(&f.timeline[i], NULL);
                if (peak > 5000) {
                    assert_true(p.over);
                    assert_non_null(strstr(svg, "over by "));
                }
            }
            picture_clear(&p);
            free(svg);
            fixture_clear(&f);
        }
}

static void special_characters_are_escaped(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "<b>\"x\" & 'y'</b>\x01 cut \xe6\x89", 8);
    fixture_add(&f, "]]> <script>alert(1)</script>", (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 4000, NULL);
    char *svg = written(&report, NULL, ek__svg_write, 0);
    picture p = read_picture(svg);
    assert_string_equal(p.labels[0].text, "<b>\"x\" & 'y'</b>\xef\xbf\xbd cut \xef\xbf\xbd\xef\xbf\xbd: ]]> "
                                          "<script>alert(1)</script>");
    assert_ptr_equal(strstr(svg, "<script"), NULL);
    picture_clear(&p);
    free(svg);
    fixture_clear(&f);
}

static void long_names_are_cut(void **state)
{
    (void)state;
    char name[EK_NAME_SIZE], label_text[300];
    memset(name, 'W', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    memset(label_text, 'M', sizeof label_text - 1);
    label_text[sizeof label_text - 1] = '\0';
    fixture f;
    fixture_init(&f, name, 8);
    fixture_add(&f, label_text, (ek_shape){4, 1, 4, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 4000, NULL);
    char *one = written(&report, NULL, ek__svg_write, 0), *all = written(&report, ek__svg_compare_write, NULL, 0);
    picture p = read_picture(one), q = read_picture(all);
    assert_labels_are_clear(&p);
    assert_labels_are_clear(&q);
    assert_non_null(strstr(p.labels[0].text, "WWW"));
    picture_clear(&p);
    picture_clear(&q);
    free(one);
    free(all);
    fixture_clear(&f);
}

static void small_pictures_match_golden(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "result", (ek_shape){4, 2, 4, 0}, 1, EK_RECOMPUTE_BOTH);
    fixture_add(&f, "naive_no_recomp", (ek_shape){4, 2, 4, 0}, 1, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 4000, NULL);
    char *one = written(&report, NULL, ek__svg_write, 0), *all = written(&report, ek__svg_compare_write, NULL, 0);
    assert_golden("timeline_small.svg", one);
    assert_golden("compare_small.svg", all);
    free(one);
    free(all);
    fixture_clear(&f);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "one", (ek_shape){4, 2, 64, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    assert_full_disk_reported(&report, NULL, ek__svg_write);
    assert_full_disk_reported(&report, ek__svg_compare_write, NULL);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"labels are clear and blocks in their rows for many shapes", pictures_of_many_shapes_are_sound, NULL, NULL,
         NULL},
        {"large runs give files below 3 MB", large_runs_give_small_files, NULL, NULL, NULL},
        {"comparisons of one to four cases are sound", comparisons_are_sound, NULL, NULL, NULL},
        {"special characters in names are escaped", special_characters_are_escaped, NULL, NULL, NULL},
        {"names too long for the page are cut", long_names_are_cut, NULL, NULL, NULL},
        {"small pictures match their golden files", small_pictures_match_golden, NULL, NULL, NULL},
        {"a full disk is reported", a_full_disk_is_reported, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
