package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres/guestsql"
)

// maxGuestMessage bounds one message of the server: a wider row ends the connection before it fills the host's memory.
const maxGuestMessage = 2 * abi.MaxBody

// guestTx is a journal.GuestTx: the transaction of an activity.
//
// # Confinement
//
// It runs on a connection whose user may do much, under a role that may do nothing but use its own schema. SET LOCAL
// ROLE alone is not enough: RESET ROLE, or any function that runs a text as SQL, goes back. So there are three layers.
// guestsql refuses every statement that is not one plain query or change of data, and the functions that could change
// the role. Each statement is sent in one round trip with a SET LOCAL ROLE before it and a check of current_user behind
// it: if it left its role nevertheless, the whole transaction is undone, and its rows are never handed over. And the
// role has no right to anything else, so that a statement that stays in its role finds nothing.
//
// # Why REPEATABLE READ
//
// Activities read, compute in the guest, and write back. Under READ COMMITTED two of them could read the same balance
// and the second would overwrite the first. Here the second fails, the host repeats the activity, and neither is lost;
// SQLite, which runs one at a time, gives the same results. SERIALIZABLE would also refuse write skew, but its
// conflicts are found by index page: the journal rows that all guest transactions write lie close together, and they
// would collide with each other for no reason.
//
// # Statements
//
// Each statement has a savepoint, so that a failed one (a duplicate key) can be caught by the
// activity, as on SQLite, instead of ending the transaction.
//
// The transaction begins with the first statement, in the same round trip: a transaction of a
// single statement with known parameters costs two round trips.
type guestTx struct {
	store     *Store
	namespace string
	role      string
	deadline  time.Time
	timer     clockwork.Timer

	mu    sync.Mutex
	conn  *pgxpool.Conn // nil once it has ended; guarded by mu, like all below
	begun bool
	saved bool  // there is a savepoint before the last statement
	over  error // the answer to every call once it has ended
}

var _ journal.GuestTx = (*guestTx)(nil)

var (
	errGuestOver = errors.New("postgres: the guest's transaction is over")
	errClosed    = errors.New("postgres: the store is closed")
)

// BeginGuest implements journal.Store.
func (s *Store) BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error) {
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, err
	}
	if err := s.ensureNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	conn, err := s.acquire(ctx, s.guests)
	if err != nil {
		return nil, fmt.Errorf("postgres: wait for a connection for a guest: %w", err)
	}
	t := &guestTx{
		store:     s,
		namespace: namespace,
		role:      guestName(s.config.Schema, namespace),
		deadline:  s.config.Clock.Now().Add(s.config.GuestTxLimit),
		conn:      conn,
	}
	t.mu.Lock() // the timer may be short
	defer t.mu.Unlock()
	if !s.open.add(t) {
		s.give(conn)
		return nil, errClosed
	}
	t.timer = s.config.Clock.AfterFunc(s.config.GuestTxLimit, t.expire)
	return t, nil
}

// expire rolls back a transaction that was open for too long. A call under way holds the lock; it fails by itself, at
// the same deadline.
func (t *guestTx) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.endLocked(context.Background(), t.tooLong())
	}
}

// abandon ends a transaction because the store is closed.
func (t *guestTx) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.endLocked(context.Background(), errClosed)
	}
}

func (t *guestTx) tooLong() error {
	return abi.Errorf(
		abi.CodeTxTooLong, "the transaction was open for more than %s and was rolled back", t.store.config.GuestTxLimit,
	)
}

// endLocked rolls back, gives the connection away and says why to all later calls.
func (t *guestTx) endLocked(ctx context.Context, why error) {
	t.timer.Stop()
	t.store.rollback(ctx, t.conn.Conn())
	t.store.give(t.conn)
	t.conn, t.over = nil, why
	t.store.open.remove(t)
}

// Rollback implements journal.GuestTx.
func (t *guestTx) Rollback(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.endLocked(ctx, errGuestOver)
	}
	return nil
}

// Exec implements journal.GuestTx.
func (t *guestTx) Exec(ctx context.Context, query string, args []any) (int64, error) {
	r := &result{discard: true}
	if err := t.run(ctx, query, args, r); err != nil {
		return 0, err
	}
	return r.affected, nil
}

