/* Checks MatMuls with a cut summed dimension: their partial sums need a communication that adds them up, over as many
 * ranks as the cut has parts. If other such MatMuls of the graph use ReduceScatter, as in sequence parallelism, those
 * with AllReduce are reported. Checked only if the MatMul has uses in the file and the graph has any communication,
 * since before the parallel pass there is none. */
#include <inttypes.h>

#include "base/error.h"
#include "ir/check.h"

typedef struct row {
    uint32_t node;
    int64_t parts;
    const ek_ir_comm *comm; /* that adds up; NULL */
    uint32_t taker;         /* first that takes the partial sums; EK_IR_NONE: none in the file */
} row;

static bool adds_up(const ek_ir_comm *comm)
{
    return comm->kind == EK_IR_ALL_REDUCE || comm->kind == EK_IR_REDUCE_SCATTER;
}

static bool is_hidden(const ek__ir_context *c, uint32_t node)
{
    uint8_t op = c->op[node];
    return op == EK__IR_OP_DEPEND || op == EK__IR_OP_RESHAPE || op == EK__IR_OP_CAST || op == EK__IR_OP_TRANSPOSE;
}

/* The communication after it; operators that do not calculate are looked through. */
static void find_taker(ek__ir_context *c, row *r)
{
    uint32_t at = r->node, n;
    for (int depth = 0; depth < 8; depth++) {
        uint32_t next = EK_IR_NONE;
        const ek__ir_use *use = ek__ir_uses(c, at, &n);
        for (uint32_t u = 0; u < n; u++) {
            const ek_ir_comm *comm = ek__ir_comm_of(c, use[u].node);
            if (c->op[use[u].node] == EK__IR_OP_UPDATE_STATE || ek__ir_is_backward(c, use[u].node))
                continue;
            if (r->taker == EK_IR_NONE)
                r->taker = use[u].node;
            if (comm && adds_up(comm)) {
                r->comm = comm;
                r->taker = use[u].node;
                return;
            }
            if (is_hidden(c, use[u].node) && use[u].operand == 0)
                next = use[u].node;
        }
        if (next == EK_IR_NONE)
            return;
        at = next;
    }
}

static bool is_row_parallel(const ek__ir_context *c, uint32_t node, row *out)
{
    ek__ir_cuts cuts;
    int64_t parts[2];
    if ((c->op[node] != EK__IR_OP_MATMUL && c->op[node] != EK__IR_OP_BATCH_MATMUL) || !ek__ir_is_forward(c, node))
        return false;
    if (!ek__ir_cuts_of(c, node, &cuts) || !ek__ir_contracted(c, node, &cuts, parts) || parts[0] != parts[1])
        return false;
    *out = (row){node, parts[0], NULL, EK_IR_NONE};
    return parts[0] > 1;
}

static ek_ir_finding *sight(ek__ir_context *c, const row *r, ek_ir_severity severity, uint64_t key, int64_t bytes)
{
    ek__ir_occurrence s = {.check = "row-parallel",
                           .severity = severity,
                           .key = ek__ir_mix(key, c->ir->node[r->node].in_strategy),
                           .node = r->node,
                           .n_chain = 2,
                           .chain = {r->node, r->taker},
                           .bytes = bytes,
                           .bytes_of = bytes < 0 ? NULL : "sent by each device"};
    return ek__ir_sight(c, &s);
}

static void check_sum(ek__ir_context *c, const row *r)
{
    const char *strategy = ek_ir_text(c->ir, c->ir->node[r->node].in_strategy);
    ek_ir_finding *f = NULL;
    if (!r->comm) {
        f = sight(c, r, EK_IR_WARNING, 1, -1);
        if (f) {
            f->text = ek__ir_say(c,
                                 "%s sums over a dimension sharded into %" PRId64
                                 " parts (in_strategy %.120s), but %s uses its partial sums without an AllReduce or "
                                 "ReduceScatter between them",
                                 ek__ir_name(c, r->node), r->parts, strategy, ek__ir_name(c, r->taker));
            f->advice = "the result is wrong unless this file omits the communication: check the whole graph, and "
                        "skip_redistribution and custom strategies near this MatMul";
        }
        return;
    }
    if (r->comm->n_ranks > 0 && r->comm->n_ranks != r->parts)
        f = sight(c, r, EK_IR_ERROR, 2, -1);
    if (f) {
        f->text = ek__ir_say(
            c,
            "%s sums over a dimension sharded into %" PRId64 " parts (in_strategy %.120s), but %s sums over %d ranks",
            ek__ir_name(c, r->node), r->parts, strategy, ek__ir_name(c, r->comm->node), r->comm->n_ranks);
        f->advice = "the group must have one rank for each part: check the strategy of this MatMul";
    }
}

/* Report AllReduce if others over as many ranks use ReduceScatter. */
static void check_kind(ek__ir_context *c, const row *r, const row *other)
{
    ek_ir_finding *f = sight(c, r, EK_IR_NOTE, 3, r->comm->traffic);
    char bytes[32];
    if (!f)
        return;
    f->text = ek__ir_say(c,
                         "%s is summed by AllReduce over %d ranks, %s sent by each device, while %s is summed by "
                         "ReduceScatter, as with sequence parallelism",
                         ek__ir_name(c, r->node), r->comm->n_ranks, ek__ir_bytes_text(bytes, r->comm->traffic),
                         ek__ir_name(c, other->node));
    f->advice = "if the following operators work on a part of the sequence, give this MatMul an out_strategy that "
                "shards its rows over these ranks; the framework then uses ReduceScatter, with half the traffic";
}

ek_status ek__ir_check_row_parallel(ek__ir_context *context, ek_error *err)
{
    int n = 0;
    row *rows = NULL;
    const row *scattered = NULL;
    if (context->report->n_comms == 0)
        return EK_OK;
    for (uint32_t i = 0; i < context->ir->n_nodes; i++) {
        row r;
        if (!is_row_parallel(context, i, &r))
            continue;
        find_taker(context, &r);
        if (r.taker == EK_IR_NONE)
            continue;
        row *grown = ek__pool_push(context->scratch, rows, n, sizeof *rows);
        if (!grown)
            return ek__no_memory(err);
        rows = grown;
        rows[n++] = r;
    }
    for (int i = 0; i < n; i++) {
        check_sum(context, &rows[i]);
        if (rows[i].comm && rows[i].comm->kind == EK_IR_REDUCE_SCATTER && !scattered)
            scattered = &rows[i];
    }
    for (int i = 0; scattered && i < n; i++)
        if (rows[i].comm && rows[i].comm->kind == EK_IR_ALL_REDUCE &&
            rows[i].comm->n_ranks == scattered->comm->n_ranks && rows[i].comm->n_ranks == rows[i].parts)
            check_kind(context, &rows[i], scattered);
    return ek__ir_check_end(context, err);
}
