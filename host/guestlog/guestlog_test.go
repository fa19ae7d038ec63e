package guestlog_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guestlog"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	to := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})).With("execution", "orders/ProcessOrder/1")
	guestlog.Write(
		to, abi.LogWarn,
		abi.EncodeLog("charged", []abi.LogAttr{
			{Key: "cents", Value: 500}, {Key: "who", Value: "ada"}, {Key: "execution", Value: "another"},
		}),
	)
	guestlog.Write(to, abi.LogInfo, []byte("plain"))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 3)
	require.JSONEq(
		t,
		`{"level":"WARN","msg":"charged","execution":"orders/ProcessOrder/1","cents":500,"who":"ada","guest.execution":"another"}`,
		lines[0],
	)
	require.JSONEq(t, `{"level":"INFO","msg":"plain","execution":"orders/ProcessOrder/1"}`, lines[1])
}

func TestErrorsAreCut(t *testing.T) {
	t.Parallel()
	require.Equal(t, "no", guestlog.Error(&abi.Error{Message: "no"}))
	require.Equal(
		t, strings.Repeat("x", 499)+"…",
		guestlog.Error(&abi.Error{Message: strings.Repeat("x", 499) + strings.Repeat("ä", 10_000)}),
		"not within a letter",
	)
}
