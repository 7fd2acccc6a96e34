/* figures/names.h - the words of enumerations as arrays, for tables of figures: public headers have pointers to them,
 * so that a program does not depend on their number. Each is defined where its words are listed. */
#ifndef EK_FIGURES_NAMES_H
#define EK_FIGURES_NAMES_H

extern const char *const ek__balance_status_name[];
extern const char *const ek__basis_name[];
extern const char *const ek__block_role_name[];
extern const char *const ek__collective_name[];
extern const char *const ek__compute_class_name[];
extern const char *const ek__compute_fault_name[];
extern const char *const ek__cost_basis_name[];
extern const char *const ek__doctor_level_name[];
extern const char *const ek__dtype_name[];
extern const char *const ek__fit_change_name[];
extern const char *const ek__fit_state_name[];
extern const char *const ek__fp8_name[];
extern const char *const ek__framework_name[];
extern const char *const ek__ir_comm_kind_name[];
extern const char *const ek__ir_comm_role_name[];
extern const char *const ek__ir_severity_name[];
extern const char *const ek__launch_name[];
extern const char *const ek__layout_fate_name[];
extern const char *const ek__layout_sweep_name[];
extern const char *const ek__layout_verdict_name[];
extern const char *const ek__lint_level_name[];
extern const char *const ek__memory_part_name[];
extern const char *const ek__overview_kind_name[];
extern const char *const ek__producer_name[];
extern const char *const ek__profile_collective_name[];
extern const char *const ek__profile_left_name[];
extern const char *const ek__recompute_name[];
extern const char *const ek__rehearse_compute_name[];
extern const char *const ek__rehearse_send_name[];
extern const char *const ek__source_kind_name[];
extern const char *const ek__step_part_name[];
extern const char *const ek__topic_name[];
extern const char *const ek__trace_activity_name[];
extern const char *const ek__trace_role_name[];
extern const char *const ek__train_log_kind_name[];

#endif
