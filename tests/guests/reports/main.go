// Command reports is the module that pages on keys and schedules speak of: pushed as "reports" it makes reports, pushed
// as "jobs" it leads.
package main

import cruster "github.com/cruster/cruster/guest-sdk/go"

type day struct {
	Day  string `json:"day,omitempty"`
	Full bool   `json:"full,omitempty"`
}

var count = cruster.NewActivity("count", func(*cruster.ActivityContext, day) (int, error) { return 3, nil })

var (
	_ = cruster.NewWorkflow("Daily", func(ctx cruster.Context, d day) (int, error) { return count.Call(ctx, d) })
	_ = cruster.NewWorkflow("Nightly", func(ctx cruster.Context, _ cruster.None) (int, error) {
		return count.Call(ctx, day{})
	})
	_ = cruster.NewWorkflow("Lead", func(ctx cruster.Context, _ cruster.None) (int, error) {
		return count.Call(ctx, day{})
	})
)

func main() {}
