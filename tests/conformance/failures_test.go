package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// declined is the beginning of the message of a declined card.
const declined = "the card was declined: "

// failureCases check that the messages, types and details of failures are the same
// everywhere: in workflows, in activities, and when they are passed on.
func failureCases() []testCase {
	cents := object{"cents": 150}
	var cases []testCase
	for _, f := range []struct {
		how, message, typ string
		details           any
	}{
		{"plain", "plainly wrong", "", nil},
		{"plain in words", "while paying: plainly wrong", "", nil},
		{"no money", declined + "no money", "card_declined", cents},
		{"in words", "while paying: " + declined + "in words", "card_declined", cents},
		{"in words twice", "order 7: while paying: " + declined + "in words twice", "card_declined", cents},
		{"final", declined + "final", "card_declined", cents},
		{"final in words", "while paying: " + declined + "final in words", "card_declined", cents},
		{"without a type", "an untyped error", "", nil},
		{"without words", "", "silent", nil},
		{"unicode", "zu groß: 世界 🌍 \u202e", "größe", "größer \u0000"},
		{"details of nothing", "details of nothing", "nothing", nil},
		{"details too large", "details too large", "much", nil},
	} {
		seen := object{"code": "CR-3001", "text": "CR-3001: " + f.message}
		if f.typ != "" {
			seen["type"] = f.typ
		}
		cases = append(cases,
			failed(f.how, f.message, f.typ, f.details),
			testCase{name: "step fails, " + f.how, workflow: "Decline", input: f.how, want: object{"seen": seen, "details": f.details}, journal: declineJournal(f.how)})
	}
	cases = append(cases,
		failed("long", strings.Repeat("ä", 8_000), "long", nil),
		testCase{name: "step fails, long", workflow: "Decline", input: "long", journal: declineJournal("long")},
		testCase{
			name: "step fails, statement", workflow: "Decline", input: "statement",
			want:    object{"seen": object{"code": "CR-3102"}, "details": nil},
			journal: declineJournal("statement"),
		},
	)
	for from, message := range map[string]string{
		"activity":    declined + "final",
		"child":       declined + "no money",
		"plain child": "plainly wrong",
		"deferred":    declined + "by itself",
		"timeout":     "timed out",
		"refusal":     "CR-2005: the input of activity bulk takes 5242885 bytes",
		"missing":     "CR-2001: ",
	} {
		for _, words := range []string{"", "order 7"} {
			c := testCase{
				name: "passed on from " + from, workflow: "Rethrow", needs: []string{"Fail"}, input: object{"from": from},
				state: journal.Failed, code: abi.CodeWorkflowFailed, text: message,
			}
			if words != "" {
				c.name, c.input, c.text = c.name+" in words", object{"from": from, "words": words}, words+": "
			}
			cases = append(cases, c)
		}
	}
	return append(cases,
		testCase{
			name: "failed child followed", workflow: "FollowFailed", needs: []string{"Fail"}, input: "no money",
			journal: []string{"send Fail", "call Fail CR-2006", "poll " + followedID()},
		},
		testCase{name: "plain failed child followed", workflow: "FollowFailed", needs: []string{"Fail"}, input: "plain"},
	)
}

func followedID() string { return "conformance/Fail/" + abi.HashString("followed no money") }

// failed is a workflow that fails with a message, a type and details.
func failed(how, message, typ string, details any) testCase {
	return testCase{
		name: "fails, " + how, workflow: "Fail", input: how, state: journal.Failed, code: abi.CodeWorkflowFailed, text: message, journal: []string{},
		after: func(t *testing.T, _ *testBundle, row *journal.Execution) {
			require.Equal(t, typ, row.Error.Type)
			if details != nil {
				requireValue(t, details, row.Error.Details)
			}
		},
	}
}

// declineJournal is the journal of an activity with one retry.
func declineJournal(how string) []string {
	switch how {
	case "final", "final in words":
		return []string{"activity decline CR-3001"}
	case "statement":
		return []string{"activity decline CR-3102"}
	}
	return []string{"activity decline failed", "activity decline CR-3001"}
}
