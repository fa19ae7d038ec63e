package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Entry is the JSON of an entry of a journal.
type Entry struct {
	Seq      uint64          `json:"seq"`
	Turn     uint64          `json:"turn"`
	Kind     string          `json:"kind"`
	At       *time.Time      `json:"at,omitempty"`
	Op       uint32          `json:"op"`
	OpKind   string          `json:"op_kind"`
	Name     string          `json:"name,omitempty"`
	Key      string          `json:"key,omitempty"`
	Attempts uint32          `json:"attempts,omitempty"`
	NextAt   *time.Time      `json:"next_at,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Error    *Error          `json:"error,omitempty"`
	Omitted  uint64          `json:"omitted_bytes,omitempty"`
}

// EntryOf is the shape of an entry.
func EntryOf(e *crusterv1.HistoryEntry) Entry {
	return Entry{
		Seq:      e.GetSeq(),
		Turn:     e.GetTurn(),
		Kind:     e.GetKind(),
		At:       timeOf(e.GetJournalTime()),
		Op:       e.GetOp(),
		OpKind:   e.GetOpKind(),
		Name:     e.GetName(),
		Key:      e.GetKey(),
		Attempts: e.GetAttempts(),
		NextAt:   timeOf(e.GetNextTime()),
		Value:    payloadJSON(e.GetValue()),
		Error:    ErrorOf(e.GetError()),
		Omitted:  e.GetOmittedBytes(),
	}
}

// WriteHistory writes a table of entries.
func WriteHistory(w io.Writer, entries []*crusterv1.HistoryEntry) error {
	var rows [][]string
	for _, e := range entries {
		v := EntryOf(e)
		rows = append(rows, []string{
			strconv.FormatUint(v.Seq, 10), strconv.FormatUint(v.Turn, 10), timeText(e.GetJournalTime()), v.Kind, count(
				v.Op,
			),
			v.OpKind, terminal.Clip(v.Name, 40), terminal.Clip(v.Key, 24), count(v.Attempts), entryText(v),
		})
	}
	return terminal.Table(
		w, []string{"SEQ", "TURN", "AT", "ENTRY", "OP", "KIND", "NAME", "KEY", "ATTEMPTS", "OUTCOME"}, rows,
	)
}

// entryText returns the content of an entry, for a column.
func entryText(v Entry) string {
	var move struct {
		From, To, Fork string
		Declined       []string
	}
	switch {
	case v.Kind == "lost" && v.Attempts > 1:
		return fmt.Sprintf("begins again: %d attempts ended with their hosts", v.Attempts)
	case v.Kind == "lost" && v.Attempts == 1:
		return "begins again: the attempt before ended with its host"
	case v.Kind == "lost":
		return "begins again: the host before gave it up"
	case v.Kind == "released":
		return "given up: the host stops, or the execution is paused"
	case v.Kind != "moved" || json.Unmarshal(v.Value, &move) != nil:
		return outcomeText(v.Value, v.Error, v.Omitted)
	}
	text := "from module " + shortDigest(move.From) + " to " + shortDigest(move.To)
	if move.Fork != "" {
		text = "forked off " + move.Fork + ", " + text
	}
	if len(move.Declined) > 0 {
		text += "; declines " + strings.Join(move.Declined, ", ")
	}
	return terminal.Clip(text, 80)
}
