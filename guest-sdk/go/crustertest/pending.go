package crustertest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// mostPending is how many ops the error of a limit names.
const mostPending = 10

// waitsFor names the ops that the execution waits for.
func (r *run) waitsFor() string { return cmp.Or(r.pendingOps(math.MaxInt), "its own coroutines") }

// pendingOps names the first pending ops, and counts the others.
func (r *run) pendingOps(most int) string {
	var ops []uint32
	for op := range r.pending {
		if op != r.interruptOp {
			ops = append(ops, op)
		}
	}
	slices.Sort(ops)
	more := ""
	if len(ops) > most {
		more = fmt.Sprintf(" and %d more", len(ops)-most)
		ops = ops[:most]
	}
	names := make([]string, len(ops))
	for i, op := range ops {
		names[i] = fmt.Sprintf("%s (op %d)", r.pending[op].what, op)
	}
	return strings.Join(names, ", ") + more
}

// withPending adds the pending ops to the error of a run ended by a limit.
func (r *run) withPending(err *abi.Error) *abi.Error {
	ops := r.pendingOps(mostPending)
	if ops == "" {
		return err
	}
	out := *err
	out.Message += "; pending: " + ops
	return &out
}
