package crustertest

import (
	"database/sql"
	"fmt"
	"sync"

	"github.com/cruster/cruster/abi"
)

// Database runs the SQL of activities; see [SQLite] for a ready one.
type Database interface {
	Begin() (Transaction, error)
}

// Transaction is the transaction of one attempt of an activity. It begins with the first statement, and is committed if
// the attempt succeeds.
type Transaction interface {
	Exec(query string, args []any) (rowsAffected int64, err error)
	Query(query string, args []any) (columns []string, rows [][]any, err error)
	Commit() error
	Rollback() error
}

// UseDatabase gives activities a database.
func UseDatabase(db Database) Option {
	return func(c *config) { c.database = db }
}

// SQLite gives activities a SQLite database that the test opened with a driver of its choice, and applies the
// migrations of the modules of the test to it, before the first run that uses the option. That run panics if they fail.
func SQLite(db *sql.DB) Option {
	// A database in memory exists only as long as its connection.
	db.SetMaxOpenConns(1)
	var once sync.Once
	return func(c *config) {
		c.database = sqlite{db}
		c.migrate = func(modules []*module) {
			once.Do(func() {
				// As on a host. It is off unless one asks for it.
				if _, err := db.Exec("PRAGMA foreign_keys = ON"); err != nil {
					panic(fmt.Sprintf("crustertest: %v", err))
				}
				for _, m := range modules {
					migrate(db, m)
				}
			})
		}
	}
}

// migrate applies the migrations of a module.
func migrate(db *sql.DB, of *module) {
	for _, m := range of.Manifest().Migrations {
		if m.Dialect == abi.DialectPostgres {
			continue
		}
		if _, err := db.Exec(m.SQL); err != nil {
			panic(fmt.Sprintf("crustertest: migration %d %s of %s: %v", m.Version, m.Name, of.deployment, err))
		}
	}
}

type sqlite struct{ db *sql.DB }

type sqliteTx struct{ tx *sql.Tx }

func (s sqlite) Begin() (Transaction, error) {
	tx, err := s.db.Begin()
	if err != nil {
		return nil, err
	}
	return sqliteTx{tx}, nil
}

func (t sqliteTx) Exec(query string, args []any) (int64, error) {
	query, args, err := forSQLite(query, args)
	if err != nil {
		return 0, err
	}
	res, err := t.tx.Exec(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (t sqliteTx) Query(query string, args []any) ([]string, [][]any, error) {
	query, args, err := forSQLite(query, args)
	if err != nil {
		return nil, nil, err
	}
	rows, err := t.tx.Query(query, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, nil, err
	}
	all := [][]any{}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, nil, err
		}
		all = append(all, row)
	}
	return columns, all, rows.Err()
}

func (t sqliteTx) Commit() error   { return t.tx.Commit() }
func (t sqliteTx) Rollback() error { return t.tx.Rollback() }

// testTx is a transaction of a database that the test gave: its code is the test's.
type testTx struct{ tx Transaction }

var _ Transaction = testTx{}

func beginAsTest(db Database) (tx Transaction, err error) {
	asTest(func() { tx, err = db.Begin() })
	return testTx{tx}, err
}

func (t testTx) Exec(query string, args []any) (n int64, err error) {
	asTest(func() { n, err = t.tx.Exec(query, args) })
	return n, err
}

func (t testTx) Query(query string, args []any) (columns []string, rows [][]any, err error) {
	asTest(func() { columns, rows, err = t.tx.Query(query, args) })
	return columns, rows, err
}

func (t testTx) Commit() (err error) {
	asTest(func() { err = t.tx.Commit() })
	return err
}

func (t testTx) Rollback() (err error) {
	asTest(func() { err = t.tx.Rollback() })
	return err
}

// sql runs one statement in the transaction of the attempt.
func (h *attemptHost) sql(call string, b abi.SQL) (any, error) {
	if h.world.cfg.database == nil {
		return nil, h.missing("SQL", "crustertest.SQLite")
	}
	args, bad := abi.DecodeSQLArgs(b.Args)
	if bad != nil {
		return nil, bad
	}
	if err := checkStatement(b.Query); err != nil {
		return nil, err
	}
	if h.tx == nil {
		tx, err := beginAsTest(h.world.cfg.database)
		if err != nil {
			return nil, abi.Errorf(abi.CodeSQL, "begin: %v", err)
		}
		h.tx = limitTx(tx, h.world.cfg.transactionLimit)
	}
	if call == abi.ImportTxExec {
		n, err := h.tx.Exec(b.Query, args)
		if err != nil {
			return nil, sqlError(err)
		}
		return abi.ExecReply{RowsAffected: n}, nil
	}
	columns, rows, err := h.tx.Query(b.Query, args)
	if err != nil {
		return nil, sqlError(err)
	}
	reply := abi.QueryReply{Columns: columns, Rows: rows}
	encoded, err := abi.Marshal(reply)
	if err != nil {
		return nil, abi.Errorf(abi.CodeSQL, "the rows do not encode: %v", err)
	}
	if len(encoded) > abi.MaxBody {
		return nil, abi.Errorf(abi.CodeSQLResult, "the rows of the query have more than %d bytes", abi.MaxBody)
	}
	return reply, nil
}

// sqlError is the error of a statement: the database's error, or a refusal.
func sqlError(err error) error {
	if abi.CodeOf(err) != "" {
		return err
	}
	return abi.Errorf(abi.CodeSQL, "%v", err)
}

// commitError is the error of a commit.
func commitError(err error) *abi.Error {
	if abi.CodeOf(err) == abi.CodeTxTooLong {
		return abi.AsError(err)
	}
	return abi.Errorf(abi.CodeSQL, "commit: %v", err)
}

// endTransaction commits or rolls back, if the attempt began a transaction.
func (h *attemptHost) endTransaction(commit bool) error {
	tx := h.tx
	h.tx = nil
	switch {
	case tx == nil:
		return nil
	case commit:
		return tx.Commit()
	}
	return tx.Rollback()
}
