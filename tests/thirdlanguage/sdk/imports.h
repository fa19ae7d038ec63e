#ifndef CRUSTER_IMPORTS_H
#define CRUSTER_IMPORTS_H

/* Section 3 of abi/ABI.md, and those functions of WASI that this module uses. The
 * linker imports only the functions that the module calls. */

#include <stdint.h>

#define CR_IMPORT(name) __attribute__((import_module("cruster"), import_name(#name)))
#define CR_WASI(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name)))

CR_IMPORT(input) void cr_host_input(void *at);
CR_IMPORT(output) void cr_host_output(const void *at, uint32_t len);
CR_IMPORT(log) void cr_host_log(int32_t level, const void *at, uint32_t len);

CR_IMPORT(sleep) int32_t cr_host_sleep(const void *at, uint32_t len);
CR_IMPORT(activity) int32_t cr_host_activity(const void *at, uint32_t len);
CR_IMPORT(deferred) int32_t cr_host_deferred(const void *at, uint32_t len);
CR_IMPORT(resolve) int32_t cr_host_resolve(const void *at, uint32_t len);
CR_IMPORT(call) int32_t cr_host_call(const void *at, uint32_t len);
CR_IMPORT(send) int32_t cr_host_send(const void *at, uint32_t len);
CR_IMPORT(poll) int32_t cr_host_poll(const void *at, uint32_t len);
CR_IMPORT(interrupted) int32_t cr_host_interrupted(const void *at, uint32_t len);
CR_IMPORT(cancel) void cr_host_cancel(int32_t op);

CR_IMPORT(tx_exec) int32_t cr_host_tx_exec(const void *at, uint32_t len);
CR_IMPORT(tx_query) int32_t cr_host_tx_query(const void *at, uint32_t len);
CR_IMPORT(tx_rollback) int32_t cr_host_tx_rollback(const void *at, uint32_t len);
CR_IMPORT(http) int32_t cr_host_http(const void *at, uint32_t len);
CR_IMPORT(config) int32_t cr_host_config(const void *at, uint32_t len);

typedef struct {
    const void *at;
    uint32_t len;
} cr_wasi_iovec;

CR_WASI(fd_write)
int32_t cr_wasi_fd_write(int32_t fd, const cr_wasi_iovec *parts, uint32_t count, uint32_t *written);
CR_WASI(clock_time_get) int32_t cr_wasi_clock_time_get(int32_t clock, int64_t precision, int64_t *time);
CR_WASI(proc_exit) _Noreturn void cr_wasi_proc_exit(int32_t code);
CR_WASI(args_sizes_get) int32_t cr_wasi_args_sizes_get(uint32_t *count, uint32_t *size);
CR_WASI(environ_sizes_get) int32_t cr_wasi_environ_sizes_get(uint32_t *count, uint32_t *size);
CR_WASI(fd_prestat_get) int32_t cr_wasi_fd_prestat_get(int32_t fd, void *prestat);

/* A subscription to a clock, the only kind that is used here. */
typedef struct {
    uint64_t user_data;
    uint64_t tag; /* 0 is a clock */
    uint64_t clock;
    uint64_t timeout;
    uint64_t precision;
    uint64_t flags;
} cr_wasi_subscription;

CR_WASI(poll_oneoff)
int32_t cr_wasi_poll_oneoff(const cr_wasi_subscription *in, void *events, uint32_t count, uint32_t *ready);

#endif
