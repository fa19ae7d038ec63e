package stdsql

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Open is the database of the activity, or of the call of an entity, that ctx is of. All that are
// opened in an attempt use its one transaction, and they are closed with it.
func Open(ctx context.Context) *sql.DB {
	attempt, is := ctx.Value(guest.Within{}).(interface{ Tx() *cruster.Tx })
	keep, kept := ctx.Value(guest.Kept{}).(*guest.Keep)
	if !is || !kept {
		return sql.OpenDB(nowhere{})
	}
	s, there := keep.SQL.(*session)
	if !there {
		s = &session{tx: attempt.Tx(), keep: keep}
		keep.SQL = s
	}
	db := sql.OpenDB(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, db)
	return db
}

// Connect implements driver.Connector. All connections use the one transaction.
func (s *session) Connect(context.Context) (driver.Conn, error) { return &conn{session: s}, nil }

// Driver implements driver.Connector.
func (s *session) Driver() driver.Driver { return byName{} }

// nowhere is the connector of a context that is of no attempt.
type nowhere struct{}

// Connect implements driver.Connector.
func (nowhere) Connect(context.Context) (driver.Conn, error) {
	return nil, abi.Errorf(abi.CodeWrongContext, "the context is not that of an activity, or derived from it").
		WithHint("Open the database with stdsql.Open(ctx), where ctx is the *cruster.ActivityContext.")
}

// Driver implements driver.Connector.
func (nowhere) Driver() driver.Driver { return byName{} }

// byName is the driver as database/sql knows it. There is no name under which sql.Open has it: a database is of an
// attempt.
type byName struct{}

func (byName) Open(string) (driver.Conn, error) {
	return nil, abi.Errorf(abi.CodeWrongContext, "a database cannot be opened by name").WithHint(
		"Open it with stdsql.Open(ctx).",
	)
}
