package crustertest

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Schedules lists the schedules that the module declares, sorted by name, as a host sees them
// when the module is deployed.
func Schedules() []abi.ScheduleInfo { return guest.Default.Manifest().Schedules }
