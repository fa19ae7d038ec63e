package fault

import (
	"errors"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// Guard runs a part of the work on one entity. If it panics, its outcome is unknown to callers.
func Guard(work func() error) error {
	err := hostfault.Try(work)
	var fault *hostfault.Fault
	if !errors.As(err, &fault) {
		return err
	}
	return errors.Join(
		fault,
		abi.Errorf(
			abi.CodeInternal,
			"the host failed while it worked on the entity; whether the call took effect is not known",
		),
	)
}

// Log reports faults.
type Log struct {
	Count  prometheus.Counter
	Logger *slog.Logger
}

// Report logs the fault in an error, if it is one: the facts that a bug report needs, and no payloads.
func (l *Log) Report(id journal.ID, err error) {
	var f *hostfault.Fault
	if !errors.As(err, &f) {
		return
	}
	l.Count.Inc()
	l.Logger.Error("host fault: a call of one entity has failed, the others go on; please report this line",
		"code", abi.CodeInternal, "id", id, "fault", f.What, "stack", string(f.Stack))
}
