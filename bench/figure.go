package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// A figure is one measured number with its context: a line of JSON.
type figure struct {
	Time       string `json:"time"`
	Workload   string `json:"workload"`
	Metric     string `json:"metric"`
	setup             // the system, the language and the store
	Repetition int    `json:"repetition"`

	Value          float64 `json:"value"`
	Unit           string  `json:"unit"`
	HigherIsBetter bool    `json:"higher_is_better"`
	Samples        int     `json:"samples"`

	cost

	// Failure says why there is no value.
	Failure string `json:"failure,omitempty"`

	Version     string  `json:"version"`
	Machine     machine `json:"machine"`
	FsyncMicros float64 `json:"fsync_us"`
	Filesystem  string  `json:"filesystem"`
	LoadAtStart float64 `json:"load_at_start"`
}

// cost is the use of the machine by a measurement.
type cost struct {
	Seconds float64 `json:"seconds"`
	// Operations are workflows.
	Operations int `json:"operations"`
	// CPU is the time of the system's processes; the time of an adapter includes the client, which is apart for
	// Cruster.
	CPU       float64 `json:"cpu_s"`
	ClientCPU float64 `json:"client_cpu_s"`
	StoreCPU  float64 `json:"store_cpu_s"`
	// Stolen is the processor time that a virtual machine wanted and its hypervisor gave to others.
	Stolen float64 `json:"stolen_s"`
	// Commits and Flushes are missing where the system does not count them: commits by the host's metrics, flushes of
	// Postgres by pg_stat_wal.
	Commits *float64 `json:"commits,omitempty"`
	Flushes *float64 `json:"flushes,omitempty"`
}

// stolenShare is how much of the processors' time others had during the measurement, in percent.
func (f figure) stolenShare() float64 {
	if f.Seconds <= 0 || f.Machine.Cores == 0 {
		return 0
	}
	return 100 * f.Stolen / (f.Seconds * float64(f.Machine.Cores))
}

// figuresOf reads lines of JSON.
func figuresOf(paths []string) ([]figure, error) {
	var all []figure
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var f figure
			if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, f)
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}
