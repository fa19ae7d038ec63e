package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// A real database is slow: a few runs, but long ones, so that much state accumulates. The command line still decides
// (-rapid.checks, -rapid.steps, and -rapid.seed to repeat a run).
func init() {
	_ = flag.Set("rapid.checks", "8")
	_ = flag.Set("rapid.steps", "80")
}

// RunDifferential applies the same random operations to a store and to the in-memory oracle and requires that no answer
// tells them apart.
func RunDifferential(t *testing.T, setup func(t *testing.T) Harness) {
	rapid.Check(t, func(rt *rapid.T) {
		h := setup(t)
		m := newModel(t, rt, h, h.Open(t))
		defer func() { require.NoError(rt, m.store.Close()) }()
		rt.Repeat(m.actions(h))
		m.compareFacts(rt)
		clear(m.answers)
		m.compareMail(rt)
		for _, key := range modelKeys {
			m.compareExecution(rt, modelExecution(key).ID)
		}
	})
}

// newModel holds an empty store against an oracle.
func newModel(t *testing.T, rt *rapid.T, h Harness, store journal.Store) *model {
	m := &model{
		ctx:       t.Context(),
		store:     store,
		oracle:    memory.New(),
		positions: map[uint64]uint64{},
		started:   map[journal.RunID]bool{},
		facts:     factsOf(store),
		answers:   map[question]any{},
		mail:      map[journal.ID][]waiting{},
	}
	m.claim(rt)
	if h.Guest {
		m.deployGuest(rt)
	}
	return m
}

// actions are the operations that are drawn.
func (m *model) actions(h Harness) map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"commit":  m.commit,
		"commit2": m.commit, // commits matter most
		"claim":   m.claim,
		"ping":    m.ping,
		"sweep":   m.sweep,
		"deploy":  m.deploy,
		"due":     m.due,
		"list":    m.list,

		"mail":          m.commitMail,
		"mail2":         m.commitMail,
		"sweepReceipts": m.sweepReceipts,
		"receivers":     m.receivers,
		"receiver":      m.readReceiver,
		"entities":      m.listEntities,
		"parked":        m.listParked,

		"locks":      m.listLocks,
		"sweepLocks": m.sweepLocks,
		"where":      m.listWhere,
		"outlines":   m.outlines,
		"startOver":  m.startOver,
		"delete":     m.deleteRun,
		"purge":      m.purge,

		"children": m.children,

		"save":      m.saveSchedule,
		"fire":      m.fireSchedules,
		"schedules": m.listSchedules,
		"forget":    m.deleteSchedule,
	}
	if h.Guest {
		actions["guest"] = m.guest
	}
	return actions
}

// model drives both stores.
type model struct {
	ctx           context.Context
	store, oracle journal.Store
	fences        []journal.Fence // of store
	oracleFences  []journal.Fence
	balances      map[int64]int64 // the rows of the guests' table

	positions map[uint64]uint64        // of messages: the store's → the oracle's
	compares  int                      // how often mail was compared
	mail      map[journal.ID][]waiting // inboxes, as they were compared last
	inboxes   map[journal.ID][]waiting // the same, with those of earlier runs that were compared since
	parked    map[journal.ID][]uint64  // positions in the store of parked messages, as they were compared last
	sent      int                      // messages that have an origin of their own
	continued byte                     // how often runs have continued
	started   map[journal.RunID]bool   // runs that a write has tried to start
	facts     facts                    // about the store
	answers   map[question]any         // of the oracle, as they were compared last
}

func (m *model) fencesOf(s journal.Store) []journal.Fence {
	if s == m.oracle {
		return m.oracleFences
	}
	return m.fences
}

