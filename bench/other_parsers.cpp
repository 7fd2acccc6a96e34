/* Runs simdjson over a file: only its first stage, and On-Demand over the events of a trace. */
#include "other_parsers.h"

#include <simdjson.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string_view>

using steady = std::chrono::steady_clock;

static double since(steady::time_point begin)
{
    return std::chrono::duration<double>(steady::now() - begin).count();
}

/* The best of several runs over text in memory: the time of reading it into memory is cat's column. */
enum { N_RUNS = 5 };

double bench_simdjson_stage1(const char *path)
{
    double best = INFINITY;
    simdjson::padded_string text;
    std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
    if (simdjson::padded_string::load(path).get(text))
        return INFINITY;
    if (simdjson::get_active_implementation()->create_dom_parser_implementation(text.size(), 1024, parser))
        return INFINITY;
    for (int i = 0; i < N_RUNS; i++) {
        auto begin = steady::now();
        if (parser->stage1(reinterpret_cast<const uint8_t *>(text.data()), text.size(), simdjson::stage1_mode::regular))
            return INFINITY;
        best = std::fmin(best, since(begin));
    }
    return best;
}

/* The minimum work of a reader of events. */
static size_t look(simdjson::ondemand::object event)
{
    size_t n = 0;
    for (auto member : event) {
        simdjson::ondemand::raw_json_string key = member.key();
        if (key == "name" || key == "ts" || key == "dur")
            n += std::string_view(member.value().raw_json_token()).size();
    }
    return n;
}

static size_t look_at_all(simdjson::ondemand::parser &parser, const simdjson::padded_string &text)
{
    size_t n = 0;
    simdjson::ondemand::document document = parser.iterate(text);
    simdjson::ondemand::array events = document.type() == simdjson::ondemand::json_type::array
                                           ? document.get_array()
                                           : document["traceEvents"].get_array();
    for (simdjson::ondemand::object event : events)
        n += look(event);
    return n;
}

double bench_simdjson_events(const char *path)
{
    double best = INFINITY;
    try {
        simdjson::padded_string text = simdjson::padded_string::load(path);
        simdjson::ondemand::parser parser;
        for (int i = 0; i < N_RUNS; i++) {
            auto begin = steady::now();
            if (look_at_all(parser, text) == 0)
                return INFINITY;
            best = std::fmin(best, since(begin));
        }
    } catch (const simdjson::simdjson_error &) {
        return INFINITY;
    }
    return best;
}
