/* A diagnosis as one page: no script, no network, light or dark as the reader prefers, fit for paper. Bars are boxes
 * whose widths are shares of the largest cost or gain, drawn by style alone; the figures stand beside them as text, so
 * that nothing is told by colour only. All texts are escaped. */
#include <math.h>
#include <string.h>

#include "report/diagnosis_internal.h"
#include "report/svg_internal.h"

static const char style[] =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1a2433;--soft:#566275;--line:#d5dbe3;--card:#f6f8fa;"
    "--gain:#1f7a4d;--cost:#b9c4d2;--code:#eaeef3;--alarm:#9a5b00}\n"
    "@media (prefers-color-scheme:dark){:root{--page:#12171f;--ink:#e6ebf2;--soft:#9aa7b8;--line:#303a48;"
    "--card:#1a212c;--gain:#4cc38a;--cost:#465468;--code:#0d1219;--alarm:#f0b65a}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);"
    "font:16px/1.5 system-ui,\"DejaVu Sans\",sans-serif}\n"
    "main{max-width:1120px;margin:0 auto;padding:28px 24px 48px}h1{font-size:26px;line-height:1.25;margin:0 0 4px}"
    "h2{font-size:18px;line-height:1.35;margin:0}h3{font-size:18px;margin:36px 0 8px}p{margin:6px 0}"
    ".soft{color:var(--soft)}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:16px 20px;margin:16px 0;"
    "break-inside:avoid}\n"
    ".head{display:flex;gap:12px;align-items:baseline}.rank{font-size:18px;font-weight:700;color:var(--soft)}"
    ".tag{font-size:13px;color:var(--soft);margin:2px 0 10px 0}\n"
    ".bars{display:grid;grid-template-columns:3.2em 1fr 12em;gap:4px 12px;align-items:center;margin:8px 0 10px}"
    ".bars .value{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    ".track{height:14px;border-radius:3px;border:1px solid var(--line);overflow:hidden;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}.gain{height:100%;background:var(--gain)}.cost{height:100%;"
    "background:var(--cost)}\n"
    "ul{margin:6px 0;padding-left:20px}li{margin:2px 0}.where{font-size:13px;color:var(--soft)}\n"
    "li,p,h2{overflow-wrap:anywhere}pre{background:var(--code);border:1px solid var(--line);border-radius:6px;"
    "padding:10px 14px;margin:8px 0;font:14px/1.45 ui-monospace,\"DejaVu Sans Mono\",monospace;white-space:pre-wrap;"
    "overflow-wrap:anywhere;tab-size:4}\n"
    ".caution{border-left:4px solid var(--alarm);padding-left:12px}\n"
    "@media (max-width:640px){.bars{grid-template-columns:3.2em 1fr}.bars .value{grid-column:2;text-align:left}}\n"
    "@media print{:root{--page:#fff;--ink:#000;--soft:#444;--line:#bbb;--card:#fff;--gain:#1f7a4d;--cost:#b9c4d2;"
    "--code:#f4f4f4;--alarm:#9a5b00}main{padding:0;max-width:none}body{font-size:12px}}\n";

static void put(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    ek__svg_escape(out, text ? text : "");
    fputs(after, out);
}

/* Escaped, but line breaks and tabs stay: they are part of a setting. */
static void put_lines(FILE *out, const char *text)
{
    char line[4096];
    while (*text) {
        size_t n = strcspn(text, "\n\t");
        size_t kept = n < sizeof line - 1 ? n : sizeof line - 1;
        memcpy(line, text, kept);
        line[kept] = '\0';
        ek__svg_escape(out, line);
        text += kept;
        if (kept == n && *text)
            fputc(*text++, out);
    }
}

/* The largest amount of any bar: of the whole list, so that bars may be compared. */
static double largest(const ek_diagnosis *d)
{
    double most = 0;
    for (int i = 0; i < d->n_bottlenecks; i++)
        most = fmax(most, fmax(d->bottleneck[i].gain_seconds, d->bottleneck[i].cost_seconds));
    return most;
}

static void put_bar(FILE *out, const char *what, double seconds, double share, double most)
{
    char amount[64];
    ek__diagnosis_amount(seconds, share, amount, sizeof amount);
    double width = seconds > 0 && most > 0 ? 100 * fmin(seconds / most, 1) : 0;
    fprintf(out, "<span>%s</span><div class=\"track\"><div class=\"%s\" style=\"width:%s%%\"></div></div>", what, what,
            ek__fixed(width, 2).text);
    put(out, "<span class=\"value\">", amount, "</span>\n");
}

static void put_evidence(FILE *out, const ek_bottleneck *b)
{
    char place[1024];
    if (b->n_evidence == 0)
        return;
    fputs("<ul>\n", out);
    for (int i = 0; i < b->n_evidence && i < EK_MAX_EVIDENCE; i++) {
        put(out, "<li>", b->evidence[i].text, "");
        ek__diagnosis_place(&b->evidence[i], place, sizeof place);
        if (place[0])
            put(out, " <span class=\"where\">", place, "</span>");
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_bottleneck(FILE *out, const ek_bottleneck *b, int number, double most)
{
    fprintf(out, "<section class=\"card\">\n<div class=\"head\"><span class=\"rank\">%d</span>", number);
    put(out, "<h2>", b->title, "</h2></div>\n");
    put(out, "<p class=\"tag\">", ek_topic_name[b->topic], "");
    put(out, ", ", b->id, "</p>\n<div class=\"bars\">\n");
    put_bar(out, "gain", b->gain_seconds, b->gain_share, most);
    put_bar(out, "cost", b->cost_seconds, b->share, most);
    fputs("</div>\n", out);
    put_evidence(out, b);
    if (b->change)
        put(out, "<p>", b->change, "</p>\n");
    if (b->setting) {
        fputs("<pre>", out);
        put_lines(out, b->setting);
        fputs("</pre>\n", out);
    }
    if (b->rests_on) {
        put(out, isnan(b->gain_seconds) ? "<p class=\"soft\">" : "<p class=\"soft\">The gain is ",
            ek_basis_name[b->basis], ": ");
        put(out, "", b->rests_on, "</p>\n");
    }
    if (b->caution)
        put(out, "<p class=\"caution\">", b->caution, "</p>\n");
    fputs("</section>\n", out);
}

static void put_rest(FILE *out, const ek_diagnosis *d)
{
    if (d->n_not_looked_at > 0)
        fputs("<h3>Not looked at</h3>\n<ul>\n", out);
    for (int i = 0; i < d->n_not_looked_at; i++) {
        const ek_not_looked_at *n = &d->not_looked_at[i];
        char text[2048];
        if (!ek__diagnosis_missing(d, i, text, sizeof text))
            continue;
        put(out, "<li>", text, "");
        if (n->how)
            put(out, ". <span class=\"where\">", n->how, "</span>");
        fputs("</li>\n", out);
    }
    fputs(d->n_not_looked_at > 0 ? "</ul>\n" : "", out);
    fputs(d->n_notes > 0 ? "<h3>Notes</h3>\n<ul>\n" : "", out);
    for (int i = 0; i < d->n_notes; i++)
        put(out, "<li>", d->note[i], "</li>\n");
    fputs(d->n_notes > 0 ? "</ul>\n" : "", out);
}

static void put_step(FILE *out, const ek_diagnosis *d)
{
    if (isnan(d->step_seconds)) {
        fputs("<h1>No step was measured</h1>\n", out);
    } else {
        fprintf(out, "<h1>A step takes %s ms</h1>\n", ek__fixed(1e3 * d->step_seconds, 1).text);
        put(out, "<p class=\"soft\">", d->step_source ? d->step_source : "measured", "</p>\n");
    }
    if (d->n_bottlenecks == 0)
        fputs("<p>Nothing holds it back by more than was asked for.</p>\n", out);
    else if (d->n_bottlenecks > 1)
        fputs("<p class=\"soft\">Gains are those of one change with all else as it is. They do not add up: after a "
              "change, diagnose again.</p>\n",
              out);
}

ek_status ek_diagnosis_write_html(const ek_diagnosis *diagnosis, FILE *out, ek_error *err)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<title>Diagnosis of a training run</title>\n<style>\n",
          out);
    fputs(style, out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
    put_step(out, diagnosis);
    double most = largest(diagnosis);
    for (int i = 0; i < diagnosis->n_bottlenecks; i++)
        put_bottleneck(out, &diagnosis->bottleneck[i], i + 1, most);
    put_rest(out, diagnosis);
    fputs("</main>\n</body>\n</html>\n", out);
    return ek__finish(out, err);
}
