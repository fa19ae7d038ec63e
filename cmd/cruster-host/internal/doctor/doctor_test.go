package doctor

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
)

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"go1.26.0":   true,
		"go1.26":     true,
		"go1.26.8":   true,
		"go1.27rc1":  true,
		"go2.0":      true,
		"go1.25.9":   false,
		"go1.9":      false,
		"devel +abc": true,
		"go1.26-x":   true,
	} {
		require.Equal(t, want, atLeast(text, "1.26.0"), text)
	}
	require.True(t, atLeast("rustc 1.95.0 (59807616e 2026-04-14)", leastRust))
	require.False(t, atLeast("rustc 1.84.1 (abc 2025-01-01)", leastRust))
}

func TestToolchains(t *testing.T) {
	t.Parallel()
	require.Equal(t, OK, judgeGo("go1.26.1", false, nil).Status)
	require.Equal(t, OK, judgeRust("rustc 1.95.0", false, nil).Status)
	require.Equal(t, OK, judgeTarget(true, true).Status)
	for _, f := range []Finding{
		judgeGo("", true, nil), judgeGo("", false, errors.New("exit status 1")), judgeGo("go1.20", false, nil),
		judgeRust("", true, nil), judgeRust("", false, errors.New("exit status 1")),
		judgeRust("rustc 1.70.0", false, nil),
		judgeTarget(false, true), judgeTarget(false, false),
	} {
		require.Equal(t, Problem, f.Status, f)
		require.NotEmpty(t, f.Fix, f)
		require.NotEmpty(t, f.Text, f)
	}
	require.Equal(t, "rustup target add wasm32-wasip1", judgeTarget(false, false).Fix)
}

func TestOneLanguageIsEnough(t *testing.T) {
	t.Parallel()
	ok, bad := Finding{Status: OK}, Finding{Status: Problem}
	status := func(golang Finding, rust ...Finding) (all []string) {
		for _, f := range languages(golang, rust) {
			all = append(all, f.Status)
		}
		return all
	}
	require.Equal(t, []string{OK, Note}, status(ok, bad))
	require.Equal(t, []string{OK, OK, Note}, status(ok, ok, bad))
	require.Equal(t, []string{Note, OK, OK}, status(bad, ok, ok))
	require.Equal(t, []string{Problem, OK, Problem}, status(bad, ok, bad))
}

func TestPorts(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	taken := l.Addr().String()
	require.Equal(t, OK, examinePort("port", "--grpc-addr", "127.0.0.1:0", false).Status)
	require.Equal(t, OK, examinePort("port", "--grpc-addr", taken, true).Status)
	f := examinePort("port", "--grpc-addr", taken, false)
	require.Equal(t, Problem, f.Status)
	require.Equal(t, "cruster-host dev --grpc-addr "+nextPort(taken), f.Fix)
	require.Equal(t, Problem, examinePort("port", "--grpc-addr", "nonsense", false).Status)

	require.Equal(t, "127.0.0.1:7601", nextPort("127.0.0.1:7600"))
	require.Equal(t, "127.0.0.1:0", nextPort("127.0.0.1:65535"))
	require.Equal(t, "127.0.0.1:0", nextPort("nonsense"))
}

func TestStores(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	look := func(store string) Finding {
		spec, err := serve.ParseStore(store, "cruster")
		require.NoError(t, err)
		return examineStore(t.Context(), spec, false)
	}
	require.Equal(t, OK, look("sqlite:"+filepath.Join(dir, "not", "yet")).Status)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "a look changes nothing")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, Problem, look("sqlite:"+file).Status)

	f := look("postgres://ada:secret@127.0.0.1:1/cruster")
	require.Equal(t, Problem, f.Status)
	require.NotContains(t, f.Text, "secret")
	require.Equal(t, "psql -h 127.0.0.1 -p 1 -U ada cruster", f.Fix)

	f = judgeStore(serve.StoreProbe{Text: "/data", Free: 5e6}, false, nil)
	require.Equal(
		t, Finding{What: "store", Status: Problem, Text: "/data: only 5.0 MB are free", Fix: "df -h /data"}, f,
	)
	require.Equal(t, OK, judgeStore(serve.StoreProbe{Text: "postgres", Free: -1}, false, nil).Status)
}

func TestNoHost(t *testing.T) {
	t.Parallel()
	f := examineHost(t.Context(), "127.0.0.1:1", "cruster-host dev")
	require.Equal(
		t, Finding{What: "host", Status: Note, Text: "none answers at 127.0.0.1:1", Fix: "cruster-host dev"}, f,
	)
}

// TestStoreInUse: no second host can have it.
func TestStoreInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec, err := serve.ParseStore("sqlite:"+dir, "")
	require.NoError(t, err)
	require.Equal(t, OK, examineStore(t.Context(), spec, false).Status)
	store, err := spec.Open(t.Context(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	f := examineStore(t.Context(), spec, false)
	require.Equal(t, Problem, f.Status)
	require.Equal(t, dir+" is in use by another process, and no host answers", f.Text)
	require.Contains(t, f.Fix, "cruster-host dev --data-dir ")
	require.Equal(t, Note, examineStore(t.Context(), spec, true).Status)
	require.NoError(t, store.Close())
	require.Equal(t, OK, examineStore(t.Context(), spec, false).Status)
}

func TestStartCommand(t *testing.T) {
	t.Parallel()
	for store, command := range map[string]string{
		"sqlite:cruster-data":           "cruster-host dev",
		"sqlite:/data":                  "cruster-host dev --data-dir /data",
		"postgres://ada:secret@db/shop": "cruster-host serve --store postgres://…",
	} {
		spec, err := serve.ParseStore(store, "cruster")
		require.NoError(t, err)
		require.Equal(t, command, spec.StartCommand())
	}
}

// TestStartCommandListensWhereCommandsLook: a host that is started as suggested is found. One on another machine is
// started there.
func TestStartCommandListensWhereCommandsLook(t *testing.T) {
	t.Parallel()
	spec, err := serve.ParseStore("sqlite:cruster-data", "cruster")
	require.NoError(t, err)
	for addr, command := range map[string]string{
		"127.0.0.1:7600": "cruster-host dev",
		"127.0.0.1:7700": "cruster-host dev --grpc-addr 127.0.0.1:7700",
		"localhost:7700": "cruster-host dev --grpc-addr localhost:7700",
		"[::1]:7600":     "cruster-host dev --grpc-addr [::1]:7600",
		"db.test:7600":   "cruster-host dev",
		"unix:/socket":   "cruster-host dev",
	} {
		require.Equal(t, command, startCommand(Config{Addr: addr, Store: spec}), addr)
	}
}
