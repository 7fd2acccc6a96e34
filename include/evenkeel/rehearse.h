/* evenkeel/rehearse.h - turns a plan into the actions of real processes: blocks in their order, messages between
 * stages, waits; and compares the measured times with the prediction.
 *
 * The library starts no process and sends nothing: `evenkeel-mpi rehearse` does (docs/rehearse.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_REHEARSE_H
#define EVENKEEL_REHEARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "evenkeel/calibration.h"
#include "evenkeel/decls.h"
#include "evenkeel/device.h"
#include "evenkeel/simulate.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** When a stage continues after a send. */
typedef enum ek_rehearse_send {
    EK_SEND_NONBLOCKING, /**< at once: receives are posted ahead */
    EK_SEND_RENDEZVOUS,  /**< when the receiver has reached its receive, which it posts when the block needs it */
} ek_rehearse_send;
enum { EK_N_REHEARSE_SENDS = 2 };
extern const char *const *const ek_rehearse_send_name; /**< nonblocking, rendezvous */

/** How a block spends its time. */
typedef enum ek_rehearse_compute { EK_COMPUTE_SLEEP, EK_COMPUTE_SPIN, EK_COMPUTE_GEMM } ek_rehearse_compute;
enum { EK_N_REHEARSE_COMPUTES = 3 };
extern const char *const *const ek_rehearse_compute_name; /**< sleep, spin, gemm */

/** An activation or a gradient on its way from one stage to another. */
typedef struct ek_rehearse_message {
    int from, to;         /**< stages */
    int edge;             /**< of ek_rehearsal.edge */
    int tag;              /**< that no other message to the same process has */
    uint32_t micro_batch; /**< or sequence piece */
    uint16_t chunk;       /**< of the receiver */
    uint16_t kind;        /**< EK_FORWARD: an activation; EK_BACKWARD: a gradient */
} ek_rehearse_message;

/** A block of a stage: it receives, computes, sends. */
typedef struct ek_rehearse_block {
    double seconds;
    ptrdiff_t receives, sends; /**< messages; EK_NO_BLOCK */
    ptrdiff_t after;           /**< block of the same stage with the result it reads; EK_NO_BLOCK */
    uint32_t micro_batch;
    uint16_t chunk;
    uint16_t kind; /**< ek_block_kind */
} ek_rehearse_block;

/** Two stages, one of which sends to the other. */
typedef struct ek_rehearse_edge {
    int from, to;
} ek_rehearse_edge;

/** The actions of every stage. Blocks of stage s are block[first[s] .. first[s + 1]) in running order. */
typedef struct ek_rehearsal {
    int n_stages, n_chunks, n_micro_batches;
    int n_processes; /**< stages are distributed in equal rows: stage s is process s / (n_stages / n_processes)'s */
    int largest_tag;
    size_t bytes; /**< of each message */
    size_t n_blocks, n_messages;
    int n_edges;
    size_t *first;                /**< [n_stages + 1] */
    ek_rehearse_block *block;     /**< [n_blocks] */
    ek_rehearse_message *message; /**< [n_messages] */
    ek_rehearse_edge *edge;       /**< [n_edges] by `from`, then `to` */
} ek_rehearsal;

/**
 * Make the actions of the stages of a simulated plan. Each block takes its simulated duration times `unit` seconds.
 *
 *     tag = 2 (((to mod k) C + chunk) m + micro_batch) + (kind == EK_BACKWARD)        k stages a process, C chunks
 *
 * @param timeline     of ek_simulate() or ek_uniform_simulate()
 * @param unit         seconds of a time of 1, above 0
 * @param bytes        of each message
 * @param n_processes  of the stages
 * @param out          ek_rehearsal_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where the processes do not fit the stages, or tags would not fit an int; EK_ERR_MEMORY.
 *         O(blocks).
 */
