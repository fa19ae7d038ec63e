package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// ledger keeps the outcome of each case in the variant that ended first, and compares the other variants with it: the
// result, and the journal byte for byte.
type ledger struct{ byCase sync.Map }

type ledgerLine struct {
	Execution string
	State     journal.State
	Value     string
	Error     abi.Error
	Journal   []ledgerEntry
}

// ledgerEntry is an entry that every variant must have in its journal. Times and turns may differ, and so may the order
// in which ops that end at the same time are delivered. So entries are compared in the order of their ops. Cases in
// which the order of deliveries is certain list it in Case.Journal.
type ledgerEntry struct {
	Number                uint32
	Entry                 journal.EntryKind
	Kind, Name, Key, Hash string
	Attempts              uint32
	Value                 string
	Error                 abi.Error
}

func (l *ledger) compare(t *testing.T, c *testCase, b *testBundle, row *journal.Execution) {
	t.Helper()
	line := inLedger(t, b, row)
	if c.Chancy || c.ByRun {
		line.Journal = nil
	}
	if c.ByRun {
		line.Value = ""
	}
	if first, loaded := l.byCase.LoadOrStore(c.Name, line); loaded {
		require.Equal(t, first, line, "this variant has another result than the first one")
	}
}

func inLedger(t *testing.T, b *testBundle, row *journal.Execution) ledgerLine {
	t.Helper()
	line := ledgerLine{Execution: row.Name(), State: row.State, Value: readable(row.Value), Error: lasting(row.Error)}
	for _, en := range history(t, b, row.Name()) {
		line.Journal = append(line.Journal, ledgerEntry{
			Number:   en.Op.Number,
			Entry:    en.Kind,
			Kind:     en.Op.Kind,
			Name:     en.Op.Name,
			Key:      en.Op.Key,
			Hash:     hex.EncodeToString(en.Op.Hash),
			Attempts: en.Attempts,
			Value:    readable(en.Value),
			Error:    lasting(en.Error),
		})
	}
	slices.SortStableFunc(line.Journal, func(a, b ledgerEntry) int { return int(a.Number) - int(b.Number) })
	return line
}

// readable is a value as hexadecimal digits, or the digest of a long one.
func readable(value []byte) string {
	if len(value) > 1<<10 {
		digest := sha256.Sum256(value)
		return "sha256 " + hex.EncodeToString(digest[:])
	}
	return hex.EncodeToString(value)
}

// lasting leaves out of an error the parts that may differ between variants: the message of a language's runtime that
// crashed, hung or slept, and of a database.
func lasting(e *abi.Error) abi.Error {
	if e == nil {
		return abi.Error{}
	}
	out := *e
	switch e.Code {
	case abi.CodeActivityCrashed, abi.CodeActivityTimeout, abi.CodeOperationCrashed,
		abi.CodeCrashLoop, abi.CodeGuestDeadlock,
		abi.CodeBlockingSleep, abi.CodeUnreadable, abi.CodeSQL, abi.CodeSQLForbidden:
		out.Message, out.Hint = "", ""
	case abi.CodeUnknownWorkflow: // the hint lists the workflows of the module
		out.Hint = ""
	case abi.CodeWorkflowFailed: // it passes that hint on
		if strings.Contains(e.Message, string(abi.CodeUnknownWorkflow)+": ") {
			out.Hint = ""
		}
	}
	return out
}

// history is the whole journal of an execution.
func history(t *testing.T, b *testBundle, execution string) []journal.Entry {
	t.Helper()
	var all []journal.Entry
	for after := uint64(0); ; {
		entries, more, err := b.engine.Observer().History(t.Context(), "", execution, after, 500)
		require.NoError(t, err)
		all = append(all, entries...)
		if !more {
			return all
		}
		after = entries[len(entries)-1].Seq
	}
}
