package effects

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// rollbackTimeout bounds undoing a transaction. The time of the code may be over.
const rollbackTimeout = 5 * time.Second

// Store begins transactions for SQL of modules: see [journal.Store].
type Store interface {
	BeginGuest(ctx context.Context, namespace string) (journal.GuestTx, error)
}

// Egress performs HTTP calls.
type Egress interface {
	Do(ctx context.Context, policy *egress.Policy, req abi.HTTPRequest) (*abi.HTTPResponse, *abi.Error)
	DoAll(ctx context.Context, policy *egress.Policy, reqs []abi.HTTPRequest) []abi.HTTPResult
}

// Deps are the dependencies of effects.
type Deps struct {
	Clock  clockwork.Clock
	Egress Egress
	Host   *hoststate.State
	Store  Store
}

// Effects serves the immediate calls of one invocation. It is used by one goroutine.
type Effects struct {
	Deps
	// Deployment returns the deployment of the code, as it is now: settings and grants are not
	// pinned.
	Deployment func(ctx context.Context) (*catalog.Deployment, error)
	// Log is where the host logs the reasons of waits.
	Log       func() *slog.Logger
	Namespace string
	// Called says that the code has made a call over HTTP, now or in an invocation that this one repeats.
	Called bool
	// Infra is a failure that is not the code's: a collision of its transaction, or the store. The invocation is to be
	// repeated.
	Infra error

	tx         journal.GuestTx // nil until the first statement
	statements int             // that the transaction has run
}

// RepeatsPreempted is logged when code runs again because its transaction was open for too long.
const RepeatsPreempted = "a transaction is rolled back and repeated, with more time: keep it short, and call nothing " +
	"slow inside"

// TakeTx hands the transaction to the caller, who ends it; nil if there is none.
func (fx *Effects) TakeTx() journal.GuestTx {
	tx := fx.tx
	fx.tx = nil
	return tx
}

// HasTx tells whether there is a transaction.
func (fx *Effects) HasTx() bool { return fx.tx != nil }

// Call serves one immediate import.
func (fx *Effects) Call(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	if fx.Infra != nil {
		return nil, abi.Errorf(abi.CodeTxConflict, "the transaction is over: %v", fx.Infra)
	}
	reply, err := fx.serve(ctx, name, body)
	if err != nil && abi.IsOfHost(err) && ctx.Err() == nil {
		fx.Infra = err
	}
	return reply, err
}

func (fx *Effects) serve(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	switch name {
	case abi.ImportTxExec, abi.ImportTxQuery:
		return fx.sql(ctx, name, body)
	case abi.ImportTxRollback:
		return fx.giveUp(body)
	case abi.ImportHTTP:
		return fx.http(ctx, body)
	case abi.ImportHTTPAll:
		return fx.httpAll(ctx, body)
	case abi.ImportConfig:
		return fx.config(ctx, body)
	default:
		return nil, abi.Errorf(abi.CodeWrongContext, "%q is not an immediate call", name)
	}
}

func (fx *Effects) sql(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	req, err := abi.DecodeAs[abi.SQL](body)
	if err != nil {
		return nil, err
	}
	args, err := abi.DecodeSQLArgs(req.Args)
	if err != nil {
		return nil, err
	}
	reply, serr := fx.statement(ctx, name, req.Query, args)
	for n := 1; fx.waitsForStore(ctx, serr); n++ {
		fx.Rollback()
		fx.Log().Warn("waiting for the store", "error", serr)
		timer.Wait(ctx, fx.Clock, Delay(n, false))
		reply, serr = fx.statement(ctx, name, req.Query, args)
	}
	if serr != nil {
		return nil, fx.sqlFailed(ctx, serr)
	}
	fx.statements++
	return reply, nil
}

// waitsForStore tells whether the activity waits because a statement failed on account of the store: it has called
// outside, and would call again if it were repeated; and the statement can be repeated on its own, since it is the
// first.
func (fx *Effects) waitsForStore(ctx context.Context, err error) bool {
	return fx.Called && fx.statements == 0 && ctx.Err() == nil && !fx.Host.Draining() &&
		abi.IsOfHost(err) && !errors.Is(err, journal.ErrConflict)
}

