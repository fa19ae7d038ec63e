package host_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// bank is an engine with the entities of tests/guests/entities.
type bank struct {
	t testing.TB
	*host.Engine
}

func newBank(t testing.TB, store journal.Store, options ...func(*host.Config)) *bank {
	b := &bank{t, harness.Engine(t, store, options...)}
	harness.Push(t, b.Engine, "bank", "tests/guests/entities")
	return b
}

// ask calls an operation; its error has the code of the outcome's.
func (b *bank) ask(entity, operation string, input any, requestID string) (int64, error) {
	o, err := b.Entities().Call(b.t.Context(), host.EntityRequest{
		Entity: "bank/" + entity, Operation: operation, Input: harness.Encode(b.t, input), RequestID: requestID,
	})
	if err != nil {
		return 0, err
	}
	if o.Error != nil {
		return 0, o.Error
	}
	return harness.Decode[int64](b.t, o.Value), nil
}

// must is ask of an operation that succeeds.
func (b *bank) must(entity, operation string, input any) int64 {
	b.t.Helper()
	n, err := b.ask(entity, operation, input, "")
	require.NoError(b.t, err)
	return n
}

// nothing is the input of operations that take none.
var nothing = object{}

func TestEntities(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		b := newBank(t, store)
		require.EqualValues(t, 0, b.must("Account/ada", "balance", nothing))
		require.EqualValues(t, 500, b.must("Account/ada", "deposit", 500))
		require.EqualValues(t, 500, b.must("Account/ada", "balance", nothing))
		_, err := b.ask("Account/ada", "deposit", -501, "")
		require.Equal(t, abi.CodeOperationFailed, abi.CodeOf(err))
		require.Equal(t, "poor", abi.AsError(err).Type)
		_, err = b.ask("Account/ada", "panic", nothing, "")
		require.Equal(t, abi.CodeOperationCrashed, abi.CodeOf(err))
		require.EqualValues(t, 500, b.must("Account/ada", "balance", nothing))
		for range 2 {
			n, err := b.ask("Account/ada", "deposit", 1, "request 1")
			require.NoError(t, err)
			require.EqualValues(t, 501, n)
		}
		row, err := b.Entities().State(t.Context(), "", "bank/Account/ada")
		require.NoError(t, err)
		require.Equal(t, map[string]int64{"cents": 501}, harness.Decode[map[string]int64](t, row.State))

		require.EqualValues(t, 501, b.must("Account/ada", "give", "bob"))
		harness.Eventually(t, "the message to arrive", func() bool {
			return b.must("Account/bob", "balance", nothing) == 501
		})
		_, err = b.Entities().Call(t.Context(), host.EntityRequest{Entity: "bank/Account/bob", Operation: "report"})
		require.NoError(t, err)
		harness.Eventually(t, "the workflow to be started", func() bool {
			_, err := b.Observer().Poll(t.Context(), "", "bank/Reporting/bob")
			return err == nil
		})
		require.EqualValues(t, 501, harness.Decode[int64](t, harness.Wait(t, b.Engine, "bank/Reporting/bob").Value))

		require.EqualValues(
			t, 400,
			harness.Execute[int64](t, b.Engine, "bank/Transfer", object{"from": "bob", "to": "eve", "cents": 400}),
		)
		require.EqualValues(t, 101, b.must("Account/bob", "close", nothing))
		_, err = b.Entities().State(t.Context(), "", "bank/Account/bob")
		require.Equal(t, abi.CodeEntityNotFound, abi.CodeOf(err))
		found, err := b.Entities().List(t.Context(), journal.EntityFilter{Type: "bank/Account"})
		require.NoError(t, err)
		require.Len(t, found, 2)
		require.NoError(t, b.Entities().Destroy(t.Context(), "", "bank/Account/eve", ""))
		require.EqualValues(t, 0, b.must("Account/eve", "balance", nothing))
	})
}

// TestEntitiesWithoutAState has entities keep their state in SQL; a persisted call and its SQL take
// effect once.
func TestEntitiesWithoutAState(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		b := newBank(t, store)
		require.EqualValues(t, 0, b.must("Directory/ada", "count", nothing))
		for range 2 {
			n, err := b.ask("Directory/ada", "rename", "Ada", "request 1")
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
		require.EqualValues(t, 2, b.must("Directory/ada", "rename", "Countess"))
		_, err := b.ask("Directory/ada", "rename", "", "")
		require.Equal(t, abi.CodeOperationFailed, abi.CodeOf(err))
		require.EqualValues(t, 2, b.must("Directory/ada", "count", nothing))
		require.NoError(
			t,
			b.Entities().Send(t.Context(), host.EntityRequest{
				Entity: "bank/Directory/ada", Operation: "rename", Input: harness.Encode(t, "Lovelace"),
			}),
		)
		harness.Eventually(t, "the message to be worked on", func() bool {
			return b.must("Directory/ada", "count", nothing) == 3
		})
	})
}