// forOracle names the fences of the oracle instead of the store's: tokens are drawn by each.
func (m *model) forOracle(writes []journal.Write) []journal.Write {
	writes = slices.Clone(writes)
	for i := range writes {
		// A fence that is wrong is wrong by as much for the oracle.
		fence, store, oracle := &writes[i].Fence, m.fences[writes[i].ID.Shard()], m.oracleFences[writes[i].ID.Shard()]
		fence.Epoch += oracle.Epoch - store.Epoch
		for n := range fence.Token {
			fence.Token[n] ^= oracle.Token[n] ^ store.Token[n]
		}
		writes[i].Take, writes[i].Hold = m.ofOracle(writes[i].Take), m.ofOracle(writes[i].Hold)
		writes[i].Unpark = m.ofOracle(writes[i].Unpark)
		writes[i].Park = slices.Clone(writes[i].Park)
		for n := range writes[i].Park {
			writes[i].Park[n].Position = m.ofOracle([]uint64{writes[i].Park[n].Position})[0]
		}
	}
	return writes
}

var modelKeys = []string{"a", "b", "c", "d", "e", "f", "ключ"}

func modelExecution(key string) journal.Execution {
	e := newExecution(key)
	i := slices.Index(modelKeys, key)
	if i%2 == 1 {
		e.Workflow = "billing/Charge"
	}
	if i >= 3 {
		// The step is the child's own, so that Callee has one answer.
		e.Parent = callerOf(newExecution(modelKeys[i-3]).ID, uint32(i))
	}
	return e
}

func drawKey(rt *rapid.T) string { return rapid.SampledFrom(modelKeys).Draw(rt, "key") }

func drawBytes(rt *rapid.T) []byte {
	switch rapid.IntRange(0, 4).Draw(rt, "value") {
	case 0:
		return nil
	case 1:
		return []byte{}
	default:
		return rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(rt, "bytes")
	}
}

func drawError(rt *rapid.T) *abi.Error {
	if !rapid.Bool().Draw(rt, "failed") {
		return nil
	}
	return abi.Errorf(abi.CodeActivityFailed, "%s", rapid.StringN(0, 10, 30).Draw(rt, "message"))
}

var modelStates = []journal.State{
	journal.Running, journal.Running, journal.Paused, journal.Completed, journal.Failed, journal.Interrupted,
}

func (m *model) drawWrite(rt *rapid.T) journal.Write {
	e := modelExecution(drawKey(rt))
	w := journal.Write{ID: e.ID, Run: m.runOf(e.ID), Fence: m.fences[e.ID.Shard()]}
	e.Run, e.Chain = w.Run, w.Run
	switch rapid.IntRange(0, 9).Draw(rt, "stale") {
	case 0:
		w.Fence.Epoch--
	case 1:
		w.Fence.Token[3] ^= 1
	}
	if rapid.IntRange(0, 9).Draw(rt, "another run") == 0 {
		w.Run[0] ^= 1
		for m.started[w.Run] { // no id of a run is used twice
			w.Run[12]++
		}
		e.Run, e.Chain = w.Run, w.Run
	}
	w.Chain = m.chainOf(w.ID, w.Run)
	if rapid.IntRange(0, 15).Draw(rt, "chain") == 15 {
		w.Chain = journal.RunID{99} // of no run
	}
	parts := rapid.IntRange(0, 511).Draw(rt, "parts")
	if parts&384 == 384 {
		m.drawContinue(rt, &w)
		return w
	}
	if parts&1 != 0 {
		e.Input, e.CreatedAt = drawBytes(rt), rapid.Int64Range(1, 5).Draw(rt, "created")
		e.WakeAt = rapid.Int64Range(0, 4).Draw(rt, "wake")
		w.Start, w.Chain = &e, e.Chain
	}
	if parts&2 != 0 {
		for _, seq := range rapid.SliceOfN(rapid.Uint64Range(1, 30), 1, 3).Draw(rt, "seqs") {
			entry := newEntry(seq)
			entry.Value, entry.Error = drawBytes(rt), drawError(rt)
			w.Entries = append(w.Entries, entry)
		}
	}
	if parts&4 != 0 {
		w.Update = &journal.Update{
			State: rapid.SampledFrom(modelStates).Draw(rt, "state"), Value: drawBytes(rt), Error: drawError(rt),
		}
		w.Update.WakeAt = rapid.Int64Range(0, 4).Draw(rt, "wake")
		w.Update.Arrivals = m.drawArrivals(rt, &w)
		w.Update.Waiting = journal.Waiting{Seq: rapid.Uint64Range(0, 30).Draw(rt, "waiting")}
		w.Update.MovedAt = rapid.Uint64Range(0, 3).Draw(rt, "moved")
		w.Update.Section = drawSection(rt)
		w.Update.Digest = rapid.SampledFrom([]string{"", "sha256:02"}).Draw(rt, "digest")
		if w.Update.State.Final() {
			w.Update.FinishedAt = rapid.Int64Range(1, 5).Draw(rt, "finished")
		}
	}
	if parts&8 != 0 {
		name := rapid.SampledFrom([]string{"x", "y", "ž"}).Draw(rt, "deferred")
		w.Receive = (&journal.Deferred{
			Name: name, Value: drawBytes(rt), Error: drawError(rt), At: 3, Origin: journal.Origin{9},
		}).Message()
	}
	if parts&16 != 0 && w.Update != nil {
		w.Update.Interrupt = &journal.Interrupt{At: rapid.Int64Range(1, 9).Draw(rt, "interrupt"), Reason: "r"}
	}
	if parts&32 != 0 {
		callee := modelExecution(drawKey(rt))
		w.Link = &journal.Link{
			Step: stepOf(rapid.Uint32Range(1, 2).Draw(rt, "step")), Callee: callee.ID, Chain: callee.Run,
		}
	}
	if parts&64 != 0 {
		w.Hibernate = &journal.Hibernated{Seq: rapid.Uint64Range(0, 30).Draw(rt, "hibernated"), Body: drawBytes(rt)}
	}
	if parts&128 != 0 {
		w.Publish = drawPublished(rt)
	}
	return w
}

