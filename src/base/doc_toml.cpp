/* Reads TOML with toml++ and puts what it finds into a document's tree. The library recurses over nested values and,
 * when it frees them, over the tables of dotted keys, so that both are bounded before or by it. Nothing is thrown past
 * this file: the parser reports instead (TOML_EXCEPTIONS 0), and memory that runs out is caught at the only door. */
#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "base/doc_build.h"
#include "base/doc_toml.h"
#include "base/error.h"
}

/* From its headers: the library that pkg-config names throws. */
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS  0
/* Its assertions, of which some fail on wrong input such as "[|x]" ("[" before what begins no key): the parser's own
 * checks behind them report it. Without NDEBUG they are no promises to the compiler either. */
#undef NDEBUG
#define TOML_ASSERT(condition)     static_assert(true)
#define TOML_ENABLE_FORMATTERS     0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_MAX_NESTED_VALUES     (EK__TOML_MAX_BRACKETS)
#include <toml++/impl/preprocessor.h>
/* What it takes for unreachable is reached, too: letters beyond ASCII where a space might stand. No is the answer. */
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE                                                                                               \
    return                                                                                                             \
    {                                                                                                                  \
    }
#include <toml++/toml.h>

namespace
{

/* Bytes of lines and columns: where lines begin, and within the line that was looked up last where a column is. */
class places
{
  public:
    explicit places(std::string_view text) : text_(text), line_{0}
    {
        for (size_t i = 0; i < text.size(); i++)
            if (text[i] == '\n')
                line_.push_back(i + 1);
    }

    /* Steps from the place before, either way: inside a long line a value's end is told before what is in it. */
    ek__mark mark(const toml::source_position &at)
    {
        const size_t line = std::clamp<size_t>(at.line, 1, line_.size()), column = std::max<size_t>(at.column, 1);
        if (line != last_line_) {
            last_line_ = line;
            last_column_ = 1;
            byte_ = line_[line - 1];
        }
        for (; last_column_ < column && byte_ < text_.size(); last_column_++)
            do
                byte_++;
            while (byte_ < text_.size() && continues(text_[byte_]));
        for (; last_column_ > column; last_column_--)
            do
                byte_--;
            while (continues(text_[byte_]));
        return {static_cast<int>(line), static_cast<int>(column), static_cast<int>(byte_)};
    }

    std::string_view between(const ek__mark &from, const ek__mark &to) const
    {
        return text_.substr(static_cast<size_t>(from.byte), static_cast<size_t>(std::max(to.byte - from.byte, 0)));
    }

  private:
    static bool continues(char byte)
    {
        return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
    }

    std::string_view text_;
    std::vector<size_t> line_;
    size_t last_line_ = 0, last_column_ = 1, byte_ = 0;
};

struct builder {
    ek__doc_builder tree;
    places where;
};

struct span {
    ek__mark begin, end;
};

span span_of(builder &b, const toml::source_region &region)
{
    const ek__mark begin = b.where.mark(region.begin);
    return {begin, b.where.mark(region.end)};
}

/* The shortest text that reads back as the number. */
template <class number> std::string text_of(number value)
{
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

ek_status add(builder &b, const toml::node &node);

ek_status add_scalar(builder &b, const toml::node &node, const span &at)
{
    bool quoted = false;
    std::string text;
    if (const auto *word = node.as_string()) {
        text = word->get();
        quoted = true;
    } else if (const auto *whole = node.as_integer()) {
        text = text_of(whole->get());
    } else if (const auto *number = node.as_floating_point()) {
        text = text_of(number->get());
        if (text.find_first_not_of("+-0123456789") == std::string::npos)
            text += ".0";
    } else if (const auto *yes = node.as_boolean()) {
        text = yes->get() ? "true" : "false";
    } else { /* a date or a time */
        text = b.where.between(at.begin, at.end);
        quoted = true;
    }
    const char *kept = nullptr;
    ek__node *out = nullptr;
    ek_status status = ek__doc_text(&b.tree, at.begin, text.data(), text.size(), &kept);
    return status ? status : ek__doc_add_scalar(&b.tree, kept, quoted, at.begin, at.end.byte, &out);
}

ek_status add_key(builder &b, const toml::key &key)
{
    const span at = span_of(b, key.source());
    const char *kept = nullptr;
    ek_status status = ek__doc_text(&b.tree, at.begin, key.str().data(), key.str().size(), &kept);
    if (status == EK_OK)
        ek__doc_key(&b.tree, kept, at.begin, at.end.byte);
    return status;
}

/* Values of a table as the file has them; the library sorts them by name. */
ek_status add_members(builder &b, const toml::table &table)
{
    std::vector<std::pair<const toml::key *, const toml::node *>> members;
    for (const auto &[key, node] : table)
        members.emplace_back(&key, &node);
    std::stable_sort(members.begin(), members.end(), [](const auto &x, const auto &y) {
        const toml::source_position &p = x.first->source().begin, &q = y.first->source().begin;
        return p.line != q.line ? p.line < q.line : p.column < q.column;
    });
    ek_status status = EK_OK;
    for (size_t i = 0; i < members.size() && status == EK_OK; i++) {
        status = add_key(b, *members[i].first);
        if (status == EK_OK)
            status = add(b, *members[i].second);
    }
    return status;
}

ek_status add_items(builder &b, const toml::array &array)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < array.size() && status == EK_OK; i++)
        status = add(b, array[i]);
    return status;
}

