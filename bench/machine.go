package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// machine is where a figure was measured.
type machine struct {
	Processor string  `json:"processor"`
	Cores     int     `json:"cores"`
	MemoryGiB float64 `json:"memory_gib"`
	Kernel    string  `json:"kernel"`
	Go        string  `json:"go"`
}

func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Processor: runtime.GOARCH}
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		m.Processor = name
	}
	if kilobytes, _, ok := strings.Cut(field("/proc/meminfo", "MemTotal"), " "); ok {
		n, _ := strconv.ParseFloat(kilobytes, 64)
		m.MemoryGiB = float64(int(n/(1<<20)*10)) / 10
	}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(raw))
	}
	return m
}

// field is the first value of a name in a file of "name: value" lines.
func field(path, name string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage is how many processes wanted to run in the last minute: a figure that was taken on a busy machine says
// so.
func loadAverage() float64 {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(raw), " ")
	n, _ := strconv.ParseFloat(first, 64)
	return n
}

// fsyncLatency is the median time in microseconds that a write of 4 KiB and its flush take in a folder.
func fsyncLatency(dir string) (float64, error) {
	file, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	block := make([]byte, 4096)
	var times []float64
	for i := range 100 {
		start := time.Now()
		if _, err := file.WriteAt(block, int64(i%16)*4096); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, fmt.Errorf("flush: %w", err)
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
	}
	return percentile(times, 50), nil
}

// percentile sorts the values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(p/100*float64(len(values))))]
}