// drawArrivals draws the arrivals known to the owner of a run: at most all by now.
func (m *model) drawArrivals(rt *rapid.T, w *journal.Write) uint64 {
	row, err := m.oracle.Load(m.ctx, w.ID)
	if err != nil || row.Run != w.Run {
		return 0
	}
	return row.Arrivals - min(row.Arrivals, rapid.SampledFrom([]uint64{0, 0, 1, 2}).Draw(rt, "not known"))
}

func (m *model) commit(rt *rapid.T) {
	writes := make([]journal.Write, rapid.IntRange(1, 5).Draw(rt, "writes"))
	for i := range writes {
		writes[i] = m.drawWrite(rt)
	}
	m.commitWrites(rt, writes)
}

func (m *model) commitWrites(rt *rapid.T, writes []journal.Write) {
	got, err := m.store.Commit(m.ctx, writes)
	require.NoError(rt, err)
	want, err := m.oracle.Commit(m.ctx, m.forOracle(writes))
	require.NoError(rt, err)
	for i := range writes {
		if writes[i].Start != nil {
			m.started[writes[i].Run] = true
		}
		require.Equal(rt, want[i].Existed, got[i].Existed, "write %d", i)
		require.Equal(rt, sortOf(want[i].Err), sortOf(got[i].Err), "write %d: %v", i, got[i].Err)
	}
	compared := map[journal.ID]bool{}
	for i := range writes {
		if id := writes[i].ID; !compared[id] {
			compared[id] = true
			m.compareExecution(rt, id)
		}
	}
	m.compareMail(rt)
	for i := range writes {
		position, known := m.positions[got[i].Position]
		if r := writes[i].Receive; !known && r != nil && r.Kind == journal.SettleMessage {
			continue // of a run that a write behind it has replaced
		}
		require.Equal(rt, want[i].Position, position, "write %d", i)
	}
}

