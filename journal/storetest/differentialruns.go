package storetest

import (
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// runOf returns the run of an execution, or its first: no id of a run is used twice.
func (m *model) runOf(id journal.ID) journal.RunID {
	if e, err := m.oracle.Load(m.ctx, id); err == nil {
		return e.Run
	}
	run := journal.RunID(id)
	for n := byte(1); m.started[run]; n++ {
		run[13] = n
	}
	return run
}

// chainOf is the chain of a run of an execution.
func (m *model) chainOf(id journal.ID, run journal.RunID) journal.RunID {
	if e, err := m.oracle.Load(m.ctx, id); err == nil && e.Run == run {
		return e.Chain
	}
	return run
}

// drawSection draws the section of a run.
func drawSection(rt *rapid.T) journal.StepID {
	if n := rapid.Uint32Range(0, 2).Draw(rt, "section"); n > 0 {
		return stepOf(n)
	}
	return journal.StepID{}
}

// drawContinue draws how a run goes on as another one.
func (m *model) drawContinue(rt *rapid.T, w *journal.Write) {
	m.continued++
	w.Continue = &journal.Continuation{
		Run: journal.RunID(w.ID), Input: drawBytes(rt), Digest: "sha256:03", Pinned: journal.Pinned{Time: 5},
	}
	if w.Continue.Run[15] == m.continued {
		m.continued++ // the execution began with that run
	}
	w.Continue.Run[15] = m.continued
	if rapid.Bool().Draw(rt, "publishes") {
		w.Publish = drawPublished(rt)
	}
}

func (m *model) drawLock(rt *rapid.T, e *journal.Entity) *journal.Lock {
	holder := modelExecution(drawKey(rt)).ID
	return &journal.Lock{
		Entity: e.ID, Namespace: e.Namespace, Type: e.Type, Key: e.Key, Since: rapid.Int64Range(1, 9).Draw(rt, "since"),
		Holder: journal.Caller{
			ID: holder, Run: m.runOf(holder), Step: stepOf(rapid.Uint32Range(1, 2).Draw(rt, "holder")),
		},
	}
}

func (m *model) listLocks(rt *rapid.T) {
	f := journal.LockFilter{
		Namespace: rapid.SampledFrom([]string{"", "default", "other"}).Draw(rt, "namespace"),
		Limit:     rapid.IntRange(1, 3).Draw(rt, "limit"),
	}
	type page struct {
		Locks []journal.HeldLock
		After journal.ID
		More  bool
	}
	for last := (page{More: true}); last.More; f.After = last.After {
		same(rt, "locks", func(s journal.Store) (p page, err error) {
			p.Locks, p.After, p.More, err = s.Locks(m.ctx, f)
			last = p
			return p, err
		}, m.store, m.oracle)
	}
	for _, e := range modelEntities() {
		l, err := m.oracle.Lock(m.ctx, e.ID)
		if err != nil {
			require.ErrorIs(rt, err, journal.ErrNotFound)
			continue
		}
		same(
			rt, "section", func(s journal.Store) (bool, error) { return s.InSection(m.ctx, l.Holder) }, m.store,
			m.oracle,
		)
	}
}

func (m *model) sweepLocks(rt *rapid.T) {
	limit := rapid.IntRange(0, 3).Draw(rt, "limit")
	same(
		rt, "sweep locks", func(s journal.Store) (int, error) { return s.SweepLocks(m.ctx, m.fencesOf(s), limit) },
		m.store, m.oracle,
	)
	m.compareMail(rt)
}

var modelAttributes = []abi.Attribute{
	text(""), text("ada"), text("ž"), number(0), number(-1.5), number(1e300), boolean(1), instant(1), instant(1e15),
}

func drawPublished(rt *rapid.T) *journal.Published {
	p := &journal.Published{At: rapid.Int64Range(1, 9).Draw(rt, "published")}
	for _, name := range []string{"a", "b"} {
		if rapid.Bool().Draw(rt, "state of "+name) {
			p.State = append(p.State, abi.Published{Name: name, Value: drawBytes(rt)})
		}
		if rapid.IntRange(0, 2).Draw(rt, "attribute "+name) > 0 {
			p.Attributes = append(p.Attributes, journal.NamedAttribute{
				Name: name, Attribute: rapid.SampledFrom(modelAttributes).Draw(rt, "value"),
			})
		}
	}
	if rapid.Bool().Draw(rt, "progress") {
		p.Progress = &abi.Progress{Done: 1, Total: 2, Note: "n"}
	}
	return p
}

func (m *model) listWhere(rt *rapid.T) {
	f := journal.Filter{
		Namespace: rapid.SampledFrom([]string{"", "default", "other"}).Draw(rt, "namespace"),
		Workflow:  rapid.SampledFrom([]string{"", "", "orders/", "orders/Process", "billing/"}).Draw(rt, "workflow"),
		State:     rapid.SampledFrom(append([]journal.State{"", ""}, modelStates...)).Draw(rt, "state"),
		Limit:     rapid.IntRange(1, 3).Draw(rt, "limit"),
	}
	for range rapid.IntRange(1, 2).Draw(rt, "conditions") {
		f.Where = append(f.Where, journal.Condition{
			Name:     rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "name"),
			Operator: rapid.SampledFrom([]string{"=", "<", "<=", ">", ">="}).Draw(rt, "operator"),
			Value:    rapid.SampledFrom(modelAttributes).Draw(rt, "value"),
		})
	}
	m.comparePages(rt, f)
}

