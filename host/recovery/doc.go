// Package recovery brings back due executions: when a host starts, the executions that were running
// when the owner before it ended, and from then on, by a scan of the store once a minute,
// executions and schedules that come due and are not in memory ([Scanner]).
//
// It imports journal and, for the horizon of timers, host/timer. It hands its findings to
// interfaces of its own. Start reading at recovery.go.
package recovery
