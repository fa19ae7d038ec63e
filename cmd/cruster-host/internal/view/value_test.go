package view

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func TestPretty(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                      "",
		"1":                     "1",
		`{"a":[1.0,2]}`:         "{\n  \"a\": [\n    1.0,\n    2\n  ]\n}",
		`not JSON, yet no loss`: `not JSON, yet no loss`,
	} {
		require.Equal(t, want, Pretty(json.RawMessage(raw)))
	}
}

func TestPayloadsAreTheirJSON(t *testing.T) {
	t.Parallel()
	require.Nil(t, payloadJSON(nil))
	require.Nil(t, payloadJSON(&crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: []byte{1}}}))
	require.Equal(t, "null", string(payloadJSON(&crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: "null"}})))
}

func TestTimes(t *testing.T) {
	t.Parallel()
	require.Empty(t, timeText(nil))
	require.Nil(t, timeOf(nil))
	at := time.Date(2026, 1, 31, 12, 0, 0, 123456789, time.UTC)
	require.Equal(t, "2026-01-31 12:00:00.123Z", timeText(timestamppb.New(at)))
	require.Equal(t, at, *timeOf(timestamppb.New(at)), "scripts get all digits")
}

func TestShortDigest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0123456789ab", shortDigest("0123456789abcdef"))
	require.Equal(t, "0123", shortDigest("0123"))
}
