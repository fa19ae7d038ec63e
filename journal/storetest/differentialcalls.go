package storetest

import (
	"context"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// RunDifferentialCalls goes through the operations of [RunDifferential] and requires that they call
// every method of a store: no method that is added to the contract is forgotten there. Whether some
// are called depends on the draws, so they are gone through again until all were.
func RunDifferentialCalls(t *testing.T, setup func(t *testing.T) Harness) {
	const rounds = 20
	methods := map[string]bool{}
	rapid.Check(t, func(rt *rapid.T) {
		if len(missing(methods)) == 0 { // the check before has done it all
			return
		}
		h := setup(t)
		m := newModel(t, rt, h, &watched{h.Open(t), methods})
		defer func() { require.NoError(rt, m.store.Close()) }()
		actions := m.actions(h)
		for n := 0; n < rounds && !slices.Equal(missing(methods), []string{"Close"}); n++ {
			for _, name := range slices.Sorted(maps.Keys(actions)) {
				actions[name](rt)
			}
		}
	})
	require.Empty(t, missing(methods), "the differential test never calls these, or they are not noted below")
}

// missing are the methods of a store that were not called.
func missing(called map[string]bool) (names []string) {
	for method := range reflect.TypeFor[journal.Store]().Methods() {
		if !called[method.Name] {
			names = append(names, method.Name)
		}
	}
	return names
}

// watched notes which methods of a store are called.
type watched struct {
	journal.Store
	called map[string]bool
}

// saw notes the method that calls it.
func (w *watched) saw() journal.Store {
	pc, _, _, _ := runtime.Caller(1)
	name := runtime.FuncForPC(pc).Name()
	w.called[name[strings.LastIndexByte(name, '.')+1:]] = true
	return w.Store
}

func (w *watched) BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error) {
	return w.saw().BeginGuest(ctx, namespace)
}

func (w *watched) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return w.saw().Brief(ctx, id)
}

func (w *watched) BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return w.saw().BriefRun(ctx, id, run)
}

func (w *watched) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	return w.saw().Callee(ctx, step)
}

func (w *watched) Children(
	ctx context.Context, run journal.RunID, after journal.ID, limit int,
) ([]journal.Execution, error) {
	return w.saw().Children(ctx, run, after, limit)
}

func (w *watched) ClaimShards(ctx context.Context, owner string) ([]journal.Fence, error) {
	return w.saw().ClaimShards(ctx, owner)
}

func (w *watched) Close() error {
	return w.saw().Close()
}

func (w *watched) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	return w.saw().Commit(ctx, writes)
}

func (w *watched) CommitsAtOnce() int {
	return w.saw().CommitsAtOnce()
}

func (w *watched) Delete(
	ctx context.Context, f journal.Fence, id journal.ID, run journal.RunID, superseded uint64,
) error {
	return w.saw().Delete(ctx, f, id, run, superseded)
}

func (w *watched) DeleteSchedule(ctx context.Context, f journal.Fence, id journal.ID, version int64) error {
	return w.saw().DeleteSchedule(ctx, f, id, version)
}

func (w *watched) Deploy(
	ctx context.Context, f journal.Fence, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	return w.saw().Deploy(ctx, f, m, d, migrations)
}

func (w *watched) Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error) {
	return w.saw().Deployment(ctx, namespace, name)
}

func (w *watched) Deployments(ctx context.Context, namespace string) ([]journal.Deployment, error) {
	return w.saw().Deployments(ctx, namespace)
}

func (w *watched) Dialect() string {
	return w.saw().Dialect()
}

func (w *watched) Digests(ctx context.Context, prefix string, limit int) ([]string, error) {
	return w.saw().Digests(ctx, prefix, limit)
}

func (w *watched) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return w.saw().Due(ctx, until, after, limit)
}

func (w *watched) DueSchedules(
	ctx context.Context, until int64, after journal.Wake, limit int,
) ([]journal.Wake, error) {
	return w.saw().DueSchedules(ctx, until, after, limit)
}

func (w *watched) Earlier(ctx context.Context, id journal.ID, before uint64, limit int) ([]journal.Execution, error) {
	return w.saw().Earlier(ctx, id, before, limit)
}

func (w *watched) Entity(ctx context.Context, id journal.ID) (*journal.Entity, error) {
	return w.saw().Entity(ctx, id)
}

