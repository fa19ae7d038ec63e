// Command approval is a workflow that waits for a person: until the deferred "approved" is settled, or until the time
// is up.
package main

import (
	"errors"
	"time"

	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// ApprovalRequest is the request of RequestApproval.
type ApprovalRequest struct {
	Document string `json:"document"`
	// TimeoutMS is how long to wait, in milliseconds. Defaults to a day.
	TimeoutMS int64 `json:"timeout_ms,omitempty"`
}

// Decision is the decision of a person; the value of the deferred "approved".
type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
	Comment  string `json:"comment,omitempty"`
}

// ApprovalResult is the result of RequestApproval.
type ApprovalResult struct {
	Document string `json:"document"`
	// Status is approved, rejected, timed_out or withdrawn.
	Status  string `json:"status"`
	By      string `json:"by,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// Approved is settled from outside:
//
//	cruster-host deferred resolve EXECUTION approved --input '{"approved":true,"by":"ada"}'
var Approved = cruster.NewDeferred[Decision]("approved")

// RequestApproval asks for the approval of a document, once per document.
var RequestApproval = cruster.NewWorkflow("RequestApproval", requestApproval,
	cruster.RawKey(func(r ApprovalRequest) string { return r.Document })).Accepts(Approved)

func requestApproval(ctx cruster.Context, req ApprovalRequest) (ApprovalResult, error) {
	if req.Document == "" {
		return ApprovalResult{}, cruster.Errorf("invalid_request", "an approval needs a document")
	}
	if _, err := Open.Call(ctx, req.Document); err != nil {
		return ApprovalResult{}, err
	}
	timeout := 24 * time.Hour
	if req.TimeoutMS > 0 {
		timeout = time.Duration(req.TimeoutMS) * time.Millisecond
	}
	decision, err := cruster.WithTimeout(ctx, timeout, Approved.Future(ctx))
	result := ApprovalResult{Document: req.Document, By: decision.By, Comment: decision.Comment}
	var rejected *cruster.Error
	switch {
	case errors.Is(err, cruster.ErrInterrupted):
		result.Status = "withdrawn"
	case errors.Is(err, cruster.ErrTimeout):
		result.Status = "timed_out"
	case errors.As(err, &rejected):
		result.Status, result.Comment = "rejected", rejected.Message
	case err != nil:
		return ApprovalResult{}, err
	case decision.Approved:
		result.Status = "approved"
	default:
		result.Status = "rejected"
	}
	// Close records the outcome in any case, also when an interrupt withdrew the request.
	if _, closing := Close.Call(cruster.Shield(ctx), result); closing != nil {
		return ApprovalResult{}, closing
	}
	if result.Status == "withdrawn" {
		return ApprovalResult{}, err
	}
	return result, nil
}

// Open records that an approval was asked for.
var Open = cruster.NewActivity("open", open, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond))

func open(ctx *cruster.ActivityContext, document string) (bool, error) {
	_, err := ctx.Tx().Exec(`INSERT INTO approvals (document, execution, status) VALUES ($1, $2, 'open')
		ON CONFLICT (document) DO UPDATE SET status = 'open'`, document, ctx.ExecutionID())
	if err != nil {
		return false, err
	}
	return true, record(ctx, "open")
}

// Close records the outcome.
var Close = cruster.NewActivity(
	"close", closeApproval, cruster.Retries(3), cruster.ExponentialBackoff(100*time.Millisecond),
)

func closeApproval(ctx *cruster.ActivityContext, r ApprovalResult) (bool, error) {
	_, err := ctx.Tx().Exec(`UPDATE approvals SET status = $1, decided_by = $2, remark = $3 WHERE document = $4`,
		r.Status, r.By, r.Comment, r.Document)
	if err != nil {
		return false, err
	}
	return true, record(ctx, "close")
}

// record writes a row for a step that took effect, so that tests can count them.
func record(ctx *cruster.ActivityContext, step string) error {
	_, err := ctx.Tx().Exec(`INSERT INTO approval_effects (execution, step) VALUES ($1, $2)`, ctx.ExecutionID(), step)
	return err
}

var _ = cruster.Migrations(
	cruster.Migration{Version: 1, Name: "approvals", SQL: `
CREATE TABLE approvals (
	document   TEXT PRIMARY KEY,
	execution  TEXT NOT NULL,
	status     TEXT NOT NULL,
	decided_by TEXT,
	remark     TEXT
)`},
	cruster.Migration{Version: 2, Name: "effects", SQL: `
CREATE TABLE approval_effects (
	execution TEXT NOT NULL,
	step      TEXT NOT NULL
)`},
)

func main() {}
