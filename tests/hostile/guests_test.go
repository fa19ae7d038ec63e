package hostile

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestOutcomes lets guests hand over invalid outcomes.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pushRaw(t)
	status := func(n int32) *int32 { return &n }
	good := abi.MustMarshal(abi.Outcome{Value: abi.Nil})
	cases := map[string]struct {
		script script
		code   abi.Code
	}{
		"no output":         {script{Status: status(abi.StatusDone)}, abi.CodeGuestProtocol},
		"output twice":      {script{Output: [][]byte{good, good}}, abi.CodeGuestProtocol},
		"output and parked": {script{Output: [][]byte{good}, Status: status(abi.StatusParked)}, abi.CodeGuestProtocol},
		"status 2":          {script{Output: [][]byte{good}, Status: status(2)}, abi.CodeGuestProtocol},
		"status -1":         {script{Output: [][]byte{good}, Status: status(-1)}, abi.CodeGuestProtocol},
		"empty output":      {script{Output: [][]byte{{}}}, abi.CodeBadBody},
		"garbage":           {script{Output: [][]byte{[]byte("garbage")}}, abi.CodeBadBody},
		"an invalid value": {
			script{Output: [][]byte{abi.MustMarshal(abi.Outcome{Value: []byte{0xc1}})}}, abi.CodeBadBody,
		},
		"an empty value": {script{Output: [][]byte{abi.MustMarshal(abi.Outcome{Value: []byte{}})}}, abi.CodeBadBody},
		"neither":        {script{Output: [][]byte{abi.MustMarshal(abi.Outcome{})}}, abi.CodeBadBody},
		"two values": {
			script{Output: [][]byte{abi.MustMarshal(abi.Outcome{Value: []byte{0xc0, 0xc0}})}}, abi.CodeBadBody,
		},
		"a value too deep": {
			script{
				Output: [][]byte{
					abi.MustMarshal(abi.Outcome{Value: append([]byte(strings.Repeat("\x91", 100)), 0xc0)}),
				},
			},
			abi.CodeBadBody,
		},
		"input twice": {script{Steps: []step{{Import: abi.ImportInput}}}, abi.CodeGuestProtocol},
		"too large": {
			script{
				Steps: []step{{
					Import: abi.ImportOutput,
					Ptr:    new(uint32),
					Len:    func() *uint32 { n := uint32(abi.MaxBody + 1); return &n }(),
				}},
			},
			abi.CodePayloadTooLarge,
		},
	}
	for name, c := range cases {
		for _, where := range []string{inWorkflow, inActivity, inKey} {
			t.Run(name+" in "+where, func(t *testing.T) {
				t.Parallel()
				s := c.script
				s.Where = where
				row, err := b.play(t, s, strings.ReplaceAll(name, " ", "-")+where)
				switch where {
				case inKey:
					requireCode(t, err, abi.CodeKeyFunction)
				case inActivity:
					require.NoError(t, err)
					require.Equal(t, journal.Failed, row.State, "%v", row.Error)
					requireCode(t, row.Error, "")
				default:
					require.NoError(t, err)
					require.Equal(t, journal.Paused, row.State, "%v", row.Error)
					requireCode(t, row.Error, c.code)
				}
			})
		}
	}
}

// TestErrors lets guests fail with huge and malformed errors: the host keeps small and readable ones.
func TestErrors(t *testing.T) {
	t.Parallel()
	harness.EachStore(t, testErrors)
}

