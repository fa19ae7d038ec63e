package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Harness is one set of data, empty at first, and the way to open it.
type Harness struct {
	// Durable says that data outlives the handle: Open finds it again.
	Durable bool
	// Guest says that the store runs SQL of modules.
	Guest bool
	// Open opens a handle on the data. The suite closes the handles it opens.
	Open func(t testing.TB) journal.Store
	// SaveShards notes the owners of shards, behind the back of the store; restore puts them back,
	// as a replica does that had not seen later changes.
	SaveShards func(t testing.TB) (restore func(t testing.TB))
	// Shared says that a second handle may be open beside the first.
	Shared bool
}

// Run tests a store against the contract. Setup is called for every test and makes data of its own; tests run in
// parallel. Setup is called once more, unopened, to learn which tests the store is to pass.
func Run(t *testing.T, setup func(t *testing.T) Harness) {
	features := setup(t)
	sections := []struct {
		name  string
		tests []test
	}{
		{"Commit", commitTests},
		{"Fence", fenceTests},
		{"Read", readTests},
		{"Deploy", deployTests},
		{"Sweep", sweepTests},
		{"Hibernate", hibernateTests},
		{"Inbox", inboxTests},
		{"Parked", parkedTests},
		{"Entity", entityTests},
		{"Receipts", receiptTests},
		{"Schedule", scheduleTests},
		{"Lock", lockTests},
		{"Published", publishedTests},
		{"Continue", continueTests},
		{"Earlier", earlierTests},
		{"Stops", stopTests},
		{"Concurrency", concurrencyTests},
		{"MailConcurrency", mailConcurrencyTests},
		{"Durability", durabilityTests},
		{"Guest", guestTests},
		{"Namespaces", namespaceTests},
		{"Hostile", hostileTests},
	}
	for _, section := range sections {
		t.Run(section.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range section.tests {
				if test.needs != nil && !test.needs(features) {
					continue
				}
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(t, newBundle(t, setup(t)))
				})
			}
		})
	}
}

type test struct {
	name string
	// needs tells which harnesses the test is for; nil means all.
	needs func(Harness) bool
	run   func(t *testing.T, b *bundle)
}

func needsGuest(h Harness) bool   { return h.Guest }
func needsDurable(h Harness) bool { return h.Durable }
func needsShared(h Harness) bool  { return h.Shared }

// bundle is the fixture of a test: a store whose shards are claimed.
type bundle struct {
	ctx     context.Context
	harness Harness
	store   journal.Store
	fences  []journal.Fence
}

func newBundle(t *testing.T, h Harness) *bundle {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	b := &bundle{ctx: ctx, harness: h}
	b.open(t)
	b.claim(t, "first")
	return b
}

func (b *bundle) open(t testing.TB) {
	store := b.harness.Open(t)
	t.Cleanup(func() { _ = store.Close() })
	b.store = store
}

func (b *bundle) claim(t testing.TB, owner string) {
	fences, err := b.store.ClaimShards(b.ctx, owner)
	require.NoError(t, err)
	require.Len(t, fences, journal.NumShards)
	b.fences = fences
}

// purge deletes all rows of runs that are gone, and returns how many there were.
func (b *bundle) purge(t testing.TB) (n int) {
	t.Helper()
	for {
		purged, err := b.store.Purge(b.ctx, b.fences, 1000)
		require.NoError(t, err)
		if n += purged; purged < 1000 {
			return n
		}
	}
}

// write begins a Write of the execution under the fence that was claimed.
func (b *bundle) write(id journal.ID) journal.Write {
	return journal.Write{ID: id, Run: journal.RunID(id), Fence: b.fences[id.Shard()]}
}

// deploy deploys under the fence that was claimed.
func (b *bundle) deploy(
	m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	return b.store.Deploy(b.ctx, b.fences[d.Shard()], m, d, migrations)
}

// commit commits one write and requires that it took effect.
func (b *bundle) commit(t testing.TB, w journal.Write) {
	t.Helper()
	result := b.result(t, w)
	require.NoError(t, result.Err)
	require.False(t, result.Existed)
}

func (b *bundle) result(t testing.TB, w journal.Write) journal.Result {
	t.Helper()
	results, err := b.store.Commit(b.ctx, []journal.Write{w})
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0]
}

// start commits the start of an execution.
func (b *bundle) start(t testing.TB, e journal.Execution) journal.ID {
	t.Helper()
	w := b.write(e.ID)
	w.Start = &e
	b.commit(t, w)
	return e.ID
}

// finish commits the end of an execution.
func (b *bundle) finish(t testing.TB, id journal.ID, at int64) {
	t.Helper()
	w := b.write(id)
	w.Update = &journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: abi.Nil, FinishedAt: at}
	b.commit(t, w)
}

func (b *bundle) load(t testing.TB, id journal.ID) *journal.Execution {
	t.Helper()
	e, err := b.store.Load(b.ctx, id)
	require.NoError(t, err)
	return e
}

