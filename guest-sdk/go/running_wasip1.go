package cruster

import "github.com/cruster/cruster/guest-sdk/go/internal/guest"

// noteRunning says which attempt this instance runs.
func noteRunning(of any) { guest.Running = of }
