package recode

import (
	"context"

	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/journal"
)

// Effects computes the local effects for an execution that goes on where a trial has ended.
// Undeclared values are not published: a turn that publishes it will be refused when it is taken.
func (c *Recoder) Effects(ctx context.Context, row *journal.Execution, t Trial) (ledger.Effects, error) {
	p := t.did
	did := ledger.Effects{Answers: p.answers, Unwanted: p.unwanted}
	if p.publish == nil {
		return did, nil
	}
	old, err := c.Rows.Published(ctx, row)
	if err != nil {
		return ledger.Effects{}, err
	}
	published, refused, err := c.Publisher.Merged(ctx, row, old, p.publish)
	if err != nil {
		return ledger.Effects{}, err
	}
	if refused == nil && !publish.Same(published, old) {
		did.Publish = published
	}
	return did, nil
}
