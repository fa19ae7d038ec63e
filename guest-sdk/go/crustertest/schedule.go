package crustertest

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Schedules lists the schedules that the module declares, sorted by name, as a host sees them when the module is
// deployed.
//
// If the binary of the test has several modules, name the packages of the one; see [Deploy].
func Schedules(packages ...string) []abi.ScheduleInfo {
	if len(packages) == 0 {
		return guest.Default.Manifest().Schedules
	}
	m, err := guest.Module(func(pkg string) bool { return holds(packages, pkg) })
	if err != nil {
		panic(fmt.Sprintf("crustertest: %v", err))
	}
	return m.Manifest().Schedules
}
