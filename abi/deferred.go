package abi

import (
	"slices"
	"strings"
)

// DeferredInfo describes a promise of a workflow, or all promises whose names are made while it runs and begin alike.
type DeferredInfo struct {
	// Dynamic says that Name is how names begin: each longer one is a promise of this type.
	Dynamic bool   `msgpack:"dynamic"`
	Name    string `msgpack:"name"`
	// Value is the type of its result; nil is any.
	Value *Schema `msgpack:"value"`
}

// Has tells whether a name is one of these promises.
func (d *DeferredInfo) Has(name string) bool {
	if d.Dynamic {
		return len(name) > len(d.Name) && strings.HasPrefix(name, d.Name)
	}
	return name == d.Name
}

// Meets tells whether a name could be one of both: then its type would be in doubt.
func (d *DeferredInfo) Meets(o *DeferredInfo) bool {
	return d.Name == o.Name || d.Has(o.Name) || o.Has(d.Name)
}

// CheckValue checks the result of a promise, as [WorkflowInfo.CheckRequest] checks a request.
func (d *DeferredInfo) CheckValue(value []byte) ([]byte, error) {
	return checkValue("the value", d.Value, orAbsent(d.Value, value))
}

// Deferred finds a promise that may be settled. A module that tells of none has promises of every name, with values of
// every type.
func (w *WorkflowInfo) Deferred(name string) (*DeferredInfo, error) {
	if w.Deferreds == nil {
		return &DeferredInfo{Name: name}, nil
	}
	if i := slices.IndexFunc(w.Deferreds, func(d DeferredInfo) bool { return d.Has(name) }); i >= 0 {
		return &w.Deferreds[i], nil
	}
	names := make([]string, len(w.Deferreds))
	var near []Spelling
	for i, d := range w.Deferreds {
		names[i] = d.Name
		if d.Dynamic {
			names[i] += "*"
			near = append(near, misspelt(d.Name, name)...)
		}
	}
	return nil, undeclared(CodeUnknownDeferred, w.Name, "deferred", name, names, near...)
}

// misspelt returns the spellings of a name with the declared beginning in the place of its own, which may be shorter or
// longer by up to two characters. The rest of the name is not guessed.
func misspelt(beginning, name string) (all []Spelling) {
	for n := max(1, len(beginning)-2); n <= len(beginning)+2 && n < len(name) && len(name) <= MaxName; n++ {
		all = append(all, Spelling{beginning + name[n:], beginning + "*"})
	}
	return all
}
