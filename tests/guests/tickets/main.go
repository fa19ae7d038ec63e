// Command tickets numbers requests: updates whose handlers call an activity. A request that is
// handled twice has two numbers, and an unanswered one none.
package main

import (
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Series is the input of a run.
type Series struct {
	// Last is the number that was handed out last.
	Last int64  `json:"last"`
	Name string `json:"name"`
	// Renew is after how many requests the workflow goes on as a new run; 0 is never.
	Renew int64 `json:"renew"`
}

// Request asks for a number.
type Request struct {
	ID string `json:"id"`
	// SQL says whether its activity uses SQL.
	SQL bool `json:"sql"`
}

var (
	// Draw is answered with the number of the request.
	Draw = cruster.NewUpdate[Request, int64]("draw")
	// Last is the number that was handed out last.
	Last = cruster.NewState[int64]("last")
)

// Tickets hands out numbers for ever.
var Tickets = cruster.NewWorkflow("Tickets", tickets, cruster.RawKey(func(s Series) string { return s.Name })).Takes(
	Draw,
).Publishes(Last)

func tickets(ctx cruster.Context, s Series) (int64, error) {
	var begun, answered int64
	Draw.Handle(ctx, func(ctx cruster.Context, r Request) (int64, error) {
		if s.Renew > 0 && begun == s.Renew {
			return 0, cruster.WaitUntil(ctx, func() bool { return false }) // the next run handles it
		}
		begun++
		check := Look
		if r.SQL {
			check = Note
		}
		if _, err := check.Call(ctx, r.ID); err != nil {
			return 0, err
		}
		s.Last++
		answered++
		return s.Last, Last.Set(ctx, s.Last)
	})
	if err := cruster.WaitUntil(ctx, func() bool { return s.Renew > 0 && answered == s.Renew }); err != nil {
		return 0, err
	}
	return 0, cruster.ContinueAsNew(s)
}

// Note writes a request down.
var Note = cruster.NewActivity("note", note, cruster.Retries(5), cruster.ExponentialBackoff(100*time.Millisecond))

func note(ctx *cruster.ActivityContext, request string) (bool, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO noted (request) VALUES ($1)`, request)
	return err == nil, err
}

// Look does nothing.
var Look = cruster.NewActivity("look", func(*cruster.ActivityContext, string) (bool, error) { return true, nil })

// Noted counts the written notes: rows, and requests.
var Noted = cruster.NewWorkflow(
	"Noted", func(ctx cruster.Context, _ string) ([]int64, error) { return Count.Call(ctx, cruster.None{}) },
	cruster.RawKey(func(name string) string { return name }),
)

// Count counts the written notes.
var Count = cruster.NewActivity("count", func(ctx *cruster.ActivityContext, _ cruster.None) ([]int64, error) {
	rows, err := cruster.QueryRow[int64](ctx.Tx(), `SELECT count(*) FROM noted`)
	if err != nil {
		return nil, err
	}
	requests, err := cruster.QueryRow[int64](ctx.Tx(), `SELECT count(DISTINCT request) FROM noted`)
	return []int64{rows, requests}, err
})

var _ = cruster.Migrations(cruster.Migration{
	Version: 1, Name: "noted", SQL: `CREATE TABLE noted (request TEXT NOT NULL)`,
})

func main() {}
