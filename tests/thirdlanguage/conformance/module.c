#include "workflows.h"

/* Sorted by the names of the definitions, as in the manifest. */
static const cr_workflow_def *const workflows[] = {
    &wf_all, &wf_await, &wf_await_late, &wf_await_number, &wf_await_twice, &wf_block, &wf_bulk,
    &wf_call, &wf_call_itself, &wf_call_keys, &wf_call_many, &wf_call_wrong, &wf_clock, &wf_count,
    &wf_count_keyed, &wf_count_many, &wf_crash, &wf_double, &wf_echo, &wf_exhaust, &wf_fail,
    &wf_fetch, &wf_first, &wf_follow, &wf_greet, &wf_hashed_key, &wf_huge, &wf_idempotent,
    &wf_identity, &wf_interrupted_early, &wf_interruptible, &wf_race, &wf_raw_key,
    &wf_resolve_other, &wf_resolve_own, &wf_retry, &wf_sql_wrong, &wf_sequence, &wf_settings,
    &wf_sleeps, &wf_unhandled,
};

static const cr_activity_def *const activities[] = {
    &act_add, &act_block, &act_bulk, &act_count, &act_crash, &act_echo, &act_fetch, &act_flaky,
    &act_hello, &act_identity, &act_make_bytes, &act_note, &act_read_count, &act_settings,
    &act_square, &act_tell_key, &act_try_statement,
};

static const cr_migration *const migrations[] = {&migration_counters};

const cr_module cr_this_module = {
    .workflows = workflows,
    .workflow_count = CR_COUNT(workflows),
    .activities = activities,
    .activity_count = CR_COUNT(activities),
    .migrations = migrations,
    .migration_count = CR_COUNT(migrations),
};
