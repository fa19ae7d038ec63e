package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticks is the unit of processor time in /proc: USER_HZ, 100 on Linux.
const ticks = 100.0

// processorTime is the time of the processes and of their ended children, in seconds. A process that is gone
// counts nothing.
func processorTime(pids []int) float64 {
	total := 0.0
	for _, pid := range pids {
		fields := statOf(pid)
		if len(fields) < 15 {
			continue
		}
		// utime, stime, cutime, cstime: 14 to 17 in proc(5), which counts from 1; the first two are cut off.
		for _, field := range fields[11:15] {
			n, _ := strconv.ParseFloat(field, 64)
			total += n / ticks
		}
	}
	return total
}

// stolenTime is the processor time in seconds that the hypervisor of a virtual machine has given to
// others while it was wanted here.
func stolenTime() float64 {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	all, _, _ := strings.Cut(string(raw), "\n")
	fields := strings.Fields(all) // cpu, user, nice, system, idle, iowait, irq, softirq, steal
	if len(fields) < 9 {
		return 0
	}
	n, _ := strconv.ParseFloat(fields[8], 64)
	return n / ticks
}

// statOf is /proc/PID/stat from the state on: the name before it may hold anything.
func statOf(pid int) []string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	text := string(raw)
	return strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
}

// family is a process and its children.
func family(pid int) []int {
	if pid == 0 {
		return nil
	}
	pids := []int{pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if fields := statOf(child); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			pids = append(pids, child)
		}
	}
	return pids
}

// memory is the memory of processes, in bytes: their proportional set size. In resident memory a page counts as often
// as it is mapped, and the instances of a module map the same image.
func memory(pids []int) float64 {
	total := 0.0
	for _, pid := range pids {
		kilobytes, _, _ := strings.Cut(field(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss"), " ")
		n, _ := strconv.ParseFloat(kilobytes, 64)
		total += n * 1024
	}
	return total
}
