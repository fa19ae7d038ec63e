package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "counters", SQL: `
CREATE TABLE counters (
	name TEXT PRIMARY KEY,
	n    BIGINT NOT NULL CHECK (n < 1000)
)`},
	cruster.Migration{Version: 2, Name: "kinds", Dialect: cruster.SQLite, SQL: `
CREATE TABLE kinds (name TEXT PRIMARY KEY, b BOOLEAN, i BIGINT, f DOUBLE PRECISION, s TEXT, y BLOB, t TIMESTAMP, n TEXT)`},
	cruster.Migration{Version: 2, Name: "kinds", Dialect: cruster.Postgres, SQL: `
CREATE TABLE kinds (name TEXT PRIMARY KEY, b BOOLEAN, i BIGINT, f DOUBLE PRECISION, s TEXT, y BYTEA, t TIMESTAMPTZ, n TEXT)`},
)

// CountRequest names a counter in SQL, and what to do after adding to it.
type CountRequest struct {
	Name string `json:"name"`
	// Then is the act of the activity after its statement: nothing, "fail", "fail once", "panic once", "handle an
	// error", "commit", "http", "roll back", "begin again".
	Then string `json:"then,omitempty"`
}

// Count counts in SQL, twice with the same arguments.
var Count = cruster.NewWorkflow("Count", func(ctx cruster.Context, r CountRequest) ([]Seen, error) {
	retried := count.With(cruster.Retries(3), cruster.ConstantBackoff(time.Millisecond))
	first := seen(retried.Call(ctx, r))
	second := seen(retried.Call(ctx, r))
	return []Seen{first, second, seen(readCount.Call(ctx, r.Name))}, nil
})

// CountKeyed counts in steps that have explicit keys.
var CountKeyed = cruster.NewWorkflow("CountKeyed", func(ctx cruster.Context, r CountRequest) ([]int64, error) {
	a := count.With(cruster.ActivityKey("a")).Go(ctx, r)
	if _, err := a.Await(ctx); err != nil {
		return nil, err
	}
	b := count.With(cruster.ActivityKey("b")).Go(ctx, r)
	return cruster.All(ctx, a, b)
})

// CountMany counts in parallel: the transactions collide, and each counts once.
var CountMany = cruster.NewWorkflow("CountMany", func(ctx cruster.Context, r struct {
	Name string
	N    int
},
) (int64, error) {
	var all []cruster.Future[int64]
	for range r.N {
		all = append(
			all,
			count.With(cruster.Retries(50), cruster.ConstantBackoff(time.Millisecond)).Go(ctx, CountRequest{
				Name: r.Name,
			}),
		)
	}
	if _, err := cruster.All(ctx, all...); err != nil {
		return 0, err
	}
	return readCount.Call(ctx, r.Name)
})

const countUp = `INSERT INTO counters (name, n) VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = counters.n + 1`

var count = cruster.NewActivity("count", func(ctx *cruster.ActivityContext, r CountRequest) (int64, error) {
	_, err := ctx.Tx().Exec(countUp, r.Name)
	if err != nil {
		return 0, err
	}
	switch {
	case r.Then == "fail", r.Then == "fail once" && ctx.Attempt() == 1:
		return 0, cruster.Errorf("after_sql", "attempt %d failed after its statement", ctx.Attempt())
	case r.Then == "panic once" && ctx.Attempt() == 1:
		panic("after the statement")
	case r.Then == "handle an error":
		if _, err := ctx.Tx().Exec(`INSERT INTO counters (name, n) VALUES ($1, 5000)`, r.Name+"-too-many"); err == nil {
			return 0, cruster.NonRetryable(errors.New("the check did not hold"))
		}
	case r.Then == "roll back":
		return 0, ctx.Tx().Rollback()
	case r.Then == "begin again":
		if err := ctx.Tx().Rollback(); err != nil {
			return 0, err
		}
		for range 2 {
			if _, err := ctx.Tx().Exec(countUp, r.Name); err != nil {
				return 0, err
			}
		}
	case r.Then == "read two rows":
		return cruster.QueryRow[int64](ctx.Tx(), `SELECT n FROM counters WHERE name = $1 UNION ALL SELECT 0`, r.Name)
	case r.Then == "commit":
		_, err := ctx.Tx().Exec(`COMMIT`)
		return 0, err
	case r.Then == "http":
		_, err := ctx.HTTP().Get("http://127.0.0.1:1/")
		return 0, err
	}
	return cruster.QueryRow[int64](ctx.Tx(), `SELECT n FROM counters WHERE name = $1`, r.Name)
})