// Query implements journal.GuestTx.
func (t *guestTx) Query(ctx context.Context, query string, args []any) ([]string, [][]any, error) {
	r := &result{}
	if err := t.run(ctx, query, args, r); err != nil {
		return nil, nil, err
	}
	return r.columns, r.rows, nil
}

func (t *guestTx) run(ctx context.Context, query string, args []any, r *result) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return t.over
	}
	if err := guestsql.CheckStatement(query); err != nil {
		return err
	}
	// The server ends a statement that takes too long, and says so: a server that is silent for
	// another call limit is gone.
	limited, cancel := clockwork.WithDeadline(ctx, t.store.config.Clock, t.deadline.Add(t.store.config.CallLimit))
	defer cancel()
	overdue := t.watchLocked(ctx)
	sent, err := t.statementLocked(limited, query, args, r)
	late := overdue()
	if err == nil || t.conn == nil {
		return err
	}
	if sqlState(err) != "" {
		t.store.params.drop(t.namespace, query) // it may have caused the error
	}
	fatal, answer := statementFailure(err, failedStatement{
		callerErr: ctx.Err(),
		resultErr: r.err,
		tooLong:   t.tooLong(),
		overdue:   late && limited.Err() != nil,
	})
	if !fatal && sent {
		fatal = t.undoLocked(limited) != nil
	}
	if fatal {
		t.endLocked(ctx, answer)
	}
	if abi.CodeOf(answer) == abi.CodeStore {
		t.store.guests.Reset() // see use
	}
	return answer
}

// statementLocked sends a query with all that belongs to it and reads its rows. It tells whether anything was sent,
// which is to be undone if there is an error.
func (t *guestTx) statementLocked(ctx context.Context, query string, args []any, r *result) (sent bool, err error) {
	conn := t.conn.Conn().PgConn()
	types, known := t.store.params.get(t.namespace, query)
	b := &pgconn.Batch{}
	ahead := 0
	if !known {
		// Ask the server for the parameters.
		t.queueOpeningLocked(b)
		if _, err := conn.ExecBatch(ctx, b).ReadAll(); err != nil {
			return true, err
		}
		description, err := conn.Prepare(ctx, "", query, nil)
		if err != nil {
			return true, err
		}
		types = description.ParamOIDs
		t.store.params.put(t.namespace, query, types)
		b = &pgconn.Batch{}
	}
	values, formats, err := encodeArgs(types, args)
	if err != nil {
		return !known, err
	}
	if known {
		ahead = t.queueOpeningLocked(b)
	}
	b.ExecParams(query, values, types, formats, nil)
	queueRaw(b, whoAmI)
	user, err := readBatch(ctx, conn, b, ahead, r)
	if err != nil {
		return true, err
	}
	if user != t.role {
		t.endLocked(ctx, refused(user))
		return true, t.over
	}
	return true, r.err
}

// readBatch sends a batch and reads the answer to the statement behind the opening, and the role
// that it ran under in the end.
func readBatch(
	ctx context.Context, conn *pgconn.PgConn, b *pgconn.Batch, ahead int, r *result,
) (user string, err error) {
	results := conn.ExecBatch(ctx, b)
	for i := 0; results.NextResult(); i++ {
		switch i - ahead {
		case 0:
			r.read(results.ResultReader(), func() { _ = conn.CancelRequest(ctx) })
		case 1:
			if row := results.ResultReader().Read(); len(row.Rows) == 1 {
				user = string(row.Rows[0][0])
			}
		default:
			_, _ = results.ResultReader().Close() // its error is the one of results
		}
	}
	return user, results.Close()
}

const savepoint = "cruster_statement"

