package guest

import (
	"cmp"
	"maps"
	"slices"
)

// readyQueue holds coroutines in the order in which they became runnable.
type readyQueue struct {
	all  []*Coroutine
	head int // of coroutines still to run
}

func (q *readyQueue) empty() bool { return q.head == len(q.all) }

func (q *readyQueue) push(co *Coroutine) { q.all = append(q.all, co) }

// pop takes the first. The room of a queue that is empty is used again, unless it is large.
func (q *readyQueue) pop() *Coroutine {
	const large = 64
	co := q.all[q.head]
	q.all[q.head] = nil
	q.head++
	switch {
	case q.head < len(q.all):
	case cap(q.all) > large:
		*q = readyQueue{}
	default:
		q.all, q.head = q.all[:0], 0
	}
	return co
}

func (q *readyQueue) contains(co *Coroutine) bool { return slices.Contains(q.all[q.head:], co) }

// pendingOps are the promises of ops, by number. A workflow that takes one step after the other needs no map for them:
// the latest is kept beside it.
type pendingOps struct {
	latest *Promise
	older  map[uint32]*Promise
}

func (o *pendingOps) add(p *Promise) {
	if o.latest != nil {
		if o.older == nil {
			o.older = map[uint32]*Promise{}
		}
		o.older[o.latest.op] = o.latest
	}
	o.latest = p
}

// take takes out the promise of an op; nil if there is none.
func (o *pendingOps) take(op uint32) *Promise {
	if p := o.latest; p != nil && p.op == op {
		o.latest = nil
		return p
	}
	p, ok := o.older[op]
	if ok {
		delete(o.older, op)
	}
	return p
}

// inOrder lists them in the order in which they were issued.
func (o *pendingOps) inOrder() []*Promise {
	all := slices.Collect(maps.Values(o.older))
	if o.latest != nil {
		all = append(all, o.latest)
	}
	slices.SortFunc(all, func(a, b *Promise) int { return cmp.Compare(a.op, b.op) })
	return all
}

// hasOther tells whether there is one besides p.
func (o *pendingOps) hasOther(p *Promise) bool {
	n := len(o.older)
	if o.latest != nil {
		n++
	}
	if n == 1 {
		return o.latest != p && o.older[p.op] != p
	}
	return n > 1
}