var readCount = cruster.NewActivity("readCount", func(ctx *cruster.ActivityContext, name string) (int64, error) {
	n, err := cruster.QueryRow[int64](ctx.Tx(), `SELECT n FROM counters WHERE name = $1`, name)
	if errors.Is(err, cruster.ErrNoRows) {
		return 0, nil
	}
	return n, err
})

// Kinds is a row with a column of every kind.
type Kinds struct {
	B bool      `json:"b"`
	I int64     `json:"i"`
	F float64   `json:"f"`
	S string    `json:"s"`
	Y []byte    `json:"y"`
	T time.Time `json:"t"`
	N *string   `json:"n"`
}

// SQLKinds writes a row of all kinds and reads it back.
var SQLKinds = cruster.NewWorkflow("SQLKinds", func(ctx cruster.Context, k Kinds) ([]Kinds, error) {
	return kinds.Call(ctx, k)
})

var kinds = cruster.NewActivity("kinds", func(ctx *cruster.ActivityContext, k Kinds) ([]Kinds, error) {
	if _, err := ctx.Tx().Exec(`DELETE FROM kinds`); err != nil {
		return nil, err
	}
	n, err := ctx.Tx().Exec(
		`INSERT INTO kinds (name, b, i, f, s, y, t, n) VALUES ('row', $1, $2, $3, $4, $5, $6, $7)`, k.B, k.I, k.F, k.S,
		k.Y, k.T, nil,
	)
	if err != nil || n != 1 {
		return nil, err
	}
	rows, err := cruster.Query[Kinds](
		ctx.Tx(), `SELECT b, i, f, s, y, t, n FROM kinds WHERE name = $1 AND n IS NULL`, "row",
	)
	for i := range rows {
		rows[i].T = rows[i].T.UTC()
	}
	return rows, err
})

// SQLWrong tries statements that the database refuses; each is handled in the activity.
var SQLWrong = cruster.NewWorkflow("SQLWrong", func(ctx cruster.Context, statements []string) ([]string, error) {
	var out []string
	for _, s := range statements {
		code, err := tryStatement.Call(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, code)
	}
	return out, nil
})

var tryStatement = cruster.NewActivity("tryStatement", func(ctx *cruster.ActivityContext, s string) (string, error) {
	_, err := ctx.Tx().Exec(s)
	return cruster.ErrorCode(err), nil
})

// Fetch makes an HTTP call.
var Fetch = cruster.NewWorkflow("Fetch", func(ctx cruster.Context, url string) (Seen, error) {
	return seen(fetch.Call(ctx, url)), nil
})

var fetch = cruster.NewActivity("fetch", func(ctx *cruster.ActivityContext, url string) (string, error) {
	res, err := ctx.HTTP().Do(cruster.HTTPRequest{
		Method:  "POST",
		URL:     url,
		Body:    []byte("ping"),
		Headers: []cruster.Header{{Name: "X-Key", Value: ctx.IdempotencyKey()}},
	})
	if err != nil {
		return "", cruster.NonRetryable(err)
	}
	if err := res.Err(); err != nil {
		return "", err
	}
	return res.Header("X-Answer") + " " + string(res.Body), nil
})

// FetchAll makes HTTP calls at the same time.
var FetchAll = cruster.NewWorkflow("FetchAll", func(ctx cruster.Context, urls []string) (Seen, error) {
	return seen(fetchAll.Call(ctx, urls)), nil
})

var fetchAll = cruster.NewActivity("fetchAll", func(ctx *cruster.ActivityContext, urls []string) ([]string, error) {
	var requests []cruster.HTTPRequest
	for _, url := range urls {
		requests = append(requests, cruster.HTTPRequest{
			Method: "PUT", URL: url, Headers: []cruster.Header{{Name: "X-Key", Value: ctx.IdempotencyKey()}},
		})
	}
	results, err := ctx.HTTP().DoAll(requests...)
	if err != nil {
		return nil, cruster.NonRetryable(err)
	}
	all := []string{}
	for _, r := range results {
		if r.Err != nil {
			all = append(all, cruster.ErrorCode(r.Err))
			continue
		}
		all = append(all, r.Response.Header("X-Answer")+" "+string(r.Response.Body))
	}
	return all, nil
})

// Settings reads the configuration.
var Settings = cruster.NewWorkflow("Settings", func(ctx cruster.Context, names []string) ([]any, error) {
	return settings.Call(ctx, names)
})

var settings = cruster.NewActivity("settings", func(ctx *cruster.ActivityContext, names []string) ([]any, error) {
	var out []any
	for _, name := range names {
		v, found := ctx.Config(name)
		out = append(out, []any{found, v})
	}
	return out, nil
})
