/* The table of schedules by framework: one row a schedule, one cell a framework. An empty cell: the framework has no
 * equivalent of the schedule, no setting names it, and no layout has it. The permitted layouts are the facts of
 * docs/plan-legal.md, where each has its source and the version it was read in.
 *
 * Rows are in the order in which a search tries schedules and messages list words. */
#include "schedule/frameworks.h"

#include <assert.h>
#include <string.h>

#include "schedule/list.h"

/* MindFormers up to 1.5 and its newer models share MindSpore's pipeline. */
#define MINDSPORE(...) [EK_MINDFORMERS] = {__VA_ARGS__}, [EK_MINDFORMERS_MCORE] = {__VA_ARGS__}
/* Schedules that Megatron-LM and MindSpeed run in the same way, except for the layouts they accept. */
#define MEGATRON(...) [EK_MINDSPEED] = {__VA_ARGS__}, [EK_MEGATRON] = {__VA_ARGS__}

typedef struct row {
    const ek_schedule *schedule;
    ek__framework_schedule in[EK_N_FRAMEWORKS];
} row;

static const row rows[] = {
    {&ek__schedule_1f1b,
     {MINDSPORE(.single = "1f1b", .same = true, .word = "1f1b", .by_chunks = true, .offered = true, .by_default = true,
                .least = 1),
      MEGATRON(.single = "1F1B", .same = true, .by_chunks = true, .offered = true, .by_default = true),
      [EK_TORCHTITAN] =
          {.single = "1F1B", .same = true, .word = "1F1B", .offered = true, .by_default = true, .least = 1}}},
    {&ek__schedule_gpipe,
     {MINDSPORE(.single = "gpipe", .same = true, .word = "gpipe", .offered = true, .least = 1),
      MEGATRON(.single = "1F1B"),
      [EK_TORCHTITAN] = {.single = "GPipe", .same = true, .word = "GPipe", .offered = true, .least = 1}}},
    {&ek__schedule_interleaved,
     {MINDSPORE(.several = "1f1b", .same = true, .word = "1f1b", .by_chunks = true, .offered = true, .by_default = true,
                .least = 1, .least_stages = 2),
      MEGATRON(.several = "interleaved 1F1B", .same = true, .by_chunks = true, .offered = true, .by_default = true,
               .micro_batches = EK__MICRO_GROUPS, .least = 1, .least_stages = 2),
      [EK_TORCHTITAN] =
          {.several = "Interleaved1F1B",
           .same = true,
           .word = "Interleaved1F1B",
           .alias = {{"FlexibleInterleaved1F1B", true}, {"InterleavedZeroBubble", false}, {"LoopedBFS", false}},
           .offered = true,
           .by_default = true,
           .micro_batches = EK__MICRO_ROUNDS,
           .least_stages = 2}}},
    {&ek__schedule_interleaved_less_memory,
     {MINDSPORE(.several = "1f1b", .same = true),
      MEGATRON(.several = "interleaved 1F1B"), [EK_TORCHTITAN] = {.several = "Interleaved1F1B"}}},
    {&ek__schedule_sequence,
     {MINDSPORE(.single = "seqpipe", .several = "seqpipe", .same = true, .word = "seqpipe", .offered = true, .least = 1,
                .least_stages = 2),
      MEGATRON(.single = "1F1B", .several = "interleaved 1F1B"),
      [EK_TORCHTITAN] = {.single = "1F1B", .several = "Interleaved1F1B"}}},
    {&ek__schedule_zb_h1,
     {MINDSPORE(.single = "1f1b"), MEGATRON(.single = "1F1B"),
      [EK_TORCHTITAN] = {.single = "InterleavedZeroBubble",
                         .same = true,
                         .offered = true,
                         .micro_batches = EK__MICRO_ROUNDS,
                         .least_stages = 2}}},
    {&ek__schedule_zb_1p,
     {MINDSPORE(.single = "1f1b"), MEGATRON(.single = "1F1B"), [EK_TORCHTITAN] = {.single = "InterleavedZeroBubble"}}},
    {&ek__schedule_zb_2p,
     {MINDSPORE(.single = "1f1b"), MEGATRON(.single = "1F1B"), [EK_TORCHTITAN] = {.single = "InterleavedZeroBubble"}}},
    /* MindSpore's zero_bubble_v is one order for both V schedules of a plan. */
    {&ek__schedule_zb_v,
     {MINDSPORE(.several = "zero_bubble_v", .word = "zero_bubble_v", .offered = true, .least = 2, .least_stages = 2),
      [EK_MEGATRON] = {.word = "zb", .argument = EK__ZERO_BUBBLE_SETUP},
      [EK_TORCHTITAN] = {.several = "ZBVZeroBubble", .word = "ZBVZeroBubble", .offered = true, .least_stages = 2}}},
    {&ek__schedule_v_half,
     {MINDSPORE(.several = "zero_bubble_v", .offered = true, .least = 2, .least_stages = 2),
      [EK_MEGATRON] = {.word = "half", .argument = EK__ZERO_BUBBLE_SETUP},
      [EK_TORCHTITAN] = {.several = "ZBVZeroBubble"}}},
    {&ek__schedule_v_min,
     {MINDSPORE(.several = "zero_bubble_v", .offered = true, .least = 2, .least_stages = 2),
      [EK_MEGATRON] = {.word = "min", .argument = EK__ZERO_BUBBLE_SETUP},
      [EK_TORCHTITAN] = {.several = "ZBVZeroBubble"}}},
    /* No framework places a chunk on two stages. */
    {.schedule = &ek__schedule_dualpipe},
    {&ek__schedule_dualpipev,
     {MINDSPORE(.several = "zero_bubble_v", .offered = true, .least = 2, .least_stages = 2),
      [EK_MEGATRON] = {.same = true,
                       .word = "dualpipev",
                       .argument = EK__SCHEDULES_METHOD,
                       .offered = true,
                       .least = 2,
                       .least_stages = 2,
                       .without_context = true,
                       .untied = true},
      [EK_TORCHTITAN] = {.several = "DualPipeV", .word = "DualPipeV", .offered = true, .least = 2, .least_stages = 2}}},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const ek__framework_schedule *ek__schedule_in(const ek_schedule *schedule, ek_framework framework)
{
    assert((int)framework >= 0 && (int)framework < EK_N_FRAMEWORKS);
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].schedule == schedule)
            return &rows[i].in[framework];
    return NULL;
}

