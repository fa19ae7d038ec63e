package hostile

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// goodBodies has a valid body for each import.
func goodBodies() map[string][]byte {
	return map[string][]byte{
		abi.OpSleep: abi.MustMarshal(abi.Sleep{Duration: 1}),
		abi.OpActivity: abi.MustMarshal(abi.Activity{
			Name: "raw", Input: abi.MustMarshal(script{Where: inActivity}),
		}),
		abi.OpDeferred: abi.MustMarshal(abi.Deferred{Name: "d"}),
		abi.OpResolve:  abi.MustMarshal(abi.Resolve{Name: "d", Value: abi.Nil}),
		abi.OpCall: abi.MustMarshal(abi.Call{
			Workflow: "Raw", Input: abi.MustMarshal(script{Where: inWorkflow}),
		}),
		abi.OpSend: abi.MustMarshal(abi.Call{
			Workflow: "Raw", Input: abi.MustMarshal(script{Where: inWorkflow}),
		}),
		abi.OpPoll:           abi.MustMarshal(abi.Poll{Execution: "raw/Raw/none"}),
		abi.OpPatched:        abi.MustMarshal(abi.Patched{ID: "p"}),
		abi.OpInterrupted:    abi.MustMarshal(abi.Interrupted{}),
		abi.OpReceive:        abi.MustMarshal(abi.Receive{Name: "s"}),
		abi.OpSignal:         abi.MustMarshal(abi.Signal{Execution: "raw/Raw/none", Name: "s", Value: abi.Nil}),
		abi.OpEntityCall:     abi.MustMarshal(abi.EntityMessage{Entity: "E/id", Operation: "o", Input: abi.Nil}),
		abi.OpEntitySend:     abi.MustMarshal(abi.EntityMessage{Entity: "E/id", Operation: "o", Input: abi.Nil}),
		abi.OpLock:           abi.MustMarshal(abi.Lock{Entities: []string{"E/id"}}),
		abi.OpUnlock:         abi.MustMarshal(abi.Unlock{}),
		abi.OpUpdate:         abi.MustMarshal(abi.Update{}),
		abi.OpAnswer:         abi.MustMarshal(abi.Answer{ID: "00", Value: abi.Nil}),
		abi.OpPublish:        abi.MustMarshal(abi.Publish{State: []abi.Published{{Name: "s", Value: abi.Nil}}}),
		abi.OpInterrupt:      abi.MustMarshal(abi.Interrupt{Execution: "raw/Raw/none", Reason: "r"}),
		abi.ImportTxRollback: abi.MustMarshal(abi.TxRollback{}),
		abi.ImportTxExec:     abi.MustMarshal(abi.SQL{Query: "SELECT 1"}),
		abi.ImportTxQuery: abi.MustMarshal(abi.SQL{
			Query: "SELECT CAST($1 AS BIGINT)", Args: abi.MustMarshal([]any{1}),
		}),
		abi.ImportHTTP: abi.MustMarshal(abi.HTTPRequest{Method: "GET", URL: "http://127.0.0.1:1/"}),
		abi.ImportHTTPAll: abi.MustMarshal(abi.HTTPAll{
			Requests: abi.HTTPRequests{{Method: "GET", URL: "http://127.0.0.1:1/"}},
		}),
		abi.ImportConfig: abi.MustMarshal(abi.ConfigRequest{Name: "k"}),
	}
}

// strangeValues are values of unexpected types.
func strangeValues() []any {
	return []any{
		nil, true, 0, -1, int64(math.MinInt64), uint64(math.MaxUint64), math.NaN(), math.Inf(-1), "", "\x00",
		"\xff\xfe", "../../x", "a/b/c",
		strings.Repeat("n", 100_000),
		[]byte{},
		[]byte{0xc1},
		[]byte{0x93},
		bytes.Repeat([]byte{0x91}, 1000),
		[]any{},
		[]any{1, "x"},
		object{},
		object{"code": "CR-1"},
	}
}

// badBodies are many bodies for an import: garbage, and a valid one changed in every way.
func badBodies(t testing.TB, name string) [][]byte {
	good := goodBodies()[name]
	bodies := [][]byte{
		nil,
		{0xc0},
		{0xc1},
		{0x80},
		{0x90},
		{0x01},
		{0xa1, 'x'},
		[]byte("not msgpack at all"),
		{0xdf, 0xff, 0xff, 0xff, 0xff},
		{0xdd, 0xff, 0xff, 0xff, 0xff},
		{0xc6, 0xff, 0xff, 0xff, 0xff},
		{0xdb, 0x7f, 0xff, 0xff, 0xff},
		bytes.Repeat([]byte{0x91}, 10_000), bytes.Repeat([]byte{0x81, 0xa1, 'a'}, 10_000),
		{0xd4, 0x01, 0x00},
		{0xd6, 0xff, 0, 0, 0},
		append(slices.Clone(good), good...), append(slices.Clone(good), 0xc0),
	}
	for n := range good {
		bodies = append(bodies, good[:n])
	}
	var fields map[string]any
	require.NoError(t, abi.Unmarshal(good, &fields))
	for field := range fields {
		for _, v := range strangeValues() {
			bent := object{"unknown": []any{v}}
			for k, was := range fields {
				bent[k] = was
			}
			bent[field] = v
			bodies = append(bodies, abi.MustMarshal(bent))
		}
		without := object{}
		for k, was := range fields {
			if k != field {
				without[k] = was
			}
		}
		bodies = append(bodies, abi.MustMarshal(without))
	}
	random := rand.New(rand.NewChaCha8([32]byte(append([]byte("flip "+name), make([]byte, 32)...)[:32])))
	for range 100 {
		b := make([]byte, random.IntN(40))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		bodies = append(bodies, b)
		flipped := slices.Clone(good)
		flipped[random.IntN(len(flipped))] ^= 1 << random.IntN(8)
		bodies = append(bodies, flipped)
	}
	return bodies
}