func (b *bundle) entries(t testing.TB, id journal.ID) []journal.Entry {
	t.Helper()
	return b.entriesOf(t, b.runKey(id))
}

func (b *bundle) entriesOf(t testing.TB, run journal.RunKey) []journal.Entry {
	t.Helper()
	entries, _, err := b.store.Entries(b.ctx, run, 0, journal.PageLimit{Entries: 1000})
	require.NoError(t, err)
	return entries
}

// current returns the current run of an execution, or the run that newExecution gives it.
func current(ctx context.Context, store journal.Store, id journal.ID) *journal.Execution {
	if e, err := store.Load(ctx, id); err == nil {
		return e
	}
	return &journal.Execution{ID: id, Run: journal.RunID(id), Chain: journal.RunID(id)}
}

func (b *bundle) runKey(id journal.ID) journal.RunKey { return current(b.ctx, b.store, id).RunKey() }

func (b *bundle) chainKey(id journal.ID) journal.RunKey {
	return current(b.ctx, b.store, id).ChainKey()
}

func (b *bundle) receiver(id journal.ID) journal.Receiver {
	return receiverOf(b.ctx, b.store, id)
}

// receiverOf is the inbox of an execution, or of an entity if there is no execution of that id.
func receiverOf(ctx context.Context, store journal.Store, id journal.ID) journal.Receiver {
	if e, err := store.Load(ctx, id); err == nil {
		return e.Receiver()
	}
	return journal.Receiver{ID: id}
}

// requireEffect checks that a write took effect. Where a message of it stands is not looked at.
func requireEffect(t testing.TB, result journal.Result, what ...any) {
	t.Helper()
	require.NoError(t, result.Err, what...)
	require.False(t, result.Existed, what...)
}

// deferreds reads all settled deferreds, and compares them with their list.
func (b *bundle) deferreds(t testing.TB, id journal.ID) []journal.Deferred {
	t.Helper()
	return b.deferredsOf(t, current(b.ctx, b.store, id).Settlements())
}

func (b *bundle) deferredsOf(t testing.TB, of journal.Receiver) []journal.Deferred {
	t.Helper()
	all, err := readDeferreds(b.ctx, b.store, of)
	require.NoError(t, err)
	return all
}

// readDeferreds reads all settled deferreds, in the order of their list.
func readDeferreds(ctx context.Context, store journal.Store, of journal.Receiver) (all []journal.Deferred, err error) {
	settled, err := journal.ListSettlements(ctx, store, of)
	if err != nil {
		return nil, err
	}
	for _, s := range settled {
		d, err := journal.FindDeferred(ctx, store, of, s.Name)
		if err != nil {
			return nil, err
		}
		m := d.Message()
		m.Position = s.Position
		if got := m.Settlement(); got != s {
			return nil, fmt.Errorf("the list says %+v, and it is %+v", s, got)
		}
		all = append(all, *d)
	}
	return all, nil
}

// callerOf is a step of the run that newExecution gives an execution.
func callerOf(id journal.ID, step uint32) journal.Caller {
	return journal.Caller{ID: id, Run: journal.RunID(id), Step: stepOf(step)}
}

func stepOf(n uint32) (step journal.StepID) {
	binary.BigEndian.PutUint32(step[:], n)
	return step
}

// newExecution is a running execution of the namespace "default".
func newExecution(key string) journal.Execution {
	id := journal.IDOf("default", "orders/Process", key)
	return journal.Execution{
		ID:        id,
		Run:       journal.RunID(id),
		Chain:     journal.RunID(id),
		Namespace: "default",
		Workflow:  "orders/Process",
		Key:       key,
		Digest:    "sha256:01",
		Input:     abi.MustMarshal(map[string]string{"key": key}),
		State:     journal.Running,
		WakeAt:    journal.Now,
		CreatedAt: 1000,
	}
}

// newEntry is a delivery.
func newEntry(seq uint64) journal.Entry {
	return journal.Entry{
		At:    int64(seq) * 10,
		Kind:  journal.Delivery,
		Op:    journal.Op{Hash: []byte("0123456789abcdef"), Kind: "activity", Name: "charge", Number: uint32(seq)},
		Seq:   seq,
		Turn:  seq,
		Value: abi.MustMarshal(fmt.Sprintf("value %d", seq)),
	}
}

func newModule(digest string) journal.Module {
	return journal.Module{Digest: digest, Binary: []byte("\x00asm" + digest), Manifest: []byte{0x80}, CreatedAt: 5}
}

func newDeployment(namespace, name, digest string) journal.Deployment {
	return journal.Deployment{
		Namespace: namespace, Name: name, Digest: digest,
		Config: map[string]string{"region": "eu"}, AllowHTTP: []string{"api.example.com"}, UpdatedAt: 7,
	}
}
