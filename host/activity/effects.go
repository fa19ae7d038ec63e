package activity

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/journal"
)

// rollbackTimeout bounds undoing a transaction. The attempt's own time may be over.
const rollbackTimeout = 5 * time.Second

// effects serves the immediate calls of one run of an activity: SQL in a
// transaction, HTTP and configuration.
type effects struct {
	*attempt

	tx         journal.GuestTx // nil until the first statement
	statements int             // that the transaction has run
	// infra is a failure that is not the activity's: a collision of its
	// transaction, or the store. The attempt is repeated and does not count.
	infra error
}

// call serves one immediate import.
func (fx *effects) call(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	if fx.infra != nil {
		return nil, abi.Errorf(abi.CodeTxConflict, "the transaction is over: %v", fx.infra)
	}
	reply, err := fx.serve(ctx, name, body)
	if err != nil && ofHost(err) && ctx.Err() == nil {
		fx.infra = err
	}
	return reply, err
}

func (fx *effects) serve(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	switch name {
	case abi.ImportTxExec, abi.ImportTxQuery:
		return fx.sql(ctx, name, body)
	case abi.ImportHTTP:
		return fx.http(ctx, body)
	case abi.ImportConfig:
		return fx.config(ctx, body)
	default:
		return nil, abi.Errorf(abi.CodeWrongContext, "%q is not an immediate call", name)
	}
}

func (fx *effects) sql(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	req, err := abi.DecodeAs[abi.SQL](body)
	if err != nil {
		return nil, err
	}
	args, err := decodeArgs(req.Args)
	if err != nil {
		return nil, err
	}
	reply, serr := fx.statement(ctx, name, req.Query, args)
	for n := 1; fx.waitsForStore(ctx, serr); n++ {
		fx.rollback()
		fx.log().Warn("waiting for the store", "error", serr)
		fx.wait(ctx, hostDelay(n, false))
		reply, serr = fx.statement(ctx, name, req.Query, args)
	}
	if serr != nil {
		return nil, fx.sqlFailed(ctx, serr)
	}
	fx.statements++
	return reply, nil
}

// waitsForStore tells whether the activity waits because a statement failed on account
// of the store: it has called outside, and would call again if it were repeated; and
// the statement can be repeated on its own, since it is the first.
func (fx *effects) waitsForStore(ctx context.Context, err error) bool {
	var coded *abi.Error
	return err != nil && fx.called && fx.statements == 0 && ctx.Err() == nil && !fx.Host.Draining() &&
		(!errors.As(err, &coded) || ofHost(coded)) && !errors.Is(err, journal.ErrConflict)
}

// statement runs one statement in the transaction, which the first one begins.
func (fx *effects) statement(ctx context.Context, name, query string, args []any) ([]byte, error) {
	if fx.tx == nil {
		tx, err := fx.Store.BeginGuest(ctx, fx.Row.Namespace)
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

// sqlFailed sorts a failure of the store: what the guest did wrong goes to the
// guest, the rest ends the attempt.
func (fx *effects) sqlFailed(ctx context.Context, err error) *abi.Error {
	var coded *abi.Error
	if errors.As(err, &coded) {
		return coded
	}
	if ctx.Err() != nil && (!fx.called || fx.statements > 0) {
		return abi.Errorf(abi.CodeActivityTimeout, "the activity's time was over: %v", err)
	}
	fx.infra = err
	return abi.Errorf(abi.CodeTxConflict, "%v", err)
}

func (fx *effects) rollback() {
	if fx.tx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(fx.Host.Context()), rollbackTimeout)
	defer cancel()
	_ = fx.tx.Rollback(ctx)
	fx.tx = nil
}

func (fx *effects) http(ctx context.Context, body []byte) ([]byte, *abi.Error) {
	if fx.tx != nil {
		return nil, abi.Errorf(abi.CodeHTTPInTx, "this activity has a transaction open; HTTP would hold it for as long as the other side likes")
	}
	req, err := abi.DecodeAs[abi.HTTPRequest](body)
	if err != nil {
		return nil, err
	}
	d, err := fx.deployment(ctx)
	if err != nil {
		return nil, err
	}
	fx.called = true
	res, err := fx.Egress.Do(ctx, d.Policy, *req)
	if err != nil {
		return nil, err
	}
	return abi.MustMarshal(res), nil
}

func (fx *effects) config(ctx context.Context, body []byte) ([]byte, *abi.Error) {
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

// deployment is the current one of the execution's name: code is pinned, settings
// and grants are not.
func (fx *effects) deployment(ctx context.Context) (*catalog.Deployment, *abi.Error) {
	name, _, _ := strings.Cut(fx.Row.Workflow, "/")
	d, err := fx.Catalog.Deployment(ctx, fx.Row.Namespace, name)
	if err != nil {
		return nil, abi.AsError(err)
	}
	return d, nil
}
