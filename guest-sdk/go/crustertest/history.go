package crustertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Types of an [Event].
const (
	// Issued says that the workflow asked for an op.
	Issued = "issued"
	// Canceled says that the workflow no longer waits for an op.
	Canceled = "canceled"
	// Retried says that an attempt of an activity failed and is repeated. The workflow does not see it.
	Retried = "retried"
	// Delivered says that the workflow received the outcome of an op.
	Delivered = "delivered"
)

// History holds the events of an execution, in order: the events of its last run, if it has continued as
// new. It is filled by [Record] and checked by [Replay].
type History struct {
	Execution string
	Namespace string
	Workflow  string
	Input     []byte
	Start     time.Time
	Events    []Event
	Outcome   abi.Outcome
	// Unread are the signals that the workflow did not read; see [Unread].
	Unread []UnreadSignal
	// Given names signals that the run before was given and did not read.
	Given []string
	// Run counts the runs before this one, if the execution has continued as new; the history of
	// the last of them has their histories, in Before.
	Run    int
	Before []History
	// Published is the published state of the execution.
	Published Published
	// code is the module of the execution; nil in a history that no execution has recorded.
	code *guest.Registry
}

// seed of the random numbers of the run.
func (h *History) seed() []byte {
	if h.Run == 0 {
		return []byte(h.Execution)
	}
	return fmt.Appendf(nil, "%s#%d", h.Execution, h.Run)
}

// Event is one thing that happened.
type Event struct {
	Time time.Time
	// Type is [Issued], [Canceled], [Retried] or [Delivered].
	Type string
	Op   uint32
	// Kind and Name identify the issued op: "activity" "reserve", "sleep" "2s".
	Kind string
	Name string
	// Body is the op as it was issued, in msgpack.
	Body []byte
	// Value or Err is the outcome that was delivered; Err also holds the error of a failed attempt.
	Value []byte
	Err   *abi.Error
}

// opName is the name of an op in a history: "reserve" of "activity reserve".
func opName(kind string, body []byte) string {
	decoded, err := abi.DecodeOp(kind, body)
	if err != nil {
		return ""
	}
	switch b := decoded.(type) {
	case *abi.Sleep:
		return time.Duration(b.Duration).String()
	case *abi.Activity:
		return b.Name
	case *abi.Deferred:
		return b.Name
	case *abi.Resolve:
		return b.Name
	case *abi.Call:
		return b.Workflow
	case *abi.Interrupt:
		return b.Execution
	case *abi.Poll:
		return b.Execution
	case *abi.Receive:
		return b.Name
	case *abi.Signal:
		return b.Name
	case *abi.Lock:
		return strings.Join(b.Entities, ",")
	case *abi.Answer:
		return b.ID
	case *abi.EntityMessage:
		return b.Entity + "." + b.Operation
	case *abi.Patched:
		return b.ID
	}
	return ""
}

func (h *History) add(e Event) { h.Events = append(h.Events, e) }

// String renders the event in a line.
func (e Event) String() string {
	switch e.Type {
	case Issued:
		return strings.TrimSpace(fmt.Sprintf("issued %d %s %s", e.Op, e.Kind, e.Name))
	default:
		if e.Err != nil {
			return fmt.Sprintf("%s %d: %v", e.Type, e.Op, e.Err)
		}
		return fmt.Sprintf("%s %d", e.Type, e.Op)
	}
}

// Steps lists the ops that the workflow issued, as "activity reserve" or "sleep 2s", in order. It leaves out the waits
// that the SDK begins with: for an interrupt and for updates.
func (h *History) Steps() []string {
	steps := []string{}
	for _, e := range h.Events {
		if e.Type == Issued && e.Kind != abi.OpInterrupted && e.Kind != abi.OpUpdate {
			steps = append(steps, strings.TrimSpace(e.Kind+" "+e.Name))
		}
	}
	return steps
}

// Duration is how long the execution took, in virtual time.
func (h *History) Duration() time.Duration {
	if len(h.Events) == 0 {
		return 0
	}
	return h.Events[len(h.Events)-1].Time.Sub(h.Start)
}

// String renders the history line by line, with virtual times.
func (h *History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", h.Execution)
	for _, e := range h.Events {
		fmt.Fprintf(&b, "%-12s %s\n", e.Time.Sub(h.Start), e)
	}
	return b.String()
}
