package crustertest

import (
	"slices"

	"github.com/cruster/cruster/abi"
)

// lock is the lock of an entity: while a run holds it, requests of others to the entity queue in
// order.
type lock struct {
	holder  *run
	waiting []waiting
}

type waiting struct {
	by  *run
	act func()
}

// section is the critical section of a run.
type section struct {
	op uint32
	// entities are in the order in which all runs lock them; held counts the locks it has.
	entities []string
	held     int
}

// enter lets a run do something with an entity, now or when the entity is free. By is nil for a
// caller outside of any run.
func (w *world) enter(entity string, by *run, act func()) {
	l := w.locks[entity]
	if l == nil || l.holder == nil || l.holder == by {
		act()
		return
	}
	l.waiting = append(l.waiting, waiting{by, act})
}

// lock begins a critical section, or refuses to as a host does.
func (r *run) lock(op uint32, names []string) {
	entities, err := r.checkLock(op, names)
	if err != nil {
		r.deliver(0, op, abi.Delivery{Error: abi.AsError(err)})
		return
	}
	r.section = &section{op: op, entities: entities}
	r.world.after(0, func() { r.lockNext(r.section) })
}

// lockNext locks the next entity of a section.
func (r *run) lockNext(s *section) {
	if s == nil || r.section != s {
		return // it has ended
	}
	if s.held == len(s.entities) {
		r.deliver(0, s.op, abi.Delivery{Value: abi.Nil})
		return
	}
	entity := s.entities[s.held]
	r.world.enter(entity, r, func() {
		if r.section != s {
			return
		}
		if r.world.locks[entity] == nil {
			r.world.locks[entity] = &lock{}
		}
		r.world.locks[entity].holder = r
		s.held++
		r.lockNext(s)
	})
}

// endSection ends the section of a run, if it is in one. The waiting ones go on in their order.
func (r *run) endSection() {
	s := r.section
	if s == nil {
		return
	}
	r.section = nil
	r.world.soon(func() {
		for _, entity := range s.entities[:s.held] {
			r.world.release(entity)
		}
	})
}

// release frees an entity for the callers queued for it.
func (w *world) release(entity string) {
	l := w.locks[entity]
	next := l.waiting
	l.holder, l.waiting = nil, nil
	for _, n := range next {
		w.enter(entity, n.by, n.act)
	}
}

// checkLock finds the entities of a section, sorted.
func (r *run) checkLock(op uint32, names []string) ([]string, error) {
	if r.section != nil {
		return nil, abi.Errorf(abi.CodeInSection, "Lock was called in a critical section").
			WithHint("Lock all entities at once, or end the section first.")
	}
	for other, p := range r.pending {
		if other != op && (p.kind == abi.OpCall || p.kind == abi.OpEntityCall) {
			return nil, abi.Errorf(abi.CodeInSection, "Lock was called while %s is not answered", p.what).
				WithHint("Wait for the answer first.")
		}
	}
	var all []string
	for _, name := range names {
		entity, err := r.world.lockable(r.module.deployment, name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(all, entity) {
			return nil, abi.Errorf(abi.CodeCannotLock, "%s is to be locked twice", entity)
		}
		all = append(all, entity)
	}
	slices.Sort(all)
	return all, nil
}

// lockable is the full name of an entity that can be locked. Entities of other deployments can: the
// test defines them.
func (w *world) lockable(from, name string) (string, error) {
	deployment, entity, id, err := abi.SplitEntity(from, name)
	if err != nil {
		return "", err
	}
	if m, ok := w.modules[deployment]; ok {
		of, ok := m.Entity(entity)
		switch {
		case !ok:
			return "", abi.Errorf(abi.CodeUnknownEntity, "there is no entity %s in this module", entity)
		case of.State == nil:
			return "", abi.Errorf(abi.CodeCannotLock, "entities of the type %s have no state", entity)
		}
	}
	return deployment + "/" + entity + "/" + id, nil
}

// maySectionCall refuses a call that the section of the run does not allow.
func (r *run) maySectionCall(o *operation) error {
	if r.section == nil || slices.Contains(r.section.entities[:r.section.held], o.entity) {
		return nil
	}
	return abi.Errorf(abi.CodeNotLocked, "%s was called in a critical section that has not locked it", o.entity)
}

// maySectionSend refuses a message that the section of the run does not allow.
func (r *run) maySectionSend(o *operation) error {
	if r.section == nil || !slices.Contains(r.section.entities, o.entity) {
		return nil
	}
	return abi.Errorf(abi.CodeInSection, "a message was sent to %s, which the section has locked", o.entity).
		WithHint("Call the entity, or send the message after the section.")
}
