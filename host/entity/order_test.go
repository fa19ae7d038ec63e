package entity

import (
	"context"
	"hash/fnv"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// overtaken is an inbox on Postgres whose first message has its position, and is not committed, while the second is.
// The first is a send of a client; the second comes from another entity, in a transaction of its own.
type overtaken struct {
	*fixture
	admin *pgx.Conn
	lock  int64         // advisory; the transaction of the first message waits for it
	sent  chan error    // the outcome of the first message
	pages []chan func() // the nth page that is read of the inbox: a function that hands it over
}

// newOvertaken sends both messages, and holds each page that is read of the inbox.
func newOvertaken(t *testing.T) *overtaken {
	schema := pgtest.Schema(t)
	// Transactions are held for as long as the test takes.
	store, err := postgres.Open(t.Context(), postgres.Config{
		DSN: pgtest.DSN(t), Schema: schema, CallLimit: time.Hour, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	o := &overtaken{fixture: newFixtureOver(t, store), sent: make(chan error, 1)}
	o.holdPages()
	o.admin, err = pgx.Connect(t.Context(), pgtest.DSN(t))
	require.NoError(t, err)
	t.Cleanup(func() { _ = o.admin.Close(context.Background()) })
	hash := fnv.New32()
	_, _ = hash.Write([]byte(schema))
	o.lock = int64(hash.Sum32())
	o.holdCommits(schema)

	go func() { o.sent <- o.x.Sender.Send(t.Context(), add("b", 5)) }()
	require.Eventually(t, func() bool {
		var waits int
		err := o.admin.QueryRow(
			t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted`,
			uint32(o.lock),
		).Scan(&waits)
		return err == nil && waits == 1
	}, testTimeout, testTick)
	_, err = o.x.Caller.Call(
		t.Context(),
		sends("a", sendsInput{Sent: []abi.EntityMessage{{Entity: "Counter/b", Operation: "fail", Input: abi.Nil}}}),
	)
	require.NoError(t, err)
	return o
}

// holdCommits has transactions that send "add" wait behind the insert.
func (o *overtaken) holdCommits(schema string) {
	o.t.Helper()
	for _, stmt := range []string{
		`CREATE FUNCTION ` + schema +
			`.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::int8); RETURN NULL; END $$`,
		`CREATE TRIGGER wait AFTER INSERT ON ` + schema +
			`.inbox FOR EACH ROW WHEN (NEW.name = 'add') EXECUTE FUNCTION ` + schema + `.wait(` +
			strconv.FormatInt(o.lock, 10) + `)`,
		`SELECT pg_advisory_lock(` + strconv.FormatInt(o.lock, 10) + `)`,
	} {
		_, err := o.admin.Exec(o.t.Context(), stmt)
		require.NoError(o.t, err, stmt)
	}
}

// holdPages has each page of the inbox wait until the test hands it over.
func (o *overtaken) holdPages() {
	var reads atomic.Int64
	for range 10 {
		o.pages = append(o.pages, make(chan func(), 1))
	}
	o.store.readInbox = func(id journal.ID) {
		n := reads.Add(1) - 1
		if id != refTo("b").ID() || n >= int64(len(o.pages)) {
			return
		}
		handed := make(chan struct{})
		o.pages[n] <- func() { close(handed) }
		select {
		case <-handed:
		case <-o.life.Context().Done():
		}
	}
}

// acknowledge has the first message committed, and its sender told.
func (o *overtaken) acknowledge() {
	o.t.Helper()
	_, err := o.admin.Exec(o.t.Context(), `SELECT pg_advisory_unlock($1)`, o.lock)
	require.NoError(o.t, err)
	require.NoError(o.t, <-o.sent)
}

// handOver hands pages over from the nth on.
func (o *overtaken) handOver(n int) {
	for _, page := range o.pages[n:] {
		go func() {
			select {
			case hand := <-page:
				hand()
			case <-o.life.Context().Done():
			}
		}()
	}
}

// eventually waits until something is true of the receiver.
func (o *overtaken) eventually(is func(*entity) bool) {
	o.t.Helper()
	require.Eventually(o.t, func() (so bool) {
		o.x.actors.WhileParked(refTo("b").ID(), func(e *entity) (message, bool) {
			so = is(e)
			return nil, false
		})
		return so
	}, testTimeout, testTick)
}

// TestCallComesBehindAMessageThatCommittedLate: a later position that is visible first says
// nothing about an earlier one. The sender of the first message calls when it is acknowledged, and
// the entity has seen the second by then.
func TestCallComesBehindAMessageThatCommittedLate(t *testing.T) {
	t.Parallel()
	o := newOvertaken(t)
	(<-o.pages[0])() // with the second message alone
	require.Eventually(t, func() bool { return o.invoked("fail") }, testTimeout, testTick)
	o.acknowledge()
	o.eventually(func(e *entity) bool { return len(e.batch) == 0 })
	call := o.goCall(t.Context(), add("b", 1))
	require.Eventually(
		t, func() bool { return o.waits("b") == 1 || o.invoked("add") }, testTimeout, testTick, "it came",
	)
	o.handOver(1)
	r := <-call
	require.EqualValues(t, 6, o.value(r.outcome, r.err))
}

// TestCallComesBehindAMessageThatCommittedWhileTheInboxWasRead: the page that has the second
// message was read before the first was visible, and arrives when its sender has called.
func TestCallComesBehindAMessageThatCommittedWhileTheInboxWasRead(t *testing.T) {
	t.Parallel()
	o := newOvertaken(t)
	hand := <-o.pages[0]
	o.acknowledge()
	call := o.goCall(t.Context(), add("b", 1))
	require.Eventually(t, func() bool { return o.waits("b") == 1 }, testTimeout, testTick, "it came")
	hand()
	o.eventually(func(e *entity) bool {
		_, messages := e.mailbox.Size()
		return messages == 1
	})
	o.handOver(1)
	r := <-call
	require.EqualValues(t, 6, o.value(r.outcome, r.err))
}