func testErrors(t *testing.T, store journal.Store) {
	b := setupOn(t, store)
	b.pushRaw(t)
	huge := strings.Repeat("ä", 500_000)
	for name, e := range map[string]abi.Error{
		"empty":           {},
		"a huge code":     {Code: abi.Code(huge), Message: "m"},
		"an unknown code": {Code: "E_NOT_OURS\n\x1b[31m", Message: "m"},
		"a huge message":  {Message: huge},
		"odd bytes":       {Message: "x" + huge},
		"a huge hint":     {Message: "m", Hint: huge},
		"a huge type":     {Message: "m", Type: huge},
		"huge details":    {Message: "m", Details: []byte(huge)},
		"zeros":           {Message: "a\x00b", Hint: "\x00", Type: "\x00", Details: []byte{0xa1, 0}},
		"not UTF-8":       {Message: "\xff\xfe", Hint: "\xff", Type: "\xff", Code: "\xff"},
	} {
		for _, where := range []string{inWorkflow, inActivity} {
			t.Run(name+" in "+where, func(t *testing.T) {
				t.Parallel()
				s := script{Where: where, Output: [][]byte{abi.MustMarshal(abi.Outcome{Error: &e})}}
				row, err := b.play(t, s, fmt.Sprint(strings.ReplaceAll(name, " ", "-"), where))
				require.NoError(t, err)
				require.Equal(t, journal.Failed, row.State)
				kept := row.Error
				require.Regexp(t, `^CR-\d{4}$`, string(kept.Code))
				require.LessOrEqual(t, len(kept.Message)+len(kept.Hint)+len(kept.Type), 40<<10)
				require.LessOrEqual(t, len(kept.Details), 256<<10)
				for _, text := range []string{kept.Message, kept.Hint, kept.Type} {
					require.True(t, utf8.ValidString(text), "%.20q", text)
				}
			})
		}
	}
}

// TestTheWidestFanOut has a workflow of an SDK run as many steps at once as a turn may issue, and one more. Steps that
// the SDK issues on its own do not count.
func TestTheWidestFanOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	harness.Push(t, b.engine, "steps", "tests/guests/steps")
	const most = abi.MaxOpsPerTurn
	require.Equal(
		t, most*(most-1)/2, harness.Execute[int](t, b.engine, "steps/Beside", object{"n": most, "run": "most"}),
	)
	row := harness.Wait(t, b.engine, harness.Start(t, b.engine, "steps/Beside", object{"n": most + 1, "run": "more"}))
	require.Equal(t, journal.Failed, row.State)
	require.Contains(t, row.Error.Message, string(abi.CodeTooManyOps))
}

// TestFloods lets a guest make far too many calls.
func TestFloods(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pushRaw(t)
	sleep := goodBodies()[abi.OpSleep]
	for name, s := range map[string]step{
		"ops":    {Import: abi.OpSleep, Body: sleep, Times: abi.MaxOpsPerTurn + 10},
		"cancel": {Import: abi.ImportCancel, Number: 1, Times: 200_000},
		"report": {Import: abi.ImportOperation, Number: -1, Times: 10_000},
		"log":    {Import: abi.ImportLog, Body: make([]byte, 1<<20), Times: 500},
		"levels": {Import: abi.ImportLog, Body: []byte("line"), Number: -1 << 31, Times: 10_000},
		"config": {Import: abi.ImportConfig, Body: goodBodies()[abi.ImportConfig], Times: 2_000},
		"sql":    {Import: abi.ImportTxQuery, Body: goodBodies()[abi.ImportTxQuery], Times: 50},
	} {
		for _, where := range []string{inWorkflow, inActivity} {
			t.Run(name+" in "+where, func(t *testing.T) {
				t.Parallel()
				results := b.perform(t, script{Where: where, Steps: []step{s}}, name+where)
				for _, r := range results {
					require.Contains(t, []string{string(abi.CodeTooManyOps), string(abi.CodeWrongContext)}, r.Code)
				}
				if name == "ops" && where == inWorkflow {
					require.Len(t, results, 10, "the host must refuse the ops above the limit")
				}
			})
		}
	}
	t.Run("many and large ops", func(t *testing.T) {
		t.Parallel()
		body := abi.MustMarshal(abi.Resolve{Name: "d", Value: abi.MustMarshal(make([]byte, 3<<20))})
		results := b.perform(
			t, script{Where: inWorkflow, Steps: []step{{Import: abi.OpResolve, Body: body, Times: 40}}}, "large",
		)
		require.NotEmpty(t, results)
		require.Equal(t, string(abi.CodeTooManyOps), results[0].Code)
	})
}
