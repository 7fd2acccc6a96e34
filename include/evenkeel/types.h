/* evenkeel/types.h - declares the library's types, for headers that only point to them, and the few constants that most
 * headers need. A change of one type then rebuilds only its users. */
#ifndef EVENKEEL_TYPES_H
#define EVENKEEL_TYPES_H

#include "evenkeel/decls.h"

EK_BEGIN_DECLS

/** Bytes of a name, its end included. */
enum { EK_NAME_SIZE = 64 };

/** The recomputed part of a layer in the backward pass. The framework's three lists express the last four. */
typedef enum ek_recompute {
    EK_RECOMPUTE_NONE,
    EK_RECOMPUTE_SELECT, /**< selected operators */
    EK_RECOMPUTE_COMM,   /**< communication operators */
    EK_RECOMPUTE_BOTH,   /**< select and comm on the same layer */
    EK_RECOMPUTE_FULL,   /**< the whole layer */
} ek_recompute;
enum { EK_N_RECOMPUTE = 5 };

/* Each is described where it is defined. */
typedef struct ek_balance_lists ek_balance_lists;
typedef struct ek_balance_result ek_balance_result;
typedef struct ek_measured_run ek_measured_run;
typedef struct ek_measured_runs ek_measured_runs;
typedef struct ek_calibration ek_calibration;
typedef struct ek_case ek_case;
typedef struct ek_collection ek_collection;
typedef struct ek_compute ek_compute;
typedef struct ek_step_run ek_step_run;
typedef struct ek_device ek_device;
typedef struct ek_diagnosis ek_diagnosis;
typedef struct ek_against ek_against;
typedef struct ek_estimate ek_estimate;
typedef struct ek_estimate_report ek_estimate_report;
typedef struct ek_guide ek_guide;
typedef struct ek_ir ek_ir;
typedef struct ek_ir_report ek_ir_report;
typedef struct ek_job ek_job;
typedef struct ek_layers ek_layers;
typedef struct ek_layout_result ek_layout_result;
typedef struct ek_layout_explanation ek_layout_explanation;
typedef struct ek_layout_sweep ek_layout_sweep;
typedef struct ek_layout_thumb ek_layout_thumb;
typedef struct ek_layout_trials ek_layout_trials;
typedef struct ek_layout_tries ek_layout_tries;
typedef struct ek_layout_way ek_layout_way;
typedef struct ek_layout_fits ek_layout_fits;
typedef struct ek_memory ek_memory;
typedef struct ek_memory_assumption ek_memory_assumption;
typedef struct ek_memory_course ek_memory_course;
typedef struct ek_memory_contradiction ek_memory_contradiction;
typedef struct ek_memory_error ek_memory_error;
typedef struct ek_memory_fit_result ek_memory_fit_result;
typedef struct ek_memory_peak ek_memory_peak;
typedef struct ek_mitigation ek_mitigation;
typedef struct ek_memory_report ek_memory_report;
typedef struct ek_metrics ek_metrics;
typedef struct ek_overview ek_overview;
typedef struct ek_doctor ek_doctor;
typedef struct ek_metrics_input ek_metrics_input;
typedef struct ek_metrics_prediction ek_metrics_prediction;
typedef struct ek_chunk_cost ek_chunk_cost;
typedef struct ek_plan ek_plan;
typedef struct ek_quick ek_quick;
typedef struct ek_ranking ek_ranking;
typedef struct ek_recompute_set_list ek_recompute_set_list;
typedef struct ek_report ek_report;
typedef struct ek_run_files ek_run_files;
typedef struct ek_schedule ek_schedule;
typedef struct ek_comm ek_comm;
typedef struct ek_order ek_order;
typedef struct ek_sweep ek_sweep;
typedef struct ek_trace_options ek_trace_options;
typedef struct ek_trace_run ek_trace_run;
typedef struct ek_trace_index ek_trace_index;
typedef struct ek_trace_index_options ek_trace_index_options;
typedef struct ek_train_log ek_train_log;
typedef struct ek_train_log_summary ek_train_log_summary;
typedef struct ek_quick_report ek_quick_report;
typedef struct ek_collected ek_collected;
typedef struct ek_rules_report ek_rules_report;
typedef struct ek_ir_reports ek_ir_reports;
typedef struct ek_ir_difference_report ek_ir_difference_report;
typedef struct ek_lint ek_lint;
typedef struct ek_layout_report ek_layout_report;
typedef struct ek_layout_sweep_report ek_layout_sweep_report;
typedef struct ek_metrics_report ek_metrics_report;
typedef struct ek_trace_report ek_trace_report;
typedef struct ek_view ek_view;
typedef struct ek_uniform_run ek_uniform_run;
typedef struct ek_rehearse_result ek_rehearse_result;

EK_END_DECLS
#endif
