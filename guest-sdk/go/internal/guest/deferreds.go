package guest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Deferred is a promise that a workflow accepts, or all promises whose names begin alike.
type Deferred struct {
	Name    string
	Dynamic bool
	Value   reflect.Type
}

// named holds the name part of a deferred, without its type.
func (d Deferred) named() *abi.DeferredInfo {
	return &abi.DeferredInfo{Dynamic: d.Dynamic, Name: d.Name}
}

// AcceptDeferred registers a deferred of a workflow. It panics if a name could also match another
// deferred: each has one type.
func (w *Workflow) AcceptDeferred(d Deferred) {
	for _, o := range w.Deferreds {
		switch {
		case o.Name == d.Name:
			panic(fmt.Sprintf("cruster: workflow %s accepts deferred %q twice", w.Name, d.Name))
		case o.named().Meets(d.named()):
			panic(fmt.Sprintf(
				"cruster: workflow %s accepts deferreds %q and %q, which begin alike: a name could be one of both",
				w.Name, o.Name, d.Name,
			))
		}
	}
	w.Deferreds = append(w.Deferreds, d)
}

// CheckDeferred panics unless the workflow accepts a deferred; does names the attempted use.
func (s Scope) CheckDeferred(does, name string) {
	if s.co == nil {
		return // the call that follows says so
	}
	w := s.co.ex.workflow
	if !slices.ContainsFunc(w.Deferreds, func(d Deferred) bool { return d.named().Has(name) }) {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"workflow %s %s deferred %q, which it does not accept: declare it where the workflow is made, with Accepts",
			w.Name, does, name,
		))
	}
}

// MustFit has a promise refuse a value that code of a type could decode only by making up a part of
// it. The host has checked the value that settles a deferred, but maybe for other code, from which
// the execution was then moved.
func (p *Promise) MustFit(t reflect.Type) {
	p.misfit = func(raw []byte) error {
		schema := SchemaOf(t)
		if schema.Type == abi.TypeStruct && len(schema.Fields) == 0 && IsNil(raw) {
			return nil
		}
		return schema.CheckDecodes(raw)
	}
}

// deferredInfo describes the deferreds of a workflow, sorted by name. The list is never nil: the host is to refuse
// others.
func (w *Workflow) deferredInfo() []abi.DeferredInfo {
	all := make([]abi.DeferredInfo, 0, len(w.Deferreds))
	for _, d := range w.Deferreds {
		CheckTypes(fmt.Sprintf("deferred %q", d.Name), d.Value)
		all = append(all, abi.DeferredInfo{Dynamic: d.Dynamic, Name: d.Name, Value: SchemaOf(d.Value)})
	}
	slices.SortFunc(all, func(a, b abi.DeferredInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Deferred finds a deferred as a host does.
func (w *Workflow) Deferred(name string) (*abi.DeferredInfo, error) {
	return (&abi.WorkflowInfo{Name: w.Name, Deferreds: w.deferredInfo()}).Deferred(name)
}
