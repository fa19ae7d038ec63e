package serve

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/host/faultpoint"
)

// faultPoint makes the hook of CRUSTER_FAULT="point@n", which is for tests: at
// the n-th passing of that point the process kills itself the hard way, as a
// power cut would.
func faultPoint(spec string) (func(point string), error) {
	if spec == "" {
		return nil, nil
	}
	name, count, _ := strings.Cut(spec, "@")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 || !slices.Contains(faultpoint.Points, name) {
		return nil, usage.Errorf("CRUSTER_FAULT is %q, not POINT@N with a point out of %s", spec, strings.Join(faultpoint.Points, ", "))
	}
	var passed atomic.Int64
	return func(point string) {
		if point != name || passed.Add(1) != n {
			return
		}
		// SIGKILL cannot be caught; not returning keeps this goroutine from doing
		// more before it arrives.
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {}
	}, nil
}
