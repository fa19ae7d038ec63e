package guide

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Sleep for a month.

var Remind = cruster.NewWorkflow("Remind", remind)

func remind(ctx cruster.Context, deadline time.Time) (time.Time, error) {
	err := cruster.Sleep(ctx, 30*24*time.Hour)
	if err != nil {
		return time.Time{}, err
	}
	err = cruster.SleepUntil(ctx, deadline)
	return cruster.Now(ctx), err
}

// Wait for a person to approve.

type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

var Approved = cruster.NewDeferred[Decision]("approved")

var RequestApproval = cruster.NewWorkflow("RequestApproval", requestApproval).Accepts(Approved)

func requestApproval(ctx cruster.Context, _ string) (Decision, error) {
	decision, err := Approved.Await(ctx)
	return decision, err
}

var Decide = cruster.NewWorkflow("Decide", decide).Accepts(Approved)

// decide settles a promise of its own twice, and then one of another execution.
func decide(ctx cruster.Context, executionID string) ([]bool, error) {
	decision := Decision{Approved: true, By: "ada"}
	var settled []bool
	ok, err := Approved.Resolve(ctx, decision)
	if err != nil {
		return settled, err
	}
	settled = append(settled, ok)
	ok, err = Approved.Reject(ctx, errors.New("no"))
	if err != nil {
		return settled, err
	}
	settled = append(settled, ok)
	ok, err = Approved.ResolveIn(ctx, executionID, decision)
	return append(settled, ok), err
}

type Asked struct {
	Settled  []bool   `json:"settled"`
	Decision Decision `json:"decision"`
}

var AskAda = cruster.NewWorkflow("AskAda", askAda)

func askAda(ctx cruster.Context, document string) (asked Asked, err error) {
	id, err := RequestApproval.Client().Start(ctx, document)
	if err != nil {
		return asked, err
	}
	if asked.Settled, err = Decide.Client().Execute(ctx, id); err != nil {
		return asked, err
	}
	asked.Decision, err = RequestApproval.Client().Execute(ctx, document)
	return asked, err
}

// Names that are made at run time.

var Approvals = cruster.NewDynamicDeferred[Decision]("approve-")

var RequestApprovals = cruster.NewWorkflow("RequestApprovals", requestApprovals).Accepts(Approvals)

func requestApprovals(ctx cruster.Context, names []string) (bool, error) {
	for _, name := range names {
		decision, err := Approvals.Named(name).Await(ctx)
		if err != nil || !decision.Approved {
			return false, err
		}
	}
	return true, nil
}
