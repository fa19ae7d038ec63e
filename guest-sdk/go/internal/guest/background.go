package guest

// inBackground has the workflow end no sooner than an op that no coroutine waits for is
// over. If the op fails, the workflow crashes: what it did is against a rule of the host, and
// no part of its code would learn of that.
func (ex *Execution) inBackground(p *Promise) {
	if p.settled {
		if p.err != nil {
			ex.crash(p.err)
		}
		return
	}
	p.onSettle = func() {
		if p.err != nil {
			ex.crash(p.err)
		}
	}
	ex.background = append(ex.background, p)
}

// awaitBackground waits for the ops that were in the background when the function of the
// workflow returned.
func (ex *Execution) awaitBackground(co *Coroutine) {
	if ex.published != nil {
		ex.publish()
	}
	open := ex.background
	ex.background = nil
	for _, p := range open {
		if !p.settled {
			_, _ = Scope{co: co, shielded: true}.Await("the end of the workflow", p)
		}
	}
}