func (w *watched) Entries(
	ctx context.Context, run journal.RunKey, after uint64, limit journal.PageLimit,
) (entries []journal.Entry, more bool, err error) {
	return w.saw().Entries(ctx, run, after, limit)
}

func (w *watched) FindMessage(
	ctx context.Context, to journal.Receiver, origin journal.Origin,
) (*journal.FoundMessage, error) {
	return w.saw().FindMessage(ctx, to, origin)
}

func (w *watched) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return w.saw().FindRun(ctx, id, run)
}

func (w *watched) GuestsAlone() bool {
	return w.saw().GuestsAlone()
}

func (w *watched) Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error) {
	return w.saw().Hibernated(ctx, run)
}

func (w *watched) InSection(ctx context.Context, step journal.Caller) (bool, error) {
	return w.saw().InSection(ctx, step)
}

func (w *watched) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	return w.saw().Inbox(ctx, to, after)
}

func (w *watched) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	return w.saw().List(ctx, f)
}

func (w *watched) ListEntities(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	return w.saw().ListEntities(ctx, f)
}

func (w *watched) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return w.saw().Load(ctx, id)
}

func (w *watched) Lock(ctx context.Context, entity journal.ID) (*journal.Lock, error) {
	return w.saw().Lock(ctx, entity)
}

func (w *watched) LockedEntity(ctx context.Context, id journal.ID) (*journal.Entity, *journal.Lock, error) {
	return w.saw().LockedEntity(ctx, id)
}

func (w *watched) Locks(
	ctx context.Context, f journal.LockFilter,
) (locks []journal.HeldLock, after journal.ID, more bool, err error) {
	return w.saw().Locks(ctx, f)
}

func (w *watched) MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return w.saw().MailReceivers(ctx, after, limit)
}

func (w *watched) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	return w.saw().Message(ctx, to, position)
}

func (w *watched) Messages(
	ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
) (messages []journal.Message, more bool, err error) {
	return w.saw().Messages(ctx, to, after, limit)
}

func (w *watched) Module(ctx context.Context, digest string) (*journal.Module, error) {
	return w.saw().Module(ctx, digest)
}

func (w *watched) Outlines(
	ctx context.Context, chains []journal.RunKey,
) (map[journal.RunKey]*journal.Published, error) {
	return w.saw().Outlines(ctx, chains)
}

func (w *watched) Parked(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	return w.saw().Parked(ctx, f)
}

func (w *watched) Ping(ctx context.Context) error {
	return w.saw().Ping(ctx)
}

func (w *watched) Published(ctx context.Context, chain journal.RunKey) (*journal.Published, error) {
	return w.saw().Published(ctx, chain)
}

func (w *watched) Purge(ctx context.Context, own []journal.Fence, limit int) (int, error) {
	return w.saw().Purge(ctx, own, limit)
}

func (w *watched) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	return w.saw().Receipt(ctx, id, origin)
}

func (w *watched) Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) ([]journal.Receipt, error) {
	return w.saw().Receipts(ctx, id, origins)
}

func (w *watched) Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return w.saw().Receivers(ctx, after, limit)
}

func (w *watched) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	return w.saw().Requested(ctx, id, request)
}

func (w *watched) SaveSchedule(ctx context.Context, f journal.Fence, s journal.Schedule, most int) error {
	return w.saw().SaveSchedule(ctx, f, s, most)
}

func (w *watched) Schedule(ctx context.Context, id journal.ID) (*journal.Schedule, error) {
	return w.saw().Schedule(ctx, id)
}

func (w *watched) Schedules(ctx context.Context, namespace, after string, limit int) ([]journal.Schedule, error) {
	return w.saw().Schedules(ctx, namespace, after, limit)
}

func (w *watched) Sweep(ctx context.Context, own []journal.Fence, finishedBefore int64, limit int) (int, error) {
	return w.saw().Sweep(ctx, own, finishedBefore, limit)
}

func (w *watched) SweepLocks(ctx context.Context, own []journal.Fence, limit int) (int, error) {
	return w.saw().SweepLocks(ctx, own, limit)
}

func (w *watched) SweepReceipts(ctx context.Context, own []journal.Fence, before int64, limit int) (int, error) {
	return w.saw().SweepReceipts(ctx, own, before, limit)
}
