// Command quorum asks several people at once, reminds the silent ones, and goes by the majority that was asked for.
package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// QuorumRequest is the request of Decide.
type QuorumRequest struct {
	// Proposal is the key of a decision.
	Proposal  string   `json:"proposal"`
	Approvers []string `json:"approvers"`
	// Needed is how many have to agree. Defaults to more than half of them.
	Needed int64 `json:"needed,omitempty"`
	// RemindMS is after how long people without a vote are reminded, in milliseconds, again and
	// again. Defaults to a day.
	RemindMS int64 `json:"remind_ms,omitempty"`
	// DeadlineMS is how long all may take, in milliseconds. Defaults to a week.
	DeadlineMS int64 `json:"deadline_ms,omitempty"`
}

// Vote is the vote of one of them; the value of the deferred "vote-NAME".
type Vote struct {
	Agrees bool   `json:"agrees"`
	Remark string `json:"remark,omitempty"`
}

// QuorumResult is the result of Decide.
type QuorumResult struct {
	// Decision is accepted, rejected or expired.
	Decision string   `json:"decision"`
	For      []string `json:"for"`
	Against  []string `json:"against"`
}

// Votes are settled from outside, one for each of the people asked:
//
//	cruster-host deferred resolve EXECUTION vote-ada --input '{"agrees":true}'
var Votes = cruster.NewDynamicDeferred[Vote]("vote-")

// Decide asks for votes on a proposal, once per proposal.
var Decide = cruster.NewWorkflow("Decide", decide, cruster.RawKey(func(r QuorumRequest) string { return r.Proposal })).
	Accepts(Votes)

func decide(ctx cruster.Context, req QuorumRequest) (QuorumResult, error) {
	needed := int(req.Needed)
	if needed <= 0 {
		needed = len(req.Approvers)/2 + 1
	}
	if needed > len(req.Approvers) {
		return QuorumResult{}, cruster.Errorf("invalid_request", "%d of %d can never agree", needed, len(req.Approvers))
	}
	// When the decision is made, or the time is up, the remaining waits and reminders are given up.
	voting, cancel := cruster.WithDeadline(ctx, cruster.Now(ctx).Add(milliseconds(req.DeadlineMS, 7*24*time.Hour)))
	defer cancel()
	result := QuorumResult{For: []string{}, Against: []string{}}
	decided := func() string {
		switch {
		case len(result.For) >= needed:
			return "accepted"
		case len(req.Approvers)-len(result.Against) < needed:
			return "rejected"
		}
		return ""
	}
	for _, name := range req.Approvers {
		cruster.Go(voting, func(ctx cruster.Context) error {
			vote, err := ask(ctx, req, name)
			switch {
			case err != nil:
				return err
			case vote.Agrees:
				result.For = append(result.For, name)
			default:
				result.Against = append(result.Against, name)
			}
			return nil
		})
	}
	err := cruster.WaitUntil(voting, func() bool { return decided() != "" })
	switch {
	case errors.Is(err, cruster.ErrTimeout):
		result.Decision = "expired"
	case err != nil:
		return QuorumResult{}, err
	default:
		result.Decision = decided()
	}
	cancel()
	_, err = Announce.Call(ctx, Announcement{Proposal: req.Proposal, Decision: result.Decision})
	return result, err
}

// ask waits for the vote of one of them, and reminds them while there is none.
func ask(ctx cruster.Context, req QuorumRequest, name string) (Vote, error) {
	vote := Votes.Named(name).Future(ctx)
	for n := int64(1); ; n++ {
		v, err := cruster.WithTimeout(ctx, milliseconds(req.RemindMS, 24*time.Hour), vote)
		if !errors.Is(err, cruster.ErrTimeout) || cruster.Err(ctx) != nil {
			return v, err
		}
		if _, err := Remind.Call(ctx, Reminder{Proposal: req.Proposal, Name: name, Number: n}); err != nil {
			return Vote{}, err
		}
	}
}

func milliseconds(n int64, otherwise time.Duration) time.Duration {
	if n <= 0 {
		return otherwise
	}
	return time.Duration(n) * time.Millisecond
}

// Reminder is the input of Remind.
type Reminder struct {
	Proposal string `json:"proposal"`
	Name     string `json:"name"`
	Number   int64  `json:"number"`
}

// Remind reminds one of them: here it writes a row, in the place of a letter.
var Remind = cruster.NewActivity("remind", remind, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func remind(ctx *cruster.ActivityContext, r Reminder) (bool, error) {
	_, err := ctx.Tx().Exec(
		`INSERT INTO quorum_letters (proposal, kind, recipient, number) VALUES ($1, 'reminder', $2, $3)`, r.Proposal,
		r.Name, r.Number,
	)
	return err == nil, err
}

// Announcement is the input of Announce.
type Announcement struct {
	Proposal string `json:"proposal"`
	Decision string `json:"decision"`
}

// Announce tells everyone the decision.
var Announce = cruster.NewActivity(
	"announce", announce, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond),
)

func announce(ctx *cruster.ActivityContext, a Announcement) (bool, error) {
	_, err := ctx.Tx().Exec(
		`INSERT INTO quorum_letters (proposal, kind, recipient, number) VALUES ($1, $2, 'all', 1)`, a.Proposal,
		a.Decision,
	)
	return err == nil, err
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "letters", SQL: `
CREATE TABLE quorum_letters (
	proposal  TEXT NOT NULL,
	kind      TEXT NOT NULL,
	recipient TEXT NOT NULL,
	number    BIGINT NOT NULL
)`},
)

func main() {}
