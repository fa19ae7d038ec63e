package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
)

// Published is the public part of a run: all of it, small. It lies beside the row, which is written far
// more often.
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

// publishedBody holds the fields that a store keeps as one value.
type publishedBody struct {
	At         int64                `msgpack:"at"`
	Attributes []publishedAttribute `msgpack:"attributes"`
	Progress   *abi.Progress        `msgpack:"progress"`
	State      []abi.Published      `msgpack:"state"`
}

type publishedAttribute struct {
	Name   string  `msgpack:"name"`
	Number float64 `msgpack:"number"`
	Text   string  `msgpack:"text"`
	Type   string  `msgpack:"type"`
}

// Body encodes it as one value, as a store keeps it.
func (p *Published) Body() []byte {
	b := publishedBody{At: p.At, Progress: p.Progress, State: p.State}
	for _, a := range p.Attributes {
		b.Attributes = append(b.Attributes, publishedAttribute{a.Name, a.Number, a.Text, a.Type})
	}
	return abi.MustMarshal(&b)
}

// PublishedOf decodes the output of Body.
func PublishedOf(body []byte) (*Published, error) {
	var b publishedBody
	if err := abi.Unmarshal(body, &b); err != nil {
		return nil, errors.Join(ErrCorrupt, err)
	}
	p := &Published{At: b.At, Progress: b.Progress, State: b.State}
	for _, a := range b.Attributes {
		p.Attributes = append(p.Attributes, NamedAttribute{
			a.Name, abi.Attribute{Type: a.Type, Text: a.Text, Number: a.Number},
		})
	}
	return p, nil
}

// OutlineOf decodes the output of Body, and leaves out the state.
func OutlineOf(body []byte) (*Published, error) {
	p, err := PublishedOf(body)
	if err != nil {
		return nil, err
	}
	p.State = nil
	return p, nil
}

// MaxConditions bounds the conditions of a [Filter].
const MaxConditions = 4

// Condition selects executions by an attribute: they have it, of the same type, and their value
// compares like this with the given one.
type Condition struct {
	Name string
	// Operator is one of = < <= > >=.
	Operator string
	Value    abi.Attribute
}

// Meets reports whether a value meets the condition.
func (c *Condition) Meets(value abi.Attribute) bool {
	if value.Type != c.Value.Type {
		return false
	}
	order := cmp.Or(strings.Compare(value.Text, c.Value.Text), cmp.Compare(value.Number, c.Value.Number))
	switch c.Operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	default:
		return order == 0
	}
}

// OfText tells whether the condition is about texts: all others are about numbers.
func (c *Condition) OfText() bool { return c.Value.Type == abi.AttributeText }

// PublishedReader reads the published values of runs.
type PublishedReader interface {
	// Published reads the published values of a chain of runs; ErrNotFound if it has published
	// nothing.
	Published(ctx context.Context, chain RunKey) (*Published, error)
	// Outlines reads the published values of several runs, without their states. A chain that has published nothing is
	// not in it.
	Outlines(ctx context.Context, chains []RunKey) (map[RunKey]*Published, error)
}

// Size is about how many bytes it takes.
func (p *Published) Size() (n int) {
	for _, s := range p.State {
		n += len(s.Name) + len(s.Value)
	}
	for _, a := range p.Attributes {
		n += len(a.Name) + len(a.Text) + 32
	}
	return n
}

// check refuses values that no store could keep, or find.
func (p *Published) check() error {
	if len(p.State) > abi.MaxPublished || len(p.Attributes) > abi.MaxPublished {
		return fmt.Errorf("%d names of values and %d of attributes", len(p.State), len(p.Attributes))
	}
	for i := range p.State {
		if i > 0 && p.State[i-1].Name >= p.State[i].Name {
			return errUnordered
		}
	}
	for i := range p.Attributes {
		if i > 0 && p.Attributes[i-1].Name >= p.Attributes[i].Name {
			return errUnordered
		}
	}
	for _, a := range p.Attributes {
		if err := checkAttribute(a.Name, a.Attribute); err != nil {
			return err
		}
	}
	return nil
}

var errUnordered = errors.New("the names are not in their order, or one is there twice")

func checkAttribute(name string, a abi.Attribute) error {
	switch a.Type {
	case abi.AttributeText, abi.AttributeNumber, abi.AttributeBool, abi.AttributeTime:
	default:
		return fmt.Errorf("attribute %.40q is of no type: %.40q", name, a.Type)
	}
	isText := a.Type == abi.AttributeText
	switch {
	case name == "" || !storable(name) || !storable(a.Text) || len(a.Text) > abi.MaxAttribute:
		return fmt.Errorf("attribute %.40q has no name, or it or its value is not text", name)
	case isText && a.Number != 0 || !isText && a.Text != "" || math.IsNaN(a.Number) || math.IsInf(a.Number, 0):
		return fmt.Errorf("attribute %.40q is not of its type, which is %s", name, a.Type)
	}
	return nil
}

// storable tells whether every database takes s for a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func checkConditions(where []Condition) error {
	if len(where) > MaxConditions {
		return abi.Errorf(abi.CodeBadRequest, "%d conditions, the limit is %d", len(where), MaxConditions)
	}
	for i := range where {
		c := &where[i]
		if !slices.Contains([]string{"=", "<", "<=", ">", ">="}, c.Operator) {
			return abi.Errorf(abi.CodeBadRequest, "%.40q is not one of = < <= > >=", c.Operator)
		}
		if err := checkAttribute(c.Name, c.Value); err != nil {
			return abi.Errorf(abi.CodeBadRequest, "condition: %v", err)
		}
	}
	return nil
}
