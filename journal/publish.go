package journal

import (
	"context"

	"github.com/cruster/cruster/abi"
)

// Published is what can be seen of a run from outside: all of it, small. It lies beside the
// row, which is written far more often.
type Published struct {
	// State is by name; a value is canonical msgpack.
	State []abi.Published
	// Attributes are by name, and of the types that were declared.
	Attributes []NamedAttribute
	Progress   *abi.Progress
	// At is when it was changed last.
	At int64
}

// NamedAttribute is an attribute of a run.
type NamedAttribute struct {
	Name string
	abi.Attribute
}

// MaxConditions bounds the conditions of a [Filter].
const MaxConditions = 4

// Condition selects executions by an attribute: those that have it, of the same type, and
// whose value compares like this with the given one.
type Condition struct {
	Name string
	// Operator is one of = < <= > >=.
	Operator string
	Value    abi.Attribute
}

// PublishedReader reads what runs have published.
type PublishedReader interface {
	// Published reads what the run of an execution has published; ErrNotFound if it has
	// published nothing.
	Published(ctx context.Context, id ID) (*Published, error)
}

func (p *Published) size() (n int) {
	for _, s := range p.State {
		n += len(s.Name) + len(s.Value)
	}
	for _, a := range p.Attributes {
		n += len(a.Name) + len(a.Text) + 32
	}
	return n
}
