package main

import (
	"context"
	"slices"
	"time"
)

// A workload measures one aspect of a system. Workloads of one host group share a host; the others need one in a state
// that they know.
type workload struct {
	name  string
	title string
	// fresh says that the workload needs a system of its own.
	fresh bool
	// settings are the settings of a host that differ from the default.
	settings []string
	// peers are the peers that can be measured, too.
	peers []string
	run   func(ctx context.Context, m *meter) error
}

// everyPeer is all of them.
var everyPeer = peerNames()

var workloads = []workload{
	{"W1", "steps/s of workflows with 10 sequential steps, 64 at once", false, nil, everyPeer, runW1},
	{"W2", "a workflow of one step, one at a time", false, nil, everyPeer, runW2},
	// Sleepers sleep for seconds here and for days elsewhere: so that they are at rest when they are measured, and
	// woken from rest, instances stay warm for 10 s.
	{
		"W3", "2,000 sleepers: how late they wake, and their memory", true,
		[]string{"--idle-timeout", "10s"},
		everyPeer, runW3,
	},
	{"W4", "a workflow of 100 parallel steps, one at a time", false, nil, everyPeer, runW4},
	{"W5", "latency of start, settle, signal and interrupt", false, nil, nil, runW5},
	{"W6", "cold start: the first instance of a module, and 1,000 at once", true, nil, nil, runW6},
	{"W7", "wake against the length of the journal", true, nil, nil, runW7},
	{"W8", "activities with SQL: transfers/s, 64 at once", false, nil, nil, runW8},
	{"W9", "a guest that computes, against native Go", false, nil, nil, runW9},
	{"W10", "many sleepers: their memory, and the start of a host that has them", true, nil, nil, runW10},
	{
		"W11", "calls of a counter with a state: a hot one, 10,000 of them, one caller alone", false, nil,
		[]string{"restate"},
		runW11,
	},
	{"W12", "entities: reads, calls without a state, transfers under locks", false, nil, nil, runW12},
	{
		"W13", "many parents that wait for a child: their memory, and the start of a host that has them", true, nil,
		nil, runW13,
	},
}

func workloadNames() []string {
	names := make([]string, 0, len(workloads))
	for _, w := range workloads {
		names = append(names, w.name)
	}
	return names
}

func workloadOf(name string) (workload, bool) {
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	if i < 0 {
		return workload{}, false
	}
	return workloads[i], true
}

// sizes are how much of each workload is done.
type sizes struct {
	seconds    float64 // of W1, W2, W4, W5, W8, W11, W12
	warmUp     float64 // seconds before each of these, not measured
	steps      int     // of a workflow of W1
	clients    int     // of W1, W8, W11 and W12
	parallel   int     // steps of W4
	sleepers   int
	sleep      time.Duration // until the first sleeper is due
	wakes      time.Duration // from the first to the last of them
	instances  int           // of W6
	lengths    []int         // of journals of W7
	lengthRuns int           // executions of each length
	rounds     int           // of the kernel of W9
	accounts   int           // of W8 and W12
	entities   int           // of W11
	dense      int           // sleepers of W10
	settles    time.Duration // until the memory of W10 is taken
}

// fullSizes are the sizes of a measurement.
func fullSizes(seconds float64) sizes {
	return sizes{
		seconds: seconds, warmUp: 1, steps: 10, clients: 64, parallel: 100,
		sleepers: 2000, sleep: 30 * time.Second, wakes: 10 * time.Second,
		instances: 1000, lengths: []int{10, 1000, 10_000}, lengthRuns: 3, rounds: 500, accounts: 200, entities: 10_000,
		dense: 20_000, settles: 10 * time.Second,
	}
}

// tinySizes are the sizes of the test: every path once.
func tinySizes() sizes {
	return sizes{
		seconds: 0.05, warmUp: 0.01, steps: 3, clients: 4, parallel: 5,
		sleepers: 5, sleep: 300 * time.Millisecond, wakes: 50 * time.Millisecond,
		instances: 5, lengths: []int{3, 20}, lengthRuns: 1, rounds: 3, accounts: 4, entities: 3,
		dense: 5, settles: time.Millisecond,
	}
}
