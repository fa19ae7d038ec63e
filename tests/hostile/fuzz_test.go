package hostile

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// FuzzPush uploads any bytes, each under a new name. If the upload is refused, nothing is stored; if it is accepted,
// the module runs, with any outcome, and does not affect other executions.
func FuzzPush(f *testing.F) {
	for _, c := range []crafted{
		wellMade(),
		{manifest: honest(), version: abi.Version, status: abi.StatusParked},
		{manifest: honest(), version: abi.Version, start: wasmtest.Unreachable},
		{manifest: honest(), version: abi.Version + 1},
		{manifest: honest(), version: abi.Version, start: endlessLoop},
		{manifest: []byte{0xc1}, version: abi.Version},
		{manifest: honest(), version: abi.Version, omit: abi.ExportMemory},
		{
			manifest: honest(),
			version:  abi.Version,
			outcome:  abi.MustMarshal(abi.Outcome{Error: &abi.Error{Message: "no"}}),
		},
		{
			manifest: honest(),
			version:  abi.Version,
			imports:  []craftedImport{{module: abi.ImportModule, name: abi.OpSleep, typ: wasmtest.TypeOp}},
		},
	} {
		f.Add(c.binary())
	}
	b := setup(f, func(c *host.Config) {
		c.TurnTimeout = 50 * time.Millisecond
		c.Wasm = wasm.Config{InitTimeout: 200 * time.Millisecond, MemoryLimit: 4 << 20}
	})
	f.Fuzz(func(t *testing.T, binary []byte) {
		name := "d" + wasm.Digest(binary)[:40]
		info, err := b.engine.Deployments().Push(t.Context(), host.PushRequest{Name: name, Binary: binary})
		if err != nil {
			b.requireRefused(t, err, "", name, binary)
			return
		}
		for _, w := range info.Manifest.Workflows[:min(3, len(info.Manifest.Workflows))] {
			row, _, err := b.engine.Launcher().Start(t.Context(), host.StartRequest{
				Workflow: name + "/" + w.Name, Input: abi.Nil,
			})
			if err != nil {
				requireCode(t, err, "")
				continue
			}
			b.requireOrderly(t, row.Name())
		}
	})
}

// requireOrderly waits until an execution has ended, is paused, or waits for an event from outside.
func (b *testBundle) requireOrderly(t *testing.T, execution string) {
	t.Helper()
	harness.Eventually(t, execution+" comes to rest", func() bool {
		d, err := b.engine.Observer().Describe(t.Context(), "", execution)
		require.NoError(t, err)
		if d.State != journal.Running {
			requireEnd(t, &d.Execution)
			return true
		}
		return len(d.Pending) > 0
	})
}

// FuzzBody passes bytes to an import, from a workflow or an activity. The guest gets a reply and goes on.
func FuzzBody(f *testing.F) {
	names := slices.Concat(abi.OpKinds, abi.ImmediateCalls)
	for i, name := range names {
		f.Add(byte(i), false, goodBodies()[name])
		f.Add(byte(i), true, goodBodies()[name])
		for j, body := range badBodies(f, name) {
			if j%29 == 0 && len(body) < 1000 {
				f.Add(byte(i), j%2 == 0, body)
			}
		}
	}
	b := setup(f)
	b.pushRaw(f)
	n := 0
	f.Fuzz(func(t *testing.T, which byte, inside bool, body []byte) {
		name, where := names[int(which)%len(names)], inWorkflow
		if inside {
			where = inActivity
		}
		n++
		// Not awaited: a body may ask for an op that never ends.
		results := b.perform(t, script{Where: where, Steps: []step{{Import: name, Body: body}}}, fmt.Sprint("fuzz-", n))
		require.Len(t, results, 1)
		if results[0].N < 0 {
			require.NotEmpty(t, results[0].Code)
			require.NotEqual(t, string(abi.CodeInternal), results[0].Code)
		}
		if !allowed(name, where) {
			require.Negative(t, results[0].N)
		}
	})
}
