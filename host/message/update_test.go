package message_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// TestTold reads testdata/told: the replies to callers.
//
//	standing of=POSITION [receipt]                    a MESSAGE of the inbox a line, as in TestInbox
//	refusal [code=CODE] [refuses[=CODE]]              the error of the question, or its reply
//	late [accepted] [repeated]                        the deadline of the caller of an update passed
//	unanswered, full
//	answer [fails[=CODE]]                             the guest's answer to an update
func TestTold(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/told", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "standing":
			var position uint64
			d.ScanArgs(t, "of", &position)
			var receipt *journal.Receipt
			if d.HasArg("receipt") {
				receipt = &journal.Receipt{Origin: originAt(position), Value: abi.Nil}
				require.Equal(t, abi.Outcome{Value: abi.Nil}, message.OutcomeOf(receipt))
			}
			return []string{"unknown\n", "accepted\n", "done\n"}[message.StatusOf(
				originAt(position), envelopes(t, d.Input), receipt,
			)]
		case "refusal":
			return told(message.Refusal(replyOf(d)))
		case "late":
			u := message.Update{Name: "x"}
			if d.HasArg("repeated") {
				u.Origin = originAt(1)
			}
			if d.HasArg("accepted") {
				return told(u.NotAnsweredYet("d/W/k"))
			}
			return told(u.PerhapsAccepted("d/W/k"))
		case "unanswered":
			return told(message.Unanswered(&journal.Execution{Workflow: "d/W", Key: "k", State: journal.Failed}))
		case "full":
			return told(message.Full("d/W/k"))
		case "answer":
			reply, _ := replyOf(d)
			var given message.Answers
			given.Give(journal.Envelope{}, &abi.Answer{Value: abi.MustMarshal(1), Error: reply.Error})
			if outcome := given[0].Outcome; outcome.Error != nil {
				return told(outcome.Error)
			}
			return fmt.Sprintf("% x\n", given[0].Outcome.Value)
		default:
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		}
	})
}

// replyOf returns the reply of a guest.
func replyOf(d *datadriven.TestData) (reply abi.Outcome, err error) {
	for _, code := range names(d, "code") {
		return reply, abi.Errorf(abi.Code(code), "it cannot be asked")
	}
	if !d.HasArg("refuses") && !d.HasArg("fails") {
		return abi.Outcome{Value: abi.Nil}, nil
	}
	reply.Error = &abi.Error{
		Message: "not today", Code: abi.Code(strings.Join(append(names(d, "refuses"), names(d, "fails")...), "")),
	}
	return reply, nil
}

func told(err error) string {
	var coded *abi.Error
	switch {
	case err == nil:
		return "nothing\n"
	case !errors.As(err, &coded):
		return err.Error() + "\n"
	}
	out := fmt.Sprintf("%s: %s\n", coded.Code, coded.Message)
	if coded.Hint != "" {
		out += coded.Hint + "\n"
	}
	return out
}
