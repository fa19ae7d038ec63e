// Package timer wakes executions at their time: one heap, one goroutine, one entry an execution. It imports journal for
// ids and times, and nothing else of Cruster.
//
// Times are read from the wall clock. It can be set, and a machine can be suspended; waiters must notice both. While
// there are timers the heap looks at the clock at least once a second, however far away they are ([Heap.Run]).
// [SlewedClock] is the wall clock of a host: it follows steps forward, and passes over small steps back.
//
// The heap holds the near times only; the store holds all of them, and host/recovery scans it for times that come near
// ([Horizon]).
package timer