// TestRepeatedCalls that may have arrived before are refused if the host would not know them
// again.
func TestRepeatedCalls(t *testing.T) {
	t.Parallel()
	b := newBank(t, harness.Store(t, "sqlite"))
	for operation, code := range map[string]abi.Code{
		"Directory/ada count": abi.CodeMayHaveRun, "Directory/ada rename": "", "Account/ada deposit": "",
	} {
		entity, name, _ := strings.Cut(operation, " ")
		input := map[string]any{"count": nothing, "rename": "Ada", "deposit": 1}[name]
		_, err := b.Entities().Call(t.Context(), host.EntityRequest{
			Entity: "bank/" + entity, Operation: name, Input: harness.Encode(t, input), RequestID: "r", Again: true,
		})
		require.Equal(t, code, abi.CodeOf(err), operation)
	}
}

// TestEntitiesSurviveAKill has callers add to accounts while hosts are killed. Each repeats its request until it is
// answered: nothing is lost, and nothing counts twice.
func TestEntitiesSurviveAKill(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		const callers, each = 8, 20
		b := newBank(t, store)
		var mu sync.RWMutex // of b: held to read during a call
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for i := range each {
					id := string(rune('a'+caller)) + string(rune('a'+i))
					harness.Eventually(t, "an answer", func() bool {
						mu.RLock()
						engine := b
						mu.RUnlock()
						_, err := engine.ask([]string{"Account/ada", "Account/bob"}[i%2], "deposit", 1, id)
						return err == nil
					})
				}
			})
		}
		for range 3 {
			b.Kill()
			next := &bank{t, harness.Engine(t, store)}
			mu.Lock()
			b = next
			mu.Unlock()
		}
		all.Wait()
		require.EqualValues(
			t, callers*each, b.must("Account/ada", "balance", nothing)+b.must("Account/bob", "balance", nothing),
		)
	})
}

// TestEntityThatNeverEnds costs its call, and no other.
func TestEntityThatNeverEnds(t *testing.T) {
	t.Parallel()
	b := newBank(t, harness.Store(t, "sqlite"), func(cfg *host.Config) { cfg.TurnFuel = 500_000_000 })
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	spin := make(chan error, 1)
	go func() {
		_, err := b.ask("Account/ada", "spin", nothing, "")
		spin <- err
	}()
	require.EqualValues(t, 1, b.must("Account/bob", "deposit", 1))
	require.EqualValues(t, 1, b.must("Account/ada", "deposit", 1))
	select {
	case err := <-spin:
		require.Equal(t, abi.CodeOperationCrashed, abi.CodeOf(err))
		require.Regexp(t, `\(in main\.init\.func\d+ \(entities/main\.go:7[45]\)\)`, err.Error())
	case <-ctx.Done():
		require.Fail(t, "it did not end")
	}
}

// TestAPushKeepsStates: code that has no place for a field of states that there are is refused, and deployed
// if the caller says so.
func TestAPushKeepsStates(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, func(t *testing.T, store journal.Store) {
		b := newBank(t, store)
		renamed := wasmtest.Program{Manifest: &abi.Manifest{Entities: []abi.EntityInfo{{
			Name: "Account", Operations: []abi.OperationInfo{{Name: "deposit"}},
			State: &abi.Schema{
				Type: abi.TypeStruct, Fields: []abi.Field{{Name: "balance", Schema: &abi.Schema{Type: abi.TypeInt}}},
			},
		}}}}.Assemble()
		push := func(anyway bool) error {
			_, err := b.Deployments().Push(t.Context(), host.PushRequest{
				Name: "bank", Binary: renamed, Settings: host.Settings{Anyway: anyway},
			})
			return err
		}
		check := func() error {
			none := func(host.CheckResult, int, int) error { return errors.New("no execution is open") }
			return b.Deployments().Check(
				t.Context(), host.CheckRequest{Name: "bank", Binary: renamed, Types: true}, none,
			)
		}
		require.NoError(t, check(), "there are no states")
		b.must("Account/ada", "deposit", 500)
		err := push(false)
		require.Equal(t, err, check(), "a check says before what a push would")
		require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
		require.ErrorContains(t, err, `bank/Account does not fit its states, as that of "ada": "cents" is gone`)
		require.EqualValues(t, 500, b.must("Account/ada", "balance", nothing), "what was deployed stays")
		require.NoError(t, b.Entities().Destroy(t.Context(), "", "bank/Account/ada", ""))
		require.NoError(t, push(false), "there is no state any more")
		harness.Push(t, b.Engine, "bank", "tests/guests/entities")
		b.must("Account/ada", "deposit", 500)
		require.NoError(t, push(true))
	})
}