ek_status ek_rehearsal_make(const ek_timeline *timeline, double unit, size_t bytes, int n_processes, ek_rehearsal *out,
                            ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_rehearsal_clear(ek_rehearsal *rehearsal);

/**
 * Swap two blocks of a stage, to see the effect of a wrong order.
 *
 * @param a, b  numbers of blocks of the stage, from 0, in running order
 * @return EK_OK; EK_ERR_INPUT for a stage or blocks that do not exist, or the same block twice. O(blocks).
 */
ek_status ek_rehearsal_swap(ek_rehearsal *rehearsal, int stage, int a, int b, ek_error *err);

/** Process of a stage. */
static inline int ek_rehearsal_process(const ek_rehearsal *rehearsal, int stage)
{
    return stage / (rehearsal->n_stages / rehearsal->n_processes);
}

/** Reasons of a stage's wait. */
typedef enum ek_rehearse_reason {
    EK_WAIT_NOT,     /**< it does not wait */
    EK_WAIT_RECEIVE, /**< the message of its block */
    EK_WAIT_OWN,     /**< a block of the same stage that comes later in its order */
    EK_WAIT_SEND,    /**< the receiver of its block's message */
} ek_rehearse_reason;

/** A stage that waits at a block. */
typedef struct ek_rehearse_wait {
    ek_rehearse_reason reason;
    int stage;
    int peer;     /**< the stage it waits for; itself with EK_WAIT_OWN */
    size_t block; /**< of ek_rehearsal.block */
} ek_rehearse_wait;

/** The wait of a stage at one of its blocks. */
ek_rehearse_wait ek_rehearsal_wait(const ek_rehearsal *rehearsal, int stage, size_t block, ek_rehearse_reason reason);

/**
 * Find a cycle of waits: each of its stages waits for an action of the next one that comes after that stage's own wait.
 * So none of them ever continues, even where the waits were not seen at the same time: a stage's finished actions only
 * grow.
 *
 * @param wait   [n_stages] of each stage the last wait seen; EK_WAIT_NOT: none
 * @param cycle  out: [n_stages] each waits for the next, the last for the first; from its lowest stage on
 * @return how many; 0: no cycle. O(n_stages).
 */
int ek_rehearsal_cycle(const ek_rehearsal *rehearsal, const ek_rehearse_wait *wait, ek_rehearse_wait *cycle);

/** The wait as words, "stage 2 waits to send the activation of its forward of micro-batch 3, chunk 0, to stage 3". */
void ek_rehearse_wait_text(const ek_rehearsal *rehearsal, const ek_rehearse_wait *wait, char *text, size_t size);
/** A block as words, "the forward of micro-batch 3, chunk 0". */
void ek_rehearse_block_text(const ek_rehearse_block *block, char *text, size_t size);

/** A simulated rehearsal. */
typedef struct ek_rehearse_play {
    bool completes;
    double step;             /**< seconds: end of the last block. Of one that does not complete: of those that ran */
    double *start, *end;     /**< [n_blocks] seconds; NAN where it is not reached */
    int n_cycle;             /**< 0 when it completes */
    ek_rehearse_wait *cycle; /**< [n_cycle] as ek_rehearsal_cycle() */
} ek_rehearse_play;

/**
 * Simulate a rehearsal without sending anything: does it complete, and when does each action run?
 *
 * Every stage receives, computes and sends block after block. A message takes its edge's time; with EK_SEND_RENDEZVOUS
 * it begins when both stages have arrived, and occupies both until its end. Since each receive is of one message by its
 * tag, the result does not depend on which message is first. Without swapped blocks and with EK_SEND_NONBLOCKING the
 * times are those of ek_simulate().
 *
 * @param edge_seconds  [n_edges] at least 0; NULL: none
 * @param out           ek_rehearse_play_clear() frees it; untouched on failure
 * @return EK_OK, also where it does not complete; EK_ERR_MEMORY. O(blocks).
 */
ek_status ek_rehearsal_play(const ek_rehearsal *rehearsal, ek_rehearse_send send, const double *edge_seconds,
                            ek_rehearse_play *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_rehearse_play_clear(ek_rehearse_play *play);

/**
 * Fill a message: 64-bit words that depend only on its tag, its sender and the step, so that a wrong message differs in
 * every word, and a damaged one in the damaged words.
 *
 * @param content  [bytes]
 */
void ek_rehearse_fill(const ek_rehearse_message *message, int step, void *content, size_t bytes);
/** The first byte that differs from ek_rehearse_fill()'s; `bytes` without one. O(bytes). */
size_t ek_rehearse_check(const ek_rehearse_message *message, int step, const void *content, size_t bytes);

/** A repeated matrix product of fixed size: the work of EK_COMPUTE_GEMM. */
typedef struct ek_rehearse_product ek_rehearse_product;
/** @return NULL when memory is out */
ek_rehearse_product *ek_rehearse_product_new(void);
/** Free it. NULL is fine. */
void ek_rehearse_product_free(ek_rehearse_product *product);
/** Multiply `times` times. O(times). */
void ek_rehearse_product_run(ek_rehearse_product *product, long times);
/** FLOPs of one. */
double ek_rehearse_product_flops(void);

/** Times of a block of a rehearsal, in seconds since its step began, on one clock. */
typedef struct ek_rehearse_record {
    double ready;   /**< its stage had ended the previous block, with its send where the stage waits for that */
    double arrived; /**< its message had arrived; `ready` without one */
    double start, end;
    double sent; /**< the receiver had its message, with EK_SEND_RENDEZVOUS; else `end` */
} ek_rehearse_record;

/** The measurements. */
typedef struct ek_rehearse_measured {
    int n_steps;
    ek_rehearse_record *record; /**< [n_steps][n_blocks] */
} ek_rehearse_measured;

/** A stage of the step that is reported. */
typedef struct ek_rehearse_stage {
    int process;
    const char *machine;  /**< borrowed */
    double busy, waiting; /**< seconds; they sum to the step */
    double predicted_busy, predicted_waiting;
} ek_rehearse_stage;

/** Transfers between two stages in that step. */
typedef struct ek_rehearse_transfers {
    int from, to;
    bool between_machines;
    size_t n;       /**< messages */
    size_t n_timed; /**< messages with a receiver that waited when they were sent: the end of others is not visible */
    double mean, least; /**< seconds of the timed ones; NAN where there is none */
} ek_rehearse_transfers;

/** A rehearsal: measured and predicted times. */
struct ek_rehearse_result {
    const ek_rehearsal *rehearsal; /**< borrowed */
    const char *schedule;          /**< its name, borrowed */
    ek_rehearse_send send;
    ek_rehearse_compute compute;
    double unit; /**< seconds of a time of 1 of the plan */
    int n_steps;
    double *step;     /**< [n_steps] seconds, measured */
    int shown;        /**< the step with the median time, the lower one of two; the next members describe it */
    double best;      /**< shortest step */
    double simulated; /**< seconds of `evenkeel simulate` with the transfers of the options; of a swapped order:
                           of the right one */
    double predicted; /**< of ek_rehearsal_play() with the transfers of the shown step, and its way of sending */
    double bubble, predicted_bubble;       /**< 1 - busy / (stages x step) */
    double late;                           /**< mean delay of the blocks' ends after their time, seconds */
    double shortest;                       /**< shortest block that takes any time, seconds */
    ek_rehearse_stage *stage;              /**< [n_stages] */
    ek_rehearse_transfers *edge;           /**< [n_edges] */
    bool completes[EK_N_REHEARSE_SENDS];   /**< by ek_rehearsal_play() */
    char cycle[EK_N_REHEARSE_SENDS][1024]; /**< of those that do not complete: the cycle of waiting stages */
    int most_on_machine, cores;            /**< processes of the fullest machine, and its cores; 0: not known */
    double clock_error; /**< of the machines' clocks against one another, seconds at most; 0: one clock */
    double gflops;      /**< reached by EK_COMPUTE_GEMM, of a process, in the mean; 0 */
    char swapped[256];  /**< the swapped blocks; "" */
};

/** The sentence of a cycle of waits: of more than six the first three and the last two, and the number of the others.
 *  @param cycle [n] @param machine the one of a process, for each wait; NULL @param text out: [size]. O(n). */
void ek_rehearse_cycle_text(const ek_rehearsal *rehearsal, const ek_rehearse_wait *cycle, int n,
                            const char *(*machine)(int process), char *text, size_t size);

/**
 * Compare.
 *
 *     transfer = arrived - end of the sender's block           of messages with a receiver that was ready by then
 *     transfer = arrived - max(end of the sender's block, ready)           with EK_SEND_RENDEZVOUS, of all
 *
 * The predicted step takes the mean of each edge; an edge without any takes the mean of all.
 *
 * @param out  its `send`, `stage` [n_stages] with process and machine, and the caller's other figures are filled in
 *             before; ek_rehearse_result_clear() frees it
 * @return EK_OK, EK_ERR_MEMORY. O(steps x blocks).
 */
ek_status ek_rehearse_compare(const ek_rehearsal *rehearsal, const ek_rehearse_measured *measured,
                              ek_rehearse_result *out, ek_error *err);
/** Fill `completes` and `cycle`. @return EK_OK, EK_ERR_MEMORY. O(blocks). */
ek_status ek_rehearse_analyse(const ek_rehearsal *rehearsal, ek_rehearse_result *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_rehearse_result_clear(ek_rehearse_result *result);

/**
 * Tiers of a device from timed messages and collectives. Where both are timed, the first tier joins a machine and the
 * last one all. Of each operation
 *     seconds = begin + sent / rate            sent: bytes of a rank, by relative least squares
 *     gbs = max rate, share = rate / gbs, latency = min begin / steps, start = begin - steps latency
 *
 * @param time      [n] of this run; groups within a machine have n_ranks == per_node
 * @param device    in: a device, its other figures are kept; out: with the tiers. ek_device_clear() as before
 * @return EK_OK; EK_ERR_INPUT where there are no times, or one is not above 0. O(n).
 */
ek_status ek_rehearse_links(const ek_link_time *time, int n, ek_device *device, ek_error *err);

EK_END_DECLS
#endif
