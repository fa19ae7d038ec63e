package journal

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/cruster/cruster/abi"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// Filter selects executions for List. Zero fields select all.
type Filter struct {
	Namespace string
	// Workflow is "deployment/Name", or "deployment/" for all of a deployment.
	Workflow string
	State    State
	// Where are conditions that executions meet, all of them: at most [MaxConditions].
	Where []Condition
	// After is the cursor of the page before.
	After string
	// Limit is the page's size: 1 to 1000; 0 means 100.
	Limit int
}

// Page is one page of executions, newest first. Input and Value are left out, and large errors are cut: see [Listed].
type Page struct {
	Executions []Execution
	// Next is the cursor of the next page; empty if this is the last.
	Next string
}

// Bounds reads the page's size and cursor, and checks the conditions; a store's List begins with it. The cursor is the
// last execution of the page before, by (CreatedAt, ID): a place in the order, not an offset, so that new executions do
// not shift the pages. It is zero if there is none.
func (f *Filter) Bounds() (limit int, after Wake, err error) {
	if limit, err = pageSize(f.Limit, "executions"); err != nil {
		return 0, Wake{}, err
	}
	if err := checkConditions(f.Where); err != nil {
		return 0, Wake{}, err
	}
	if f.After == "" {
		return limit, Wake{}, nil
	}
	at, id, _ := strings.Cut(f.After, ".")
	after.At, err = strconv.ParseInt(at, 16, 64)
	raw, err2 := hex.DecodeString(id)
	if err != nil || err2 != nil || len(raw) != len(after.ID) {
		return 0, Wake{}, abi.Errorf(abi.CodeBadRequest, "%q is not the cursor of a page", f.After)
	}
	copy(after.ID[:], raw)
	return limit, after, nil
}

// pageSize is how many of something a page has, if a filter asks for so many.
func pageSize(asked int, of string) (int, error) {
	switch {
	case asked == 0:
		return defaultPage, nil
	case asked < 0 || asked > maxPage:
		return 0, abi.Errorf(abi.CodeBadRequest, "a page has 1 to %d %s, not %d", maxPage, of, asked)
	}
	return asked, nil
}

// PageOf makes a page of rows that were read with room for one more than limit: if there are more, the rest is cut off
// and the cursor set.
func PageOf(rows []Execution, limit int) Page {
	if len(rows) <= limit {
		return Page{Executions: rows}
	}
	rows = rows[:limit]
	return Page{Executions: rows, Next: CursorOf(&rows[limit-1])}
}

// CursorOf is the cursor of the page behind an execution.
func CursorOf(e *Execution) string { return strconv.FormatInt(e.CreatedAt, 16) + "." + e.ID.String() }

// Bounds of an error that is one of many.
const (
	maxBriefText    = 4 << 10
	maxBriefDetails = 2 << 10
)

// Listed makes a row fit for a page of many, as soon as it is read: it leaves out the fields that
// may be as large as payloads.
func Listed(e Execution) Execution {
	e.Input, e.Value, e.Error = nil, nil, Brief(e.Error)
	e.Pinned.Unread = nil
	return e
}

// Brief returns an error without the fields that may be as large as payloads, to be kept among
// many; nil stays nil.
func Brief(e *abi.Error) *abi.Error {
	if e == nil {
		return nil
	}
	brief := *e
	brief.Message, brief.Hint, brief.Type = clip(e.Message), clip(e.Hint), clip(e.Type)
	if len(e.Details) > maxBriefDetails {
		brief.Details = nil
	}
	return &brief
}

func clip(s string) string {
	if len(s) <= maxBriefText {
		return s
	}
	// A copy, so that the whole can be let go.
	return strings.Clone(strings.ToValidUTF8(s[:maxBriefText-len("…")], "")) + "…"
}
