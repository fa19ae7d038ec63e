package view

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// maxKinds bounds how many kinds of misfits are kept apart.
const maxKinds = 20

// Misfits groups executions that a module does not fit by their differences, for thousands may
// differ in the same way. The zero value is empty.
type Misfits struct {
	kinds []*MisfitKind
	// other counts the executions of kinds beyond maxKinds.
	other int
}

// MisfitKind is the JSON of the executions of one workflow that a module does not fit for the same reason.
type MisfitKind struct {
	Workflow string `json:"workflow"`
	Count    int    `json:"count"`
	First    string `json:"first"`
	Reason   string `json:"reason"`
	Diff     *Diff  `json:"diff,omitempty"`

	sign string
	diff *crusterv1.Diff
}

// Add counts an execution that a module does not fit.
func (m *Misfits) Add(e *crusterv1.Execution, reason string, diff *crusterv1.Diff) {
	sign := signOf(reason, diff)
	for _, k := range m.kinds {
		if k.Workflow == e.GetWorkflow() && k.sign == sign {
			k.Count++
			return
		}
	}
	if len(m.kinds) == maxKinds {
		m.other++
		return
	}
	m.kinds = append(m.kinds, &MisfitKind{
		Workflow: e.GetWorkflow(),
		Count:    1,
		First:    e.GetName(),
		Reason:   reason,
		Diff:     DiffOf(diff),
		sign:     sign,
		diff:     diff,
	})
}

// ownPart is the part of a step specific to its execution: its place, and the hash of its
// arguments.
var ownPart = regexp.MustCompile(`\b(entry|op) \d+|\barguments [0-9a-f]+`)

// signOf returns the common sign of executions that differ in the same way: the first row that
// differs, or else the reason, without parts specific to one execution.
func signOf(reason string, diff *crusterv1.Diff) string {
	sign := reason
	for _, r := range diff.GetRows() {
		if rpcerror.Differs(r) {
			sign = fmt.Sprintf("%q %q %q", r.GetJournal(), r.GetCode(), r.GetNote())
			break
		}
	}
	return ownPart.ReplaceAllString(sign, "")
}

// Kinds is the kinds, the most frequent first.
func (m *Misfits) Kinds() []*MisfitKind {
	kinds := slices.Clone(m.kinds)
	slices.SortStableFunc(kinds, func(a, b *MisfitKind) int { return cmp.Compare(b.Count, a.Count) })
	return kinds
}

// Write writes the kinds with the first execution of each.
func (m *Misfits) Write(w io.Writer) error {
	for _, k := range m.Kinds() {
		fmt.Fprintf(w, "\n%s: %s\n  %s\n", terminal.OneLine(k.Workflow), kindText(k), terminal.OneLine(k.Reason))
		if k.diff == nil {
			continue
		}
		if err := WriteDiff(w, k.diff); err != nil {
			return err
		}
	}
	if m.other > 0 {
		fmt.Fprintf(w, "\nand %d executions that differ in other ways\n", m.other)
	}
	return nil
}

func kindText(k *MisfitKind) string {
	if k.Count == 1 {
		return terminal.OneLine(k.First) + " differs"
	}
	return strconv.Itoa(k.Count) + " executions differ like this; the first is " + terminal.OneLine(k.First)
}