const ek_schedule *ek__schedule_row(int index)
{
    return index < N_ROWS ? rows[index].schedule : NULL;
}

static bool is_of(const ek__framework_schedule *cell, const char *argument)
{
    if (!cell->argument || !argument)
        return cell->argument == argument;
    return strcmp(cell->argument, argument) == 0;
}

int ek__schedule_words(ek_framework framework, const char *argument, ek__schedule_word *out)
{
    int n = 0;
    for (int i = 0; i < N_ROWS; i++) {
        const ek__framework_schedule *cell = &rows[i].in[framework];
        if (!cell->word || !is_of(cell, argument))
            continue;
        assert(n + EK__MAX_SCHEDULE_ALIASES < EK__MAX_SCHEDULE_WORDS);
        out[n++] = (ek__schedule_word){cell->word, rows[i].schedule, true};
        for (int a = 0; a < EK__MAX_SCHEDULE_ALIASES && cell->alias[a].word; a++)
            out[n++] = (ek__schedule_word){cell->alias[a].word, rows[i].schedule, cell->alias[a].exact};
    }
    return n;
}

ek__schedule_word ek__schedule_of_word(ek_framework framework, const char *word)
{
    ek__schedule_word words[EK__MAX_SCHEDULE_WORDS];
    int n = ek__schedule_words(framework, NULL, words);
    for (int i = 0; i < n; i++)
        if (strcmp(words[i].word, word) == 0)
            return words[i];
    return (ek__schedule_word){.word = word};
}