/* Recursion is bounded by EK__DOC_MAX_DEPTH, which the tree refuses to exceed. */
ek_status add(builder &b, const toml::node &node)
{
    const span at = span_of(b, node.source());
    const toml::table *table = node.as_table();
    const toml::array *array = node.as_array();
    if (!table && !array)
        return add_scalar(b, node, at);
    const bool flow = table ? table->is_inline() : !array->is_array_of_tables();
    ek__node *opened = nullptr;
    ek_status status = ek__doc_open(&b.tree, table ? EK__MAP : EK__LIST, flow, at.begin, &opened);
    if (status == EK_OK)
        status = table ? add_members(b, *table) : add_items(b, *array);
    return status ? status : ek__doc_close(&b.tree, at.end.byte);
}

ek_status fail_syntax(builder &b, const toml::parse_error &error)
{
    const ek__mark at = b.where.mark(error.source().begin);
    std::string description(error.description());
    std::replace_if(
        description.begin(), description.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    const ek_origin origin = {ek__doc_name(b.tree.doc), at.line, at.column};
    return ek__fail(b.tree.err, EK_ERR_INPUT, origin, "not valid TOML: %.600s; correct the text there",
                    description.c_str());
}

/* ---- what is too deep, before the library sees it ---- */

/* The end of a string or comment that begins at `i`. */
size_t skip_text(std::string_view text, size_t i)
{
    const char quote = text[i];
    if (quote == '#')
        return std::min(text.find('\n', i), text.size());
    const std::string_view three = quote == '"' ? "\"\"\"" : "'''";
    const bool lines = text.substr(i, 3) == three;
    const std::string_view end = three.substr(0, lines ? 3 : 1);
    for (i += end.size(); i < text.size(); i++) {
        if (text.substr(i, end.size()) == end) {
            i += end.size();
            for (int more = 0; lines && more < 2 && i < text.size() && text[i] == quote; more++)
                i++; /* quotes that belong to the text */
            return i;
        }
        if (text[i] == '\n' && !lines)
            return i;
        if (text[i] == '\\' && quote == '"')
            i++;
    }
    return text.size();
}

/* Where a key has too many dots; npos: nowhere. What is no valid TOML ends the library's work before what is behind. */
size_t find_too_deep(std::string_view text)
{
    int dots = 0;
    for (size_t i = 0; i < text.size();) {
        if (text[i] == '"' || text[i] == '\'' || text[i] == '#') {
            i = skip_text(text, i);
            continue;
        }
        dots = std::strchr("\n=,[{", text[i]) ? 0 : dots + (text[i] == '.');
        if (dots > EK__TOML_MAX_DOTS)
            return i;
        i++;
    }
    return std::string_view::npos;
}

ek_status fail_depth(const ek__doc_builder &tree, std::string_view text, size_t at)
{
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const size_t begin = line ? text.rfind('\n', at) + 1 : 0;
    const ek_origin origin = {ek__doc_name(tree.doc), static_cast<int>(line) + 1, static_cast<int>(at - begin) + 1};
    return ek__fail(tree.err, EK_ERR_INPUT, origin,
                    "a key has more than %d dots, the limit; this is no file of this kind", int(EK__TOML_MAX_DOTS));
}

ek_status parse(const ek__doc_builder &tree, std::string_view text)
{
    const size_t deep = find_too_deep(text);
    if (deep != std::string_view::npos)
        return fail_depth(tree, text, deep);
    builder b = {tree, places(text)};
    const toml::parse_result result = toml::parse(text);
    if (!result)
        return fail_syntax(b, result.error());
    const ek__mark begin = {1, 1, 0};
    ek__node *root = nullptr;
    ek_status status = ek__doc_open(&b.tree, EK__MAP, false, begin, &root);
    if (status == EK_OK)
        status = add_members(b, result.table());
    return status ? status : ek__doc_close(&b.tree, static_cast<int>(text.size()));
}

} // namespace

ek_status ek__doc_parse_toml(const char *name, const char *text, size_t size, ek__doc **out, ek_error *err)
{
    if (size > EK__TOML_MAX_BYTES)
        return ek__fail(err, EK_ERR_INPUT, (ek_origin{name, 0, 0}),
                        "larger than the limit of 1 MiB for TOML; this is no file of this kind");
    if (size >= 3 && std::memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    ek_status status = ek__doc_check_text(name, reinterpret_cast<const unsigned char *>(text), size, "TOML", err);
    ek__doc_builder tree = {};
    if (status == EK_OK)
        status = ek__doc_begin(name, err, &tree);
    if (status)
        return status;
    try {
        status = parse(tree, std::string_view(text, size));
    } catch (const std::bad_alloc &) {
        status = ek__doc_no_memory(err);
    }
    if (status)
        ek__doc_free(tree.doc);
    else
        *out = tree.doc;
    return status;
}
