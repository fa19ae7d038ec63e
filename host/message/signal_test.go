package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// TestOnItsWay makes messages of signals: a message that its sender may repeat has the origin given
// by the sender, any other an origin of its own.
func TestOnItsWay(t *testing.T) {
	t.Parallel()
	origin := func() journal.Origin { return originAt(9) }
	value := abi.MustMarshal("v")
	from := journal.Caller{Run: journal.RunID{1}}
	s := message.Signal{Name: "s", Value: value, From: from}
	sent := journal.Message{
		Envelope: journal.Envelope{
			Kind: journal.SignalMessage, Name: "s", At: 5, Bytes: len(value), Origin: originAt(9), From: from,
		},
		Value: value,
	}
	require.Equal(t, sent, s.Message(5, origin))
	require.Equal(t, value, message.Delivery(sent))
	s.Origin = originAt(1)
	sent.Origin, sent.Repeatable = s.Origin, true
	require.Equal(t, sent, s.Message(5, origin))

	u := message.Update{Name: "u", Input: value, Validated: true}
	asked := journal.Message{
		Envelope: journal.Envelope{
			Kind: journal.UpdateMessage, Name: "u", At: 5, Bytes: len(value), Origin: originAt(9), Repeatable: true,
		},
		Value: value,
	}
	require.Equal(t, asked, u.Message(5, origin))
	u.Origin = originAt(1)
	asked.Origin = u.Origin
	require.Equal(t, asked, u.Message(5, origin))
	require.Equal(t, abi.Query{Input: value, Name: "u", Update: true}, u.Question())
	var request abi.UpdateRequest
	require.NoError(t, abi.Unmarshal(message.Delivery(asked), &request))
	require.Equal(t, abi.UpdateRequest{ID: message.UpdateID(u.Origin), Input: value, Name: "u"}, request)
}
