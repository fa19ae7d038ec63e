package abi_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestDecodeOutcome(t *testing.T) {
	t.Parallel()
	out, err := abi.DecodeOutcome(abi.MustMarshal(&abi.Outcome{
		Value: []byte("\x82\xa1b\x01\xa1a\xd3\x00\x00\x00\x00\x00\x00\x00\x02"),
	}))
	require.Nil(t, err)
	require.Equal(t, []byte("\x82\xa1a\x02\xa1b\x01"), out.Value, "keys are sorted and numbers are short")

	out, err = abi.DecodeOutcome(abi.MustMarshal(&abi.Outcome{
		Value: abi.Nil, Error: &abi.Error{Code: "CR-2001", Message: "declined"},
	}))
	require.Nil(t, err)
	require.Nil(t, out.Value, "a failure has no value")
	require.Equal(t, "declined", out.Error.Message)

	for name, c := range map[string]struct {
		output []byte
		code   abi.Code
	}{
		"garbage":           {[]byte{0xc1}, abi.CodeBadBody},
		"value is no value": {abi.MustMarshal(&abi.Outcome{Value: []byte{0x01, 0x02}}), abi.CodeBadBody},
		"value too large": {
			abi.MustMarshal(&abi.Outcome{Value: make([]byte, abi.MaxPayload+1)}), abi.CodePayloadTooLarge,
		},
	} {
		_, err := abi.DecodeOutcome(c.output)
		require.NotNil(t, err, name)
		require.Equal(t, c.code, err.Code, name)
	}
}

func TestClamp(t *testing.T) {
	t.Parallel()
	e := &abi.Error{
		Code:    "my own",
		Message: strings.Repeat("ä", 20_000),
		Hint:    "broken \xff",
		Type:    strings.Repeat("t", abi.MaxName+1),
		Details: make([]byte, 256<<10+1),
	}
	e.Clamp()
	require.Empty(t, e.Code)
	require.LessOrEqual(t, len(e.Message), 16<<10)
	require.True(t, strings.HasSuffix(e.Message, "ä…"), "it is cut between two characters")
	require.Equal(t, "broken \uFFFD", e.Hint)
	require.Len(t, e.Type, abi.MaxName)
	require.True(t, utf8.ValidString(e.Type))
	require.Nil(t, e.Details)

	small := abi.Error{Code: abi.CodeSQL, Message: "m", Hint: "h", Type: "t", Details: []byte{1}}
	same := small
	same.Clamp()
	require.Equal(t, small, same)
}

func TestDecodeContinue(t *testing.T) {
	t.Parallel()
	got, err := abi.DecodeOutcome(abi.MustMarshal(abi.Outcome{
		Continue: &abi.Continue{Input: []byte{0xcd, 0, 5}, Unread: []string{"paid"}}, Value: []byte{0xc1},
	}))
	require.Nil(t, err)
	require.Equal(t, &abi.Outcome{Continue: &abi.Continue{Input: []byte{5}, Unread: []string{"paid"}}}, got)
	for name, c := range map[string]abi.Continue{
		"no input":          {},
		"unread of no name": {Input: abi.Nil, Unread: []string{""}},
	} {
		_, err := abi.DecodeOutcome(abi.MustMarshal(abi.Outcome{Continue: &c}))
		require.NotNil(t, err, name)
	}
}

// TestNamesOfUnreadSignals: the host looks for each signal that it holds among them, outside of
// the work that the guest is charged for.
func TestNamesOfUnreadSignals(t *testing.T) {
	t.Parallel()
	names := make([]string, abi.MaxInbox+1)
	for i := range names {
		names[i] = "s"
	}
	_, err := abi.DecodeOutcome(abi.MustMarshal(&abi.Outcome{Continue: &abi.Continue{Input: abi.Nil, Unread: names}}))
	require.NotNil(t, err, "there are not as many signals")
}