// sortOf maps an error to its meaning in the contract.
func sortOf(err error) string {
	for _, known := range []error{
		journal.ErrNotFound, journal.ErrSwept, journal.ErrInboxFull, journal.ErrFenced, journal.ErrConflict,
		journal.ErrUndecided, journal.ErrStale, journal.ErrTooMany,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err != nil {
		return "another error " + string(abi.CodeOf(err))
	}
	return ""
}

func same[T any](rt *rapid.T, what string, read func(journal.Store) (T, error), store, oracle journal.Store) {
	got, gotErr := read(store)
	want, wantErr := read(oracle)
	if sortOf(wantErr) == sortOf(gotErr) && reflect.DeepEqual(want, got) {
		return // as require would find out, at a much higher price
	}
	require.Equal(rt, sortOf(wantErr), sortOf(gotErr), "%s: %v", what, gotErr)
	require.Equal(rt, want, got, what)
}

// question is something about the messages of a receiver that a store can be asked: for the message of an origin, for
// its inbox, or for all that it has.
type question struct {
	to     journal.Receiver
	origin journal.Origin
	all    bool
}

// isNews tells whether the oracle answers a question otherwise than when the store was asked it last.
func (m *model) isNews(q question, answer any) bool {
	if before, asked := m.answers[q]; asked && reflect.DeepEqual(before, answer) {
		return false
	}
	m.answers[q] = answer
	return true
}

func (m *model) compareExecution(rt *rapid.T, id journal.ID) {
	same(rt, "load", func(s journal.Store) (*journal.Execution, error) { return s.Load(m.ctx, id) }, m.store, m.oracle)
	if row, err := m.oracle.Load(m.ctx, id); err == nil { // rows of others may not be purged yet
		m.compareRun(rt, row)
	}
}

// compareRun compares the parts of a run.
func (m *model) compareRun(rt *rapid.T, row *journal.Execution) {
	same(
		rt, "run", func(s journal.Store) (*journal.Execution, error) { return s.FindRun(m.ctx, row.ID, row.Run) },
		m.store, m.oracle,
	)
	same(
		rt, "brief row",
		func(s journal.Store) (*journal.Execution, error) { return s.BriefRun(m.ctx, row.ID, row.Run) }, m.store,
		m.oracle,
	)
	same(
		rt, "brief current row", func(s journal.Store) (*journal.Execution, error) { return s.Brief(m.ctx, row.ID) },
		m.store, m.oracle,
	)
	same(
		rt, "the zero run",
		func(s journal.Store) (*journal.Execution, error) { return s.BriefRun(m.ctx, row.ID, journal.RunID{}) },
		m.store, m.oracle,
	)
	same(rt, "entries", func(s journal.Store) ([]byte, error) {
		entries, _, err := s.Entries(m.ctx, row.RunKey(), 0, journal.PageLimit{Entries: 1000})
		return abi.MustMarshal(entries), err
	}, m.store, m.oracle)
	same(
		rt, "hibernated",
		func(s journal.Store) (*journal.Hibernated, error) { return s.Hibernated(m.ctx, row.RunKey()) }, m.store,
		m.oracle,
	)
	same(
		rt, "published",
		func(s journal.Store) (*journal.Published, error) { return s.Published(m.ctx, row.ChainKey()) }, m.store,
		m.oracle,
	)
	same(rt, "deferreds", func(s journal.Store) ([]journal.Deferred, error) {
		return readDeferreds(m.ctx, s, row.Settlements())
	}, m.store, m.oracle)
}

func (m *model) claim(rt *rapid.T) {
	got, err := m.store.ClaimShards(m.ctx, "owner")
	require.NoError(rt, err)
	want, err := m.oracle.ClaimShards(m.ctx, "owner")
	require.NoError(rt, err)
	for shard := range want {
		require.Equal(rt, want[shard].Epoch, got[shard].Epoch)
	}
	m.fences, m.oracleFences = got, want
}

// drawSweepLimit draws nothing or all: in which order rows are swept is the store's affair.
func drawSweepLimit(rt *rapid.T) int {
	return rapid.SampledFrom([]int{0, 1000, 1000}).Draw(rt, "limit")
}

func (m *model) sweep(rt *rapid.T) {
	before, limit := rapid.Int64Range(0, 6).Draw(rt, "before"), drawSweepLimit(rt)
	same(
		rt, "sweep", func(s journal.Store) (int, error) { return s.Sweep(m.ctx, m.fencesOf(s), before, limit) },
		m.store, m.oracle,
	)
	for _, key := range modelKeys {
		m.compareExecution(rt, modelExecution(key).ID)
	}
	m.compareMail(rt)
}

func (m *model) deploy(rt *rapid.T) {
	digest := rapid.SampledFrom([]string{"sha256:1", "sha256:2"}).Draw(rt, "digest")
	name := rapid.SampledFrom([]string{"bank", "shop"}).Draw(rt, "deployment")
	d := newDeployment("default", name, digest)
	d.UpdatedAt = rapid.Int64Range(1, 9).Draw(rt, "updated")
	var steps []abi.Migration
	for version := range rapid.Int64Range(0, 3).Draw(rt, "migrations") {
		steps = append(steps, abi.Migration{
			Version: version + 1, SQL: fmt.Sprintf("CREATE TABLE %s_%d (id BIGINT)", name, version),
		})
	}
	if len(steps) > 0 && rapid.IntRange(0, 5).Draw(rt, "changed") == 0 {
		steps[0].SQL = fmt.Sprintf("CREATE TABLE %s_0 (id BIGINT, more TEXT)", name)
	}
	module := newModule(digest)
	module.CreatedAt = d.UpdatedAt
	same(rt, "deploy", func(s journal.Store) (journal.Deployment, error) {
		return s.Deploy(m.ctx, m.fencesOf(s)[d.Shard()], module, d, steps)
	}, m.store, m.oracle)
	same(
		rt, "deployments",
		func(s journal.Store) ([]journal.Deployment, error) { return s.Deployments(m.ctx, "default") }, m.store,
		m.oracle,
	)
	same(
		rt, "deployment",
		func(s journal.Store) (*journal.Deployment, error) { return s.Deployment(m.ctx, "default", name) }, m.store,
		m.oracle,
	)
	same(
		rt, "module", func(s journal.Store) (*journal.Module, error) { return s.Module(m.ctx, digest) }, m.store,
		m.oracle,
	)
	m.compareDigests(rt)
}

func (m *model) due(rt *rapid.T) {
	until, limit := rapid.Int64Range(0, 5).Draw(rt, "until"), rapid.IntRange(1, 4).Draw(rt, "limit")
	after := journal.Wake{}
	if rapid.Bool().Draw(rt, "paged") {
		after = journal.Wake{ID: modelExecution(drawKey(rt)).ID, At: rapid.Int64Range(0, 4).Draw(rt, "at")}
	}
	same(
		rt, "due", func(s journal.Store) ([]journal.Wake, error) { return s.Due(m.ctx, until, after, limit) }, m.store,
		m.oracle,
	)
	step := callerOf(modelExecution(drawKey(rt)).ID, rapid.Uint32Range(1, 7).Draw(rt, "step"))
	// links of others may not be purged yet
	if caller, err := m.oracle.FindRun(m.ctx, step.ID, step.Run); err == nil && caller.Run == step.Run {
		same(
			rt, "callee", func(s journal.Store) (*journal.Execution, error) { return s.Callee(m.ctx, step) }, m.store,
			m.oracle,
		)
	}
}

func (m *model) list(rt *rapid.T) {
	f := journal.Filter{
		Namespace: rapid.SampledFrom([]string{"", "default", "other"}).Draw(rt, "namespace"),
		Workflow:  rapid.SampledFrom([]string{"", "orders/", "orders/Process", "billing/"}).Draw(rt, "workflow"),
		State:     rapid.SampledFrom(append([]journal.State{""}, modelStates...)).Draw(rt, "state"),
		Limit:     rapid.IntRange(1, 3).Draw(rt, "limit"),
	}
	m.comparePages(rt, f)
}

func (m *model) comparePages(rt *rapid.T, f journal.Filter) {
	for range len(modelKeys) + 1 {
		var next string
		same(rt, "list", func(s journal.Store) (journal.Page, error) {
			page, err := s.List(m.ctx, f)
			next = page.Next
			return page, err
		}, m.store, m.oracle)
		if f.After = next; next == "" {
			return
		}
	}
	require.Fail(rt, "the pages do not end")
}
