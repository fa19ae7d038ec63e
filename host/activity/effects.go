package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// effects is the outside of one attempt of an activity: its transaction, HTTP
// and configuration.
type effects struct {
	eng *Engine
	row *journal.Execution

	tx journal.GuestTx // nil until the first statement
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
	if err != nil && err.Code == abi.CodeStore && ctx.Err() == nil {
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
		return nil, abi.Errorf(abi.CodeWrongContext, "%q is no immediate call", name)
	}
}

func (fx *effects) sql(ctx context.Context, name string, body []byte) ([]byte, *abi.Error) {
	req, err := decodeAs[abi.SQL](body)
	if err != nil {
		return nil, err
	}
	args, err := decodeArgs(req.Args)
	if err != nil {
		return nil, err
	}
	if fx.tx == nil {
		tx, err := fx.eng.store.BeginGuest(ctx, fx.row.Namespace)
		if err != nil {
			return nil, fx.sqlFailed(ctx, err)
		}
		fx.tx = tx
	}
	if name == abi.ImportTxExec {
		n, err := fx.tx.Exec(ctx, req.Query, args)
		if err != nil {
			return nil, fx.sqlFailed(ctx, err)
		}
		return abi.MustMarshal(&abi.ExecReply{RowsAffected: n}), nil
	}
	columns, rows, qerr := fx.tx.Query(ctx, req.Query, args)
	if qerr != nil {
		return nil, fx.sqlFailed(ctx, qerr)
	}
	reply, merr := abi.Marshal(&abi.QueryReply{Columns: columns, Rows: rows})
	if merr != nil {
		return nil, abi.Errorf(abi.CodeSQL, "the rows do not encode: %v", merr)
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
	if ctx.Err() != nil {
		return abi.Errorf(abi.CodeActivityTimeout, "the activity's time was over: %v", err)
	}
	fx.infra = err
	return abi.Errorf(abi.CodeTxConflict, "%v", err)
}

func (fx *effects) rollback() {
	if fx.tx != nil {
		// The attempt's own time may be over; undoing it may still take a moment.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(fx.eng.ctx), 5*time.Second)
		defer cancel()
		_ = fx.tx.Rollback(ctx)
		fx.tx = nil
	}
}

func (fx *effects) http(ctx context.Context, body []byte) ([]byte, *abi.Error) {
	if fx.tx != nil {
		return nil, abi.Errorf(abi.CodeHTTPInTx, "this activity has a transaction open; HTTP would hold it for as long as the other side likes")
	}
	req, err := decodeAs[abi.HTTPRequest](body)
	if err != nil {
		return nil, err
	}
	d, err := fx.deployment(ctx)
	if err != nil {
		return nil, err
	}
	res, err := fx.eng.egress.Do(ctx, d.policy, *req)
	if err != nil {
		return nil, err
	}
	return abi.MustMarshal(res), nil
}

func (fx *effects) config(ctx context.Context, body []byte) ([]byte, *abi.Error) {
	req, err := decodeAs[abi.ConfigRequest](body)
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

// deployment is the current one of the execution's name: code is pinned,
// settings and grants are not.
func (fx *effects) deployment(ctx context.Context) (*deployment, *abi.Error) {
	name, _, _ := strings.Cut(fx.row.Workflow, "/")
	d, err := fx.eng.modules.deployment(ctx, fx.row.Namespace, name)
	if err != nil {
		return nil, abi.AsError(err)
	}
	return d, nil
}

// maxSQLArgs is a limit of both databases.
const maxSQLArgs = 32_766

// decodeArgs turns a msgpack array into arguments of the types that stores
// take.
func decodeArgs(encoded []byte) ([]any, *abi.Error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	var raw []any
	if err := abi.DecodeBody(encoded, &raw); err != nil {
		return nil, abi.Errorf(abi.CodeSQLArgument, "the arguments are not a msgpack array: %v", err)
	}
	if len(raw) > maxSQLArgs {
		return nil, abi.Errorf(abi.CodeSQLArgument, "%d arguments are too many; %d is the limit", len(raw), maxSQLArgs)
	}
	for i, v := range raw {
		norm, err := sqlArg(v)
		if err != nil {
			return nil, abi.Errorf(abi.CodeSQLArgument, "argument $%d: %v", i+1, err)
		}
		raw[i] = norm
	}
	return raw, nil
}

func sqlArg(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, uint64, float64, string, []byte, time.Time:
		return v, nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint8:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case *time.Time:
		return *v, nil
	default:
		return nil, fmt.Errorf("a %T is no SQL value", v)
	}
}