// TestBodies passes bad bodies to every import, from workflows, activities and key functions. Whatever the body is, the
// guest gets a reply and goes on.
func TestBodies(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, testBodies)
}

func testBodies(t *testing.T, store journal.Store) {
	b := setupOn(t, store)
	b.pushRaw(t)
	t.Run("imports", func(t *testing.T) {
		for name := range goodBodies() {
			for _, where := range []string{inWorkflow, inActivity, inKey} {
				t.Run(name+" in "+where, func(t *testing.T) {
					t.Parallel()
					b.feed(t, name, where)
				})
			}
		}
	})
	b.requireGoesOn(t)
}

// feed passes all bad bodies to an import in one script.
func (b *testBundle) feed(t *testing.T, name, where string) {
	bodies := badBodies(t, name)
	s := script{Where: where, Await: true}
	for _, body := range append(bodies, goodBodies()[name]) {
		s.Steps = append(s.Steps, step{Import: name, Body: body})
	}
	if where == inKey {
		// The results would be the key, which is to be a string.
		_, err := b.play(t, s, "")
		requireCode(t, err, abi.CodeKeyFunction)
		return
	}
	results := b.perform(t, s, name+" in "+where)
	require.Len(t, results, len(s.Steps))
	b.requireReadableJournal(t, "raw/Raw/"+name+" in "+where)
	here := allowed(name, where)
	taken := 0
	for i, r := range results {
		if r.N >= 0 {
			taken++
			continue
		}
		require.NotEmpty(t, r.Code, "body %x", s.Steps[i].Body)
		require.NotEqual(t, string(abi.CodeInternal), r.Code, "body %x", s.Steps[i].Body)
		if !here {
			require.Equal(t, string(abi.CodeWrongContext), r.Code)
		}
	}
	if !here {
		require.Zero(t, taken, "%s was taken in %s", name, where)
		return
	}
	if name == abi.ImportHTTP {
		require.Equal(t, string(abi.CodeHTTPForbidden), results[len(results)-1].Code, "nothing was granted")
		return
	}
	require.Positive(t, taken, "even the good body was refused: %v", results[len(results)-1])
	require.Less(t, taken, len(results), "nothing was refused")
}

// requireReadableJournal checks that the parts of a journal that people see are short and have no control characters.
func (b *testBundle) requireReadableJournal(t *testing.T, execution string) {
	t.Helper()
	entries, _, err := b.engine.Observer().History(t.Context(), "", execution, 0, 0)
	require.NoError(t, err)
	for _, en := range entries {
		require.LessOrEqual(t, len(en.Op.Name), 1024)
		require.True(t, utf8.ValidString(en.Op.Name+en.Op.Key))
		require.False(t, strings.ContainsFunc(en.Op.Name, unicode.IsControl), "%q", en.Op.Name)
	}
}

// allowed tells whether an import is available in a kind of invocation.
func allowed(name, where string) bool {
	if slices.Contains(abi.OpKinds, name) {
		return where == inWorkflow
	}
	return where == inActivity
}

// TestPointers passes pointers outside the guest's memory.
func TestPointers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pushRaw(t)
	at := func(ptr, size uint32) step { return step{Ptr: &ptr, Len: &size} }
	names := []string{abi.ImportOutput, abi.ImportLog}
	for name := range goodBodies() {
		names = append(names, name)
	}
	t.Run("imports", func(t *testing.T) {
		for _, name := range names {
			for i, s := range []step{
				at(math.MaxUint32, 1), at(0xfffffff0, 100), at(1, math.MaxUint32), at(60<<20, 8<<20),
			} {
				for _, where := range []string{inWorkflow, inActivity, inKey} {
					t.Run(fmt.Sprint(name, " ", i, " in ", where), func(t *testing.T) {
						t.Parallel()
						s := s
						s.Import = name
						row, err := b.play(t, script{Where: where, Steps: []step{s}}, fmt.Sprint(name, i, where))
						if err != nil {
							requireCode(t, err, abi.CodeKeyFunction)
							return
						}
						requireEnd(t, row)
						if row.State == journal.Paused {
							require.Contains(
								t, []abi.Code{abi.CodeBadPointer, abi.CodePayloadTooLarge}, row.Error.Code, "%v",
								row.Error,
							)
						}
					})
				}
			}
		}
	})
	b.requireGoesOn(t)
}
