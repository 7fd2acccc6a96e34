/* index/kinds.h - classifies events and tracks. An event's own fields are known when it is read, the classes of its
 * name and process only at the end. */
#ifndef EK_INDEX_KINDS_H
#define EK_INDEX_KINDS_H

#include "evenkeel/trace_index.h"
#include "index/format.h"
#include "trace/scan/part.h"

/** The class from an event's phase, category and arguments. Stored in the field of its final type. */
typedef enum ek__index_kind {
    EK__KIND_PLAIN,     /**< no class: name and process decide */
    EK__KIND_OPERATOR,  /**< Ascend's device: a task on one of its cores */
    EK__KIND_TASK_COPY, /**< other tasks of the device */
    EK__KIND_TASK_WAIT,
    EK__KIND_TASK,
    EK__KIND_SUBTASK, /**< of a collective */
    EK__KIND_KERNEL,  /**< Kineto's categories */
    EK__KIND_COPY,
    EK__KIND_SET,
    EK__KIND_RUNTIME,
    EK__KIND_FRAMEWORK,
    EK__KIND_USER,
    EK__KIND_PYTHON,
    EK__KIND_ITERATION,
    EK__KIND_INSTANT,
} ek__index_kind;

/** The class from a name. */
typedef enum ek__name_meaning {
    EK__NAME_PLAIN,
    EK__NAME_STEP,
    EK__NAME_ITERATION,
    EK__NAME_DATA_LOADING,
    EK__NAME_RUNTIME, /**< names of CANN's layers contain it */
    EK__NAME_RUNTIME_WAIT,
    EK__NAME_WAIT,
    EK__NAME_NEXT_DATA,  /**< MindSpore's GetNext */
    EK__NAME_COLLECTIVE, /**< hcom_... */
    EK__NAME_COLLECTIVE_KERNEL,
    EK__NAME_COLLECTIVE_PART, /**< a task on a core that belongs to a collective */
    EK__NAME_COMPUTING,
    EK__NAME_COMMUNICATION,
    EK__NAME_NOT_OVERLAPPED,
    EK__NAME_FREE,
} ek__name_meaning;

ek__index_kind ek__kind_of(const ek__block *block, const ek__raw_event *raw, ek__category category);
/** O(size). */
ek__name_meaning ek__meaning_of_name(const char *name, size_t size);
/** @param no_metadata  ek__store_no_metadata() */
ek_view_type ek__type_of(ek__index_kind kind, ek__name_meaning name, const ek__track *track, bool no_metadata);
/** The kind of a track, from its layer or its events. @param count [EK_N_VIEW_TYPES] events of each type */
ek__track_class ek__class_of(const ek__track *track, const uint64_t *count);

#endif
