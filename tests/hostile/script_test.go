package hostile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// script, step and result are as in tests/guests/raw.
type script struct {
	Await  bool     `msgpack:"await"`
	Output [][]byte `msgpack:"output"`
	Status *int32   `msgpack:"status"`
	Steps  []step   `msgpack:"steps"`
	Where  string   `msgpack:"where"`
}

type step struct {
	Body   []byte  `msgpack:"body"`
	Import string  `msgpack:"import"`
	Len    *uint32 `msgpack:"len"`
	Ptr    *uint32 `msgpack:"ptr"`
	Number int32   `msgpack:"number"`
	Times  int     `msgpack:"times"`
}

type result struct {
	Code string `msgpack:"code"`
	N    int32  `msgpack:"n"`
}

// Where a script can run.
const (
	inWorkflow = "workflow"
	inActivity = "activity"
	inKey      = "key"
)

// play runs a script to its end. If its key function fails, play returns the error of the start.
func (b *testBundle) play(t testing.TB, s script, key string) (*journal.Execution, error) {
	t.Helper()
	req := host.StartRequest{Workflow: "raw/Raw", Input: harness.Encode(t, s), Key: key, KeyMode: abi.KeyRaw}
	if s.Where == inKey {
		req.Workflow, req.Key, req.KeyMode = "raw/RawKey", "", abi.KeyDerived
	}
	started, _, err := b.engine.Launcher().Start(t.Context(), req)
	if err != nil {
		return nil, err
	}
	return harness.Wait(t, b.engine, started.Name()), nil
}

// perform runs steps that the guest survives, and returns their results.
func (b *testBundle) perform(t testing.TB, s script, key string) []result {
	t.Helper()
	row, err := b.play(t, s, key)
	require.NoError(t, err)
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	return harness.Decode[[]result](t, row.Value)
}
