package entity

import "github.com/cruster/cruster/host/entity/fault"

// beginStarts has workflows started that operations have asked for.
func (e *entity) beginStarts() {
	if !e.starts || e.starting || e.startPause.until != 0 {
		return
	}
	e.starting = e.begin(e.entities.working, func() message {
		return startsDone{fault.Guard(func() error { return e.entities.starter.StartAll(e.id, e.startMisfits) })}
	})
	e.starts = !e.starting
}

// endStarts has starts that were not performed tried again later.
func (e *entity) endStarts(err error) {
	if err == nil {
		e.startPause = pause{}
		clear(e.startMisfits) // none is left, also if the answer to the commit that parked it was lost
		return
	}
	e.starts = true
	e.setback(&e.startPause, "start workflows", err)
}
