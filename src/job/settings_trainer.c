/* Writes settings of a run of transformers' Trainer: its own arguments, which are keys in LLaMA-Factory's YAML. It
 * recomputes every layer whole or none, and has only data parallelism. */
#include "job/settings.h"

void ek__settings_trainer(ek__settings *s)
{
    const ek_job *a = s->was, *b = s->now;
    const ek_plan *plan = &b->plan;
    bool all = ek__settings_all(plan, plan->full), any = ek__settings_any(plan, plan->full);
    bool was_all = ek__settings_all(&a->plan, a->plan.full), was_any = ek__settings_any(&a->plan, a->plan.full);
    bool parts = ek__settings_any(plan, plan->select) || ek__settings_any(plan, plan->comm) || b->n_patterns > 0;
    if (b->parallel.batch != a->parallel.batch)
        ek__settings_put(s, NULL, "per_device_train_batch_size", "%d", b->parallel.batch);
    if (b->parallel.n_micro_batches != a->parallel.n_micro_batches)
        ek__settings_put(s, NULL, "gradient_accumulation_steps", "%d", b->parallel.n_micro_batches);
    if (b->parallel.data != a->parallel.data)
        ek__settings_put_ranks(s, b->parallel.data);
    if (parts || (any && !all))
        s->why = "transformers' Trainer recomputes every layer whole, or none";
    else if (all != was_all || any != was_any) {
        ek__settings_put(s, NULL, "gradient_checkpointing", "%s", all ? "true" : "false");
        if (!s->no_memory)
            s->setting[s->n - 1].remark = all ? "LLaMA-Factory: disable_gradient_checkpointing: false"
                                              : "LLaMA-Factory: disable_gradient_checkpointing: true";
    }
    bool others = b->rules.allocation != a->rules.allocation;
    if (!s->why && s->n == 0 && !others)
        s->why = "transformers' Trainer has no setting for it";
}
