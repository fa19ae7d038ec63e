package cruster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/stretchr/testify/require"
)

// probe is an activity that each test replaces with a stub.
var probe = cruster.NewActivity("test.probe", func(*cruster.ActivityContext, int) (string, error) { return "", nil }, cruster.Retries(1))

var probing = cruster.NewWorkflow("test.probing", func(ctx cruster.Context, n int) (string, error) { return probe.Call(ctx, n) })

// inActivity runs fn as an activity.
func inActivity(t *testing.T, fn func(ctx *cruster.ActivityContext) (string, error), opts ...crustertest.Option) (string, error) {
	t.Helper()
	stub := crustertest.Stub(probe, func(ctx *cruster.ActivityContext, _ int) (string, error) { return fn(ctx) })
	return crustertest.Run(t, probing, 0, append(opts, stub)...)
}

// fakeDB answers every query with the same rows, and counts commits and
// rollbacks.
type fakeDB struct {
	columns             []string
	rows                [][]any
	statements          []string
	args                [][]any
	commits, rollbacks  int
	failBegin, failExec error
}

func (f *fakeDB) Begin() (crustertest.Transaction, error) { return f, f.failBegin }
func (f *fakeDB) Exec(query string, args []any) (int64, error) {
	f.statements, f.args = append(f.statements, query), append(f.args, args)
	return 3, f.failExec
}
func (f *fakeDB) Query(query string, args []any) ([]string, [][]any, error) {
	f.statements, f.args = append(f.statements, query), append(f.args, args)
	return f.columns, f.rows, nil
}
func (f *fakeDB) Commit() error   { f.commits++; return nil }
func (f *fakeDB) Rollback() error { f.rollbacks++; return nil }

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
		require.Equal(t, person{embedded: embedded{"London"}, Name: "Ada", Age: 36, Member: true, Score: 1.5, Born: born.Local(), Photo: []byte{1}, Balance: 12}, people[0])
		require.Equal(t, "Bob", people[1].Name)
		require.True(t, people[1].Born.Equal(born))
		require.True(t, people[1].Left.Equal(born))
		require.Equal(t, int64(4), people[1].Balance)
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

func TestExec(t *testing.T) {
	t.Parallel()
	db := &fakeDB{}
	got, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		n, err := ctx.Tx().Exec("UPDATE t SET a = $1", "x")
		return fmt.Sprint(n, " ", ctx.Attempt(), " ", ctx.ExecutionID(), " ", ctx.Err()), err
	}, crustertest.UseDatabase(db), crustertest.ExecutionID("d/w/k"))
	require.NoError(t, err)
	require.Equal(t, "3 1 d/w/k <nil>", got)

	db = &fakeDB{failExec: errors.New("unique constraint")}
	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		_, err := ctx.Tx().Exec("INSERT")
		require.Equal(t, string(abi.CodeSQL), cruster.ErrorCode(err))
		return "", err
	}, crustertest.UseDatabase(db))
	require.ErrorContains(t, err, "unique constraint")

	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		_, err := ctx.Tx().Exec("INSERT")
		return "", err
	})
	require.ErrorContains(t, err, "which the test does not provide")
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	answer := cruster.HTTPResponse{Status: 201, Body: []byte(`{"ok":true}`), Headers: []cruster.Header{{Name: "X-Id", Value: "7"}}}
	var asked []cruster.HTTPRequest
	handler := crustertest.HandleHTTP(func(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
		asked = append(asked, r)
		if r.URL == "http://down" {
			return cruster.HTTPResponse{}, errors.New("connection refused")
		}
		return answer, nil
	})
	_, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		res, err := ctx.HTTP().PostJSON("http://pay/charges", map[string]int{"cents": 5}, cruster.Header{Name: "A", Value: "b"})
		if err != nil {
			return "", err
		}
		var body struct{ OK bool }
		require.NoError(t, res.JSON(&body))
		require.True(t, body.OK)
		require.NoError(t, res.Err())
		require.Equal(t, "7", res.Header("x-id"))
		_, err = ctx.HTTP().Get("http://down", cruster.Header{Name: "C", Value: "d"})
		require.Equal(t, string(abi.CodeHTTPFailed), cruster.ErrorCode(err))
		return "", nil
	}, handler)
	require.NoError(t, err)
	require.Equal(t, "POST", asked[0].Method)
	require.JSONEq(t, `{"cents":5}`, string(asked[0].Body))
	require.Equal(t, []cruster.Header{{Name: "Content-Type", Value: "application/json"}, {Name: "A", Value: "b"}}, asked[0].Headers)
	require.Equal(t, "GET", asked[1].Method)
	require.Equal(t, []cruster.Header{{Name: "C", Value: "d"}}, asked[1].Headers)

	_, err = inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		if _, err := ctx.Tx().Exec("INSERT"); err != nil {
			return "", err
		}
		_, err := ctx.HTTP().Get("http://pay")
		return "", err
	}, handler, crustertest.UseDatabase(&fakeDB{}))
	require.ErrorContains(t, err, string(abi.CodeHTTPInTx))
}

func TestHTTPStatusErrors(t *testing.T) {
	t.Parallel()
	for status, retryable := range map[int]bool{400: false, 404: false, 408: true, 429: true, 500: true, 503: true} {
		err := cruster.HTTPResponse{Status: status, Body: []byte("why\n")}.Err()
		var e *cruster.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, retryable, e.Retryable, status)
		require.Equal(t, "http_status", e.Type)
		require.Equal(t, fmt.Sprintf("the answer has status %d: why", status), e.Message)
	}
	require.EqualError(t, cruster.HTTPResponse{Status: 500, Body: []byte(" \n")}.Err(), "the answer has status 500")
	long := cruster.HTTPResponse{Status: 500, Body: []byte(strings.Repeat("ä", 150) + "\n")}.Err()
	require.ErrorContains(t, long, ": "+strings.Repeat("ä", 100)+"…")
	require.NoError(t, cruster.HTTPResponse{Status: 302}.Err())
}

func TestConfigAndLog(t *testing.T) {
	t.Parallel()
	got, err := inActivity(t, func(ctx *cruster.ActivityContext) (string, error) {
		a, foundA := ctx.Config("region")
		b, foundB := ctx.Config("nothing")
		ctx.Logger().Warn("look", "region", a)
		return fmt.Sprint(a, foundA, b, foundB), nil
	}, crustertest.Config("region", "eu"))
	require.NoError(t, err)
	require.Equal(t, "eutruefalse", got)
}