// statement runs one statement in the transaction, which the first one begins.
func (fx *Effects) statement(ctx context.Context, name, query string, args []any) ([]byte, error) {
	if fx.tx == nil {
		tx, err := fx.Store.BeginGuest(ctx, fx.Namespace)
		if err != nil {
			return nil, err
		}
		fx.tx = tx
	}
	if name == abi.ImportTxExec {
		n, err := fx.tx.Exec(ctx, query, args)
		if err != nil {
			return nil, err
		}
		return abi.MustMarshal(&abi.ExecReply{RowsAffected: n}), nil
	}
	columns, rows, err := fx.tx.Query(ctx, query, args)
	if err != nil {
		return nil, err
	}
	reply, err := abi.Marshal(&abi.QueryReply{Columns: columns, Rows: rows})
	if err != nil {
		return nil, abi.Errorf(abi.CodeSQL, "the rows do not encode: %v", err)
	}
	if len(reply) > abi.MaxBody {
		return nil, abi.Errorf(abi.CodeSQLResult, "the rows have %d bytes, the limit is %d", len(reply), abi.MaxBody)
	}
	return reply, nil
}

// sqlFailed sorts a failure of the store: errors of the guest go to the guest, the rest ends the
// attempt.
func (fx *Effects) sqlFailed(ctx context.Context, err error) *abi.Error {
	var coded *abi.Error
	if errors.As(err, &coded) {
		return coded
	}
	if ctx.Err() != nil && (!fx.Called || fx.statements > 0) {
		return abi.Errorf(abi.CodeActivityTimeout, "the time was over: %v", err)
	}
	fx.Infra = err
	return abi.Errorf(abi.CodeTxConflict, "%v", err)
}

// giveUp rolls back the transaction at the request of the code. It goes on as if there had been
// none.
func (fx *Effects) giveUp(body []byte) ([]byte, *abi.Error) {
	if _, err := abi.DecodeAs[abi.TxRollback](body); err != nil {
		return nil, err
	}
	fx.Rollback()
	fx.statements = 0
	return abi.Nil, nil
}

// Rollback undoes the transaction, if there is one.
func (fx *Effects) Rollback() {
	if fx.tx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(fx.Host.Context()), rollbackTimeout)
	defer cancel()
	_ = fx.tx.Rollback(ctx)
	fx.tx = nil
}

func (fx *Effects) http(ctx context.Context, body []byte) ([]byte, *abi.Error) {
	req, policy, err := outward[abi.HTTPRequest](ctx, fx, body)
	if err != nil {
		return nil, err
	}
	res, err := fx.Egress.Do(ctx, policy, *req)
	if err != nil {
		return nil, err
	}
	return abi.MustMarshal(res), nil
}

func (fx *Effects) httpAll(ctx context.Context, body []byte) ([]byte, *abi.Error) {
	req, policy, err := outward[abi.HTTPAll](ctx, fx, body)
	if err != nil {
		return nil, err
	}
	reply := abi.MustMarshal(&abi.HTTPAllReply{Results: fx.Egress.DoAll(ctx, policy, req.Requests)})
	if len(reply) > abi.MaxBody {
		return nil, abi.Errorf(
			abi.CodeHTTPTooLarge, "the responses have %d bytes, the limit is %d", len(reply), abi.MaxBody,
		)
	}
	return reply, nil
}

// outward reads the target that the code wants to call, and its grants.
func outward[T any](ctx context.Context, fx *Effects, body []byte) (*T, *egress.Policy, *abi.Error) {
	if fx.tx != nil {
		return nil, nil, abi.Errorf(
			abi.CodeHTTPInTx, "a transaction is open; HTTP would hold it for as long as the other side likes",
		)
	}
	req, err := abi.DecodeAs[T](body)
	if err != nil {
		return nil, nil, err
	}
	d, err := fx.deployment(ctx)
	if err != nil {
		return nil, nil, err
	}
	fx.Called = true
	return req, d.Policy, nil
}

func (fx *Effects) config(ctx context.Context, body []byte) ([]byte, *abi.Error) {
	req, err := abi.DecodeAs[abi.ConfigRequest](body)
	if err != nil {
		return nil, err
	}
	d, err := fx.deployment(ctx)
	if err != nil {
		return nil, err
	}
	value, found := d.Config[req.Name]
	return abi.MustMarshal(&abi.ConfigReply{Found: found, Value: value}), nil
}

// deployment returns the deployment of the code.
func (fx *Effects) deployment(ctx context.Context) (*catalog.Deployment, *abi.Error) {
	d, err := fx.Deployment(ctx)
	if err != nil {
		return nil, abi.AsError(journal.Coded("load the deployment", err))
	}
	return d, nil
}

// Delay is the pause before an invocation is repeated that the store or the host has failed n times. If it
// called outside, it calls again each time, so its pauses grow further.
func Delay(n int, called bool) time.Duration {
	const first = 50 * time.Millisecond
	longest := 5 * time.Second
	if called {
		longest = 30 * time.Second
	}
	return min(first<<min(n-1, 10), longest)
}
