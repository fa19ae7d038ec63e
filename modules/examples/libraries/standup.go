// Command libraries uses ordinary libraries in activities, unchanged: the clients of two services, a query builder and
// a mapper of rows, time zones, and embedded files.
package main

import (
	_ "embed"
	"time"
	_ "time/tzdata" // a module has no files: the zones are part of it

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// StandupRequest is the request of Standup.
type StandupRequest struct {
	Channel string   `json:"channel"`
	Day     string   `json:"day"`  // 2026-03-29
	Zone    string   `json:"zone"` // Europe/Berlin
	Notes   []string `json:"notes"`
}

// StandupResult is the result of Standup.
type StandupResult struct {
	Summary string `json:"summary"`
	// Hours the day has where the team is: 23 or 25 when the clocks change.
	Hours int `json:"hours"`
	// Posted is the id of the message.
	Posted string `json:"posted"`
	// Before is how many summaries the channel had before.
	Before int64 `json:"before"`
}

// Standup has the notes of a team summarised, keeps the summary, and posts it.
var Standup = cruster.NewWorkflow("Standup", standup,
	cruster.RawKey(func(r StandupRequest) string { return r.Channel + "/" + r.Day }))

func standup(ctx cruster.Context, req StandupRequest) (StandupResult, error) {
	hours, err := Hours.Call(ctx, req)
	if err != nil {
		return StandupResult{}, err
	}
	summary, err := Summarise.Call(ctx, req.Notes)
	if err != nil {
		return StandupResult{}, err
	}
	before, err := Keep.Call(ctx, Kept{Channel: req.Channel, Day: req.Day, Summary: summary, Lines: req.Notes})
	if err != nil {
		return StandupResult{}, err
	}
	posted, err := Post.Call(ctx, Message{Channel: req.Channel, Text: summary})
	return StandupResult{Summary: summary, Hours: hours, Posted: posted, Before: before}, err
}

// Hours tells how many hours a day has somewhere. Zones could be used in the workflow itself; that
// they change from one version of a module to the next is a reason to do it in an activity.
var Hours = cruster.NewActivity("hours", hours)

func hours(_ *cruster.ActivityContext, req StandupRequest) (int, error) {
	zone, err := time.LoadLocation(req.Zone)
	if err != nil {
		return 0, cruster.NonRetryable(err)
	}
	day, err := time.ParseInLocation(time.DateOnly, req.Day, zone)
	if err != nil {
		return 0, cruster.NonRetryable(err)
	}
	return int(day.AddDate(0, 0, 1).Sub(day) / time.Hour), nil
}

//go:embed prompt.txt
var prompt string

func main() {}
