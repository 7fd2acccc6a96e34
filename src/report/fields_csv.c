/* Writes tables of comma-separated values with the columns of the figures in src/figures. */
#include "report/fields_csv.h"

#include <inttypes.h>
#include <math.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/print.h"

void ek__print_names_csv(const ek__column *column, int n, FILE *out)
{
    char name[64];
    for (int i = 0; i < n; i++) {
        ek__column_name(&column[i], EK__OF_CSV, name, sizeof name);
        fprintf(out, "%s%s", i ? "," : "", name);
    }
}

void ek__print_cell_csv(const ek__column *c, const void *record, const ek__owner *of, FILE *out)
{
    ek__kind kind = ek__column_kind(c);
    int decimals = c->field->csv.decimals > 0 ? c->field->csv.decimals + 1 : c->field->decimals;
    if (kind == EK__KIND_TEXT && c->word < 0) {
        char room[EK__VIEW_KEY_SIZE];
        const char *text = ek__member_text(c->field, ek__column_record(c, record, of), of, room, sizeof room);
        ek__print_csv(text ? text : "", out);
        return;
    }
    ek__reading value = ek__column_value(c, record, of);
    bool known = ek__kind_is_text(kind)    ? value.text != NULL
                 : ek__kind_is_whole(kind) ? value.number != INT64_MIN
                                           : isfinite(value.real);
    if (!known)
        return;
    if (ek__kind_is_text(kind))
        ek__print_csv(value.text, out);
    else if (kind == EK__KIND_NS)
        fputs(ek__exact_us(value.number).text, out);
    else if (kind == EK__KIND_BYTES_MB)
        fputs(ek__fixed((double)value.number / EK__MB, 3).text, out);
    else if (kind == EK__KIND_FLAG && c->field->csv.spelled)
        fputs(value.number ? "true" : "false", out);
    else if (ek__kind_is_whole(kind))
        fprintf(out, "%" PRId64, value.number);
    else if (kind == EK__KIND_MEAN)
        fputs(ek__fixed(value.real / 1000, 3).text, out);
    else if (decimals > 0)
        fputs(ek__fixed(value.real, decimals - 1).text, out);
    else
        fputs(ek__real(value.real).text, out);
}

ek_status ek__write_csv(const ek__rows *rows, const void *result, FILE *out, ek_error *err)
{
    ek__column column[EK__MAX_COLUMNS];
    int n = ek__fields_columns(rows->fields, rows->also, EK__OF_CSV, column);
    ek__owner of = {.result = result};
    bool end = false;
    ek__print_names_csv(column, n, out);
    fputc('\n', out);
    for (int i = 0; !end; i++) {
        const void *record = ek__rows_entry(rows, i, &of, &end);
        for (int k = 0; record && k < n; k++) {
            fputs(k ? "," : "", out);
            ek__print_cell_csv(&column[k], record, &of, out);
        }
        fputs(record ? "\n" : "", out);
    }
    return ek__finish(out, err);
}
