package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// update sends an update, and notes its answer.
func (f *fixture) update(row *journal.Execution, cmd string, words []string) {
	patience := time.Hour
	if cmd == "update-for" {
		var err error
		patience, err = time.ParseDuration(words[0])
		require.NoError(f.t, err)
		words = words[1:]
	}
	u := message.Update{
		Origin:    journal.OriginOfRequest(words[0]),
		Name:      words[1],
		Input:     abi.MustMarshal(strings.Join(words[2:], " ")),
		Validated: cmd == "update-validated",
	}
	ref := request.Ref{ID: row.ID, Name: row.Name()}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		outcome, err := f.x.Updates.Update(ctx, ref, u)
		text := strings.TrimSpace(answerText(err))
		if err == nil {
			text = outcomeText(outcome.Value, outcome.Error)
		}
		f.note("update "+words[0], "%s", text)
	}()
}

// answerBody answers the update of a request id. A text that begins with ! is an error.
func answerBody(request, text string) []byte {
	b := &abi.Answer{ID: message.UpdateID(journal.OriginOfRequest(request))}
	if failure, failed := strings.CutPrefix(text, "!"); failed {
		b.Error = &abi.Error{Message: failure}
	} else {
		b.Value = abi.MustMarshal(text)
	}
	return abi.MustMarshal(b)
}

// publishBody publishes NAME=VALUE: text, but amounts and progress are numbers. An empty value takes the name away.
// Large and long are notes and stages of so many bytes.
func publishBody(words []string) []byte {
	b := &abi.Publish{}
	for _, word := range words {
		name, text, _ := strings.Cut(word, "=")
		p := abi.Published{Name: name, Value: abi.MustMarshal(text)}
		n, err := strconv.ParseUint(text, 10, 64)
		if err == nil {
			p.Value = abi.MustMarshal(n)
		}
		if text == "" {
			p.Value = nil
		}
		switch name {
		case "progress":
			b.Progress = &abi.Progress{Done: n}
		case "customer", "amount":
			b.Attributes = append(b.Attributes, p)
		case "large", "long":
			name := map[string]string{"large": "note", "long": "stage"}[name]
			b.State = append(b.State, abi.Published{Name: name, Value: abi.MustMarshal(strings.Repeat("x", int(n)))})
		default:
			b.State = append(b.State, p)
		}
	}
	slices.SortFunc(b.State, func(a, b abi.Published) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(b.Attributes, func(a, b abi.Published) int { return cmp.Compare(a.Name, b.Name) })
	return abi.MustMarshal(b)
}

// publishedText renders the published values of an execution.
func (f *fixture) publishedText(row *journal.Execution) string {
	p, err := f.store.Published(f.t.Context(), row.ChainKey())
	if errors.Is(err, journal.ErrNotFound) {
		return "nothing\n"
	}
	require.NoError(f.t, err)
	return publishedText(p) + "\n"
}

func publishedText(p *journal.Published) string {
	var parts []string
	for _, s := range p.State {
		parts = append(parts, fmt.Sprintf("%s=%.20s", s.Name, outcomeText(s.Value, nil)))
	}
	for _, a := range p.Attributes {
		parts = append(
			parts,
			fmt.Sprintf(
				"%s=%s%v", a.Name, a.Text, map[bool]any{true: "", false: a.Number}[a.Type == abi.AttributeText],
			),
		)
	}
	if p.Progress != nil {
		parts = append(parts, fmt.Sprintf("progress %d", p.Progress.Done))
	}
	return strings.Join(parts, ", ")
}