// startOver has a run take the place of one, among other writes.
func (m *model) startOver(rt *rapid.T) {
	e := modelExecution(drawKey(rt))
	over := m.runOf(e.ID)
	m.continued++
	if e.Run[14] == m.continued {
		m.continued++ // the execution began with that run
	}
	e.Run[14], e.Parent = m.continued, journal.Caller{} // its step has one callee
	e.Chain, e.Request = e.Run, journal.Origin{m.continued}
	w := journal.Write{ID: e.ID, Run: e.Run, Chain: e.Chain, Fence: m.fences[e.ID.Shard()], Start: &e, Replace: over}
	if rapid.Bool().Draw(rt, "over") {
		end := journal.Write{ID: e.ID, Run: over, Chain: m.chainOf(e.ID, over), Fence: w.Fence}
		end.Update = &journal.Update{State: journal.Failed, FinishedAt: rapid.Int64Range(1, 5).Draw(rt, "finished")}
		m.commitWrites(rt, []journal.Write{end, w})
	} else {
		m.commitWrites(rt, []journal.Write{w})
	}
	m.compareEarlier(rt, e.ID)
	same(
		rt, "requested",
		func(s journal.Store) (*journal.Execution, error) { return s.Requested(m.ctx, e.ID, e.Request) }, m.store,
		m.oracle,
	)
}

// deleteRun deletes a run, if it has ended.
func (m *model) deleteRun(rt *rapid.T) {
	id := modelExecution(drawKey(rt)).ID
	run, superseded := m.runOf(id), uint64(0)
	if rows, err := m.oracle.Earlier(m.ctx, id, 0, 1); err == nil && len(rows) > 0 && rapid.Bool().Draw(rt, "earlier") {
		run, superseded = rows[0].Run, rows[0].Superseded-rapid.Uint64Range(0, 1).Draw(rt, "another")
	}
	same(rt, "delete", func(s journal.Store) (any, error) {
		return nil, s.Delete(m.ctx, m.fencesOf(s)[id.Shard()], id, run, superseded)
	}, m.store, m.oracle)
	m.purge(rt)
	m.compareExecution(rt, id)
	m.compareEarlier(rt, id)
	m.compareMail(rt)
}

func (m *model) compareEarlier(rt *rapid.T, id journal.ID) {
	same(
		rt, "earlier", func(s journal.Store) ([]journal.Execution, error) { return s.Earlier(m.ctx, id, 0, 3) },
		m.store, m.oracle,
	)
	rows, err := m.oracle.Earlier(m.ctx, id, 0, 3)
	require.NoError(rt, err)
	for i := range rows {
		m.compareRun(rt, &rows[i])
		m.inboxes[id] = slices.Concat(m.inboxes[id], m.compareReceiver(rt, rows[i].Receiver()))
	}
}

// purge deletes the rows of runs that are gone, all of them: nothing shows, and messages sent to a
// run before its start are not there when it starts.
func (m *model) purge(rt *rapid.T) {
	limit := rapid.IntRange(1, 100).Draw(rt, "purged")
	for _, s := range []journal.Store{m.store, m.oracle} {
		for n := limit; n >= limit; { // the row that says that a run is gone may be one more
			var err error
			n, err = s.Purge(m.ctx, m.fencesOf(s), limit)
			require.NoError(rt, err)
		}
	}
}

func (m *model) children(rt *rapid.T) {
	run := m.runOf(modelExecution(drawKey(rt)).ID)
	limit := rapid.IntRange(0, 4).Draw(rt, "limit")
	same(rt, "children", func(s journal.Store) ([]journal.Execution, error) {
		found, err := s.Children(m.ctx, run, journal.ID{}, limit)
		return append([]journal.Execution(nil), found...), err
	}, m.store, m.oracle)
}
