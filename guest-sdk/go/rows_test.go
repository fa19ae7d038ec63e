package cruster_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

type embedded struct {
	City string `json:"city"`
}

type person struct {
	embedded
	Name    string     `db:"full_name" json:"name"`
	Age     uint8      `json:"age"`
	Member  bool       `json:"member"`
	Score   float64    `json:"score"`
	Born    time.Time  `json:"born"`
	Left    *time.Time `json:"left"`
	Photo   []byte     `json:"photo"`
	Balance int64
}

func TestQueryRows(t *testing.T) {
	t.Parallel()
	born := time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC)
	db := &fakeDB{
		columns: []string{"full_name", "age", "member", "score", "born", "left", "photo", "balance", "city"},
		rows: [][]any{
			{"Ada", int64(36), int64(1), "1.5", born, nil, []byte{1}, "12", "London"},
			{[]byte("Bob"), 7, true, 2, "1815-12-10 00:00:00", born, "x", float64(4), "Paris"},
		},
	}
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		people, err := cruster.Query[person](ctx.Tx(), "SELECT $1", 1, "two", nil, born, []byte{3})
		if err != nil {
			return "", err
		}
		require.Equal(
			t,
			person{
				embedded: embedded{"London"},
				Name:     "Ada",
				Age:      36,
				Member:   true,
				Score:    1.5,
				Born:     born.Local(),
				Photo:    []byte{1},
				Balance:  12,
			},
			people[0],
		)
		require.Equal(t, "Bob", people[1].Name)
		require.True(t, people[1].Born.Equal(born))
		require.True(t, people[1].Left.Equal(born))
		require.Equal(t, int64(4), people[1].Balance)
		_, err = cruster.QueryRow[person](ctx.Tx(), "SELECT")
		require.EqualError(t, err, "the query found more than one row: narrow it, or add LIMIT 1")
		db.rows = db.rows[:1]
		raw, err := cruster.QueryRow[map[string]any](ctx.Tx(), "SELECT")
		require.Equal(t, "London", raw["city"])
		list, err2 := cruster.QueryRow[[]any](ctx.Tx(), "SELECT")
		require.Len(t, list, 9)
		return "", errors.Join(err, err2)
	}, crustertest.UseDatabase(db))
	require.NoError(t, err)
	require.Equal(t, 1, db.commits)
	require.Len(t, db.args[0], 5)
	require.Equal(t, "two", db.args[0][1])
	require.Empty(t, db.args[1])
}

func TestQueryRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	one := func(v any) *fakeDB { return &fakeDB{columns: []string{"n"}, rows: [][]any{{v}}} }
	scalar := func(ctx *cruster.ActivityContext) (string, error) {
		n, err := cruster.QueryRow[int8](ctx.Tx(), "SELECT")
		return fmt.Sprint(n), err
	}
	for name, c := range map[string]struct {
		db   *fakeDB
		want string
	}{
		"overflow":  {one(300), "does not fit int8"},
		"fraction":  {one(1.5), "does not fit int8"},
		"text":      {one("many"), "does not fit int8"},
		"null":      {one(nil), "use a pointer"},
		"no rows":   {&fakeDB{columns: []string{"n"}}, cruster.ErrNoRows.Error()},
		"columns":   {&fakeDB{columns: []string{"a", "b"}}, "use a struct"},
		"short row": {&fakeDB{columns: []string{"n"}, rows: [][]any{{}}}, "0 values for 1 columns"},
	} {
		_, err := inActivity(t, scalar, crustertest.UseDatabase(c.db))
		require.ErrorContains(t, err, c.want, name)
		require.Zero(t, c.db.commits, name)
		require.Positive(t, c.db.rollbacks, name)
	}
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		_, err := cruster.Query[person](ctx.Tx(), "SELECT")
		return "", err
	}, crustertest.UseDatabase(one(1)))
	require.ErrorContains(t, err, `column "n" has no field`)
}

// ledgerRow has fields that queries may lack.
type ledgerRow struct {
	ID    string
	Cents int64  `db:"balance"`
	Note  string `db:",optional"`
	Owner string `db:"holder,optional"`
	Cache string `db:"-"`
	Local string `json:"-"`
	Mine  string `msgpack:"-"`
}

// keptRow has a column that is not on the wire.
type keptRow struct {
	ID   string
	Kept string `db:"kept" json:"-"`
}

// A field stays zero only if its tag says that it may.
func TestQueryFillsAllFields(t *testing.T) {
	t.Parallel()
	query := func(columns ...string) ([]ledgerRow, error) {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = "7"
		}
		var found []ledgerRow
		_, err := inActivity(t, func(ctx *cruster.ActivityContext) (_ string, err error) {
			found, err = cruster.Query[ledgerRow](ctx.Tx(), "SELECT")
			return "", err
		}, crustertest.UseDatabase(&fakeDB{columns: columns, rows: [][]any{row}}))
		return found, err
	}
	found, err := query("id", "balance")
	require.NoError(t, err)
	require.Equal(t, []ledgerRow{{ID: "7", Cents: 7}}, found)
	found, err = query("note", "holder", "cents", "id")
	require.NoError(t, err)
	require.Equal(t, []ledgerRow{{ID: "7", Cents: 7, Note: "7", Owner: "7"}}, found)
	_, err = query("id", "note")
	require.ErrorContains(t, err,
		`field Cents of cruster_test.ledgerRow has no column among ["id" "note"]: select it, or tag the field db:",optional", or db:"-" if it never has one`)
	_, err = query("id", "balance", "cache")
	require.ErrorContains(t, err, `column "cache" has no field`)
	found, err = query("id", "balance", "local", "mine")
	require.NoError(t, err)
	require.Equal(t, []ledgerRow{{ID: "7", Cents: 7, Local: "7", Mine: "7"}}, found, "they may have one")
	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		_, err := cruster.Query[keptRow](ctx.Tx(), "SELECT")
		return "", err
	}, crustertest.UseDatabase(&fakeDB{columns: []string{"id"}, rows: [][]any{{"7"}}}))
	require.ErrorContains(t, err, "field Kept of ", "its tag says that it is one")
}
