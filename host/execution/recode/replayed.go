package recode

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/publish"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// replayed sums up the local effects of the turns of a trial: code that an execution is moved to,
// or a fork, may publish and answer where other code did not, or where no one performed it.
type replayed struct {
	unanswered message.Updates // the updates whose answers matter
	answers    message.Answers
	publish    *abi.Publish // nil if nothing was published
	// unwanted are steps that turns have given up which had no commit of their own.
	unwanted []journal.StepID
}

// note takes note of a turn.
func (p *replayed) note(player *replay.Player, turn guest.Turn) {
	if !player.HasCommit() {
		p.unwanted = append(p.unwanted, ledger.UnwantedIn(player)...)
	}
	for _, o := range turn.Issued {
		switch body := o.Body.(type) {
		case *abi.Answer:
			if update, there := p.unanswered[body.ID]; there {
				p.answers.Give(update, body)
			}
		case *abi.Publish:
			if p.publish == nil {
				p.publish = &abi.Publish{}
			}
			p.publish = publish.Overlaid(p.publish, body)
		}
	}
}