// queueOpeningLocked appends the statements before a statement and returns their number.
func (t *guestTx) queueOpeningLocked(b *pgconn.Batch) int {
	n := 2
	left := max(t.deadline.Sub(t.store.config.Clock.Now()).Milliseconds(), 1)
	if t.saved {
		queueRaw(b, `RELEASE SAVEPOINT `+savepoint)
		n++
	}
	if t.begun {
		queueRaw(b, `SET LOCAL statement_timeout = `+strconv.FormatInt(left, 10))
		n++
	} else {
		idle := t.store.config.GuestTxLimit.Milliseconds() + 1000
		text := func(n int64) []byte { return strconv.AppendInt(nil, n, 10) }
		b.ExecPrepared(stmtBeginGuest, nil, nil, nil)
		b.ExecPrepared(stmtConfine, [][]byte{[]byte(searchPath(t.role)), text(left), text(idle)}, nil, nil)
		n += 2
	}
	queueRaw(b, `SAVEPOINT `+savepoint)
	queueRaw(b, setRole(t.role))
	t.begun, t.saved = true, true
	return n
}

// undoLocked takes back a statement that failed, or whose rows are too many.
func (t *guestTx) undoLocked(ctx context.Context) error {
	t.saved = false
	_, err := t.conn.Conn().PgConn().Exec(
		ctx, `ROLLBACK TO SAVEPOINT `+savepoint+`; RELEASE SAVEPOINT `+savepoint,
	).ReadAll()
	return err
}

// Commit implements journal.GuestTx.
//
// The fence is a lock on the shard's row instead of the table (see commit.go): this transaction reads from the snapshot
// of its first statement, in which a stale fence would still look current. Locking a row is different: if it was
// changed since, or is being changed, the server does not hand out the old one but fails the transaction with a
// serialization failure, which is a conflict; the host tries again, and the next snapshot shows the new fence. And
// while the lock is held no claim gets through.
//
// The row of the run is locked for the same reason, FOR KEY SHARE. That passes over changes of
// columns without unique indexes, so that a run may go on while an activity of it is under way. It
// fails if the run has ended since the snapshot, has continued, was superseded or deleted: these
// change run, finished_at or superseded, or the row is gone. So no effect of an activity is
// committed for a run that has ended, and the end of a run waits for the activity that is being
// committed.
func (t *guestTx) Commit(ctx context.Context, w journal.Write) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return t.over
	}
	t.timer.Stop() // from here on the limit of a call ends it, or ctx
	err := inTime(ctx, t.store.config.CallLimit, func(ctx context.Context) error { return t.commitLocked(ctx, &w) })
	if errors.Is(err, journal.ErrUndecided) && ctx.Err() == nil {
		t.store.guests.Reset() // see use
	}
	if err != nil {
		t.endLocked(ctx, err)
		return err
	}
	t.endLocked(ctx, errGuestOver)
	return nil
}

func (t *guestTx) commitLocked(ctx context.Context, w *journal.Write) error {
	if err := check(w); err != nil {
		return err
	}
	b := &pgx.Batch{}
	if t.begun {
		// Constraints that wait for the commit are the guest's affair: let them fail here, where they can be told from
		// a failure of the journal.
		b.Queue(stmtConstraints)
		b.Queue(stmtOwnRole)
	} else {
		b.Queue(stmtBeginGuest)
	}
	b.Queue(stmtFenceRow, int16(w.ID.Shard()), int64(w.Fence.Epoch), w.Fence.Token[:])
	queueWrites(b, []*journal.Write{w}, guest, newAnswers())
	err := t.store.sendWithCommit(ctx, t.conn.Conn(), b)
	t.store.refusals.madeRoom(w)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || errors.Is(err, journal.ErrUndecided) || errors.Is(err, journal.ErrConflict) {
		return err
	}
	switch {
	case pgErr.Code == stateFenced:
		return journal.ErrFenced
	case pgErr.Code == stateMissing:
		return journal.ErrNotFound
	case pgErr.Code == stateFull:
		return journal.ErrInboxFull
	case pgErr.Code == stateMail:
		return fmt.Errorf("postgres: a message to %s is not there: %w", w.ID, err)
	case pgErr.Code == stateTaken, pgErr.Code == stateUniqueViolation && pgErr.SchemaName == t.store.config.Schema:
		return fmt.Errorf("postgres: a row of execution %s is there already: %w", w.ID, err)
	case pgErr.SchemaName == t.role:
		return abi.Errorf(abi.CodeSQL, "%s", messageOf(err))
	}
	return err
}
