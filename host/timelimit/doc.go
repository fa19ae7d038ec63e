// Package timelimit bounds work by the time during which this process ran.
//
// A limit on the wall clock takes a process that was stopped (SIGSTOP, a debugger, a frozen container, a suspended
// machine, a host that got no processor) for work that was slow: when the process runs again, every limit has passed,
// and innocent work is failed. So a limit here is counted in ticks of the process itself. A tick that comes late
// by more than its own length counts as one tick, however long it took to come: the process was away.
//
// The package imports nothing of Cruster.
package timelimit
