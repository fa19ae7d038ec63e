package admission

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/metric"
)

// Load is how much a host has taken on.
type Load struct {
	Executions   int   // in memory
	QueuedWrites int   // waiting for the group committer
	WriteBytes   int64 // of writes that the store has not answered
}

// Limits bound the load.
type Limits struct {
	Executions   int
	QueuedWrites int
	WriteBytes   int64
}

// retryAfter is the wait that a full host asks of its callers.
const retryAfter = time.Second

// Decide tells whether another execution may start: nil, or why not.
func Decide(load Load, limits Limits) *Overloaded {
	if load.Executions >= limits.Executions {
		return &Overloaded{
			Reason: abi.Errorf(
				abi.CodeOverloaded, "the host holds %d executions, the limit is %d", load.Executions, limits.Executions,
			),
			After: retryAfter,
		}
	}
	return DecideWrite(load, limits)
}

// DecideWrite tells whether a message may be written: nil, or why not.
func DecideWrite(load Load, limits Limits) *Overloaded {
	switch {
	case load.QueuedWrites >= limits.QueuedWrites:
		return &Overloaded{
			Reason: abi.Errorf(
				abi.CodeOverloaded, "%d writes wait for the store, the limit is %d", load.QueuedWrites,
				limits.QueuedWrites,
			),
			After: retryAfter,
		}
	case load.WriteBytes >= limits.WriteBytes:
		return &Overloaded{
			Reason: abi.Errorf(
				abi.CodeOverloaded, "%d KiB of writes wait for the store, the limit is %d KiB", load.WriteBytes>>10,
				limits.WriteBytes>>10,
			),
			After: retryAfter,
		}
	default:
		return nil
	}
}

// Overloaded is the error of a host that is full.
type Overloaded struct {
	Reason *abi.Error
	// After is when to try again.
	After time.Duration
}

// Error implements error.
func (o *Overloaded) Error() string { return o.Reason.Error() }

// Unwrap yields the reason.
func (o *Overloaded) Unwrap() error { return o.Reason }

// RetryDelay is the delay that an overloaded host asked for; 0 if err is something else.
func RetryDelay(err error) time.Duration {
	var o *Overloaded
	if errors.As(err, &o) {
		return o.After
	}
	return 0
}

// Controller admits starts and messages by the present load.
type Controller struct {
	limits  Limits
	load    func() Load
	refused prometheus.Counter
	unsent  prometheus.Counter
}

// NewController makes a controller that measures the load each time it is asked.
func NewController(limits Limits, load func() Load, reg prometheus.Registerer) *Controller {
	return &Controller{
		limits: limits, load: load,
		refused: metric.Counter(reg, "starts_refused_total", "Starts refused because the host was full."),
		unsent: metric.Counter(
			reg, "messages_refused_total", "Messages of callers refused because too many writes waited for the store.",
		),
	}
}

// Admit refuses a start when the host is full, with an [*Overloaded].
func (c *Controller) Admit() error {
	if refusal := Decide(c.load(), c.limits); refusal != nil {
		c.refused.Inc()
		return refusal
	}
	return nil
}

// AdmitMessage refuses a message from outside while too much waits for the store, with an
// [*Overloaded]. Nothing else is asked of it: an execution in memory can be sent something when the
// host is full.
func (c *Controller) AdmitMessage() error {
	if refusal := DecideWrite(c.load(), c.limits); refusal != nil {
		c.unsent.Inc()
		return refusal
	}
	return nil
}
