package abi

import (
	"strings"
)

// Bounds of published values.
const (
	// MaxPublished bounds the names of a run's state, and the names of its attributes.
	MaxPublished = 64
	// MaxPublishedBytes bounds the values of a run's state together.
	MaxPublishedBytes = 64 << 10
	// MaxAttribute bounds the text of an attribute, and the note of a progress, in bytes.
	MaxAttribute = 256
)

// Publish is the body of [OpPublish]: change the published values of a run. It is
// delivered with nil once the change is durable. Values that it does not name stay as they are.
type Publish struct {
	// Attributes are the search keys of executions, sorted by name.
	Attributes []Published `msgpack:"attributes"`
	// Progress replaces how far the run is; nil leaves it.
	Progress *Progress `msgpack:"progress"`
	// State is the public state, sorted by name.
	State []Published `msgpack:"state"`
}

// Published is a name with a value.
type Published struct {
	Name string `msgpack:"name"`
	// Value is one msgpack value; nil takes the name away. The value of an attribute is a string, a number, a bool or
	// a timestamp.
	Value []byte `msgpack:"value"`
}

// Progress is how far a run is, for people.
type Progress struct {
	Done uint64 `msgpack:"done"`
	Note string `msgpack:"note"`
	// Total is 0 if it is not known.
	Total uint64 `msgpack:"total"`
}

// StateInfo describes a value that the runs of a workflow publish.
type StateInfo struct {
	Name  string  `msgpack:"name"`
	Value *Schema `msgpack:"value"`
}

// Types of attributes, as in [AttributeInfo].
const (
	AttributeText   = "text"
	AttributeNumber = "number"
	AttributeBool   = "bool"
	AttributeTime   = "time"
)

// AttributeInfo describes an attribute by which executions of a workflow are found.
type AttributeInfo struct {
	Name string `msgpack:"name"`
	// Type is one of the Attribute constants.
	Type string `msgpack:"type"`
}

func checkPublish(b *Publish) *Error {
	bytes := 0
	for _, p := range b.State {
		bytes += len(p.Value)
		if p.Value == nil {
			continue
		}
		if err := CheckPayload("the value", p.Value); err != nil {
			return err
		}
	}
	if bytes > MaxPublishedBytes {
		return Errorf(
			CodePayloadTooLarge, "%s: the state has %d bytes, the limit is %d", OpPublish, bytes, MaxPublishedBytes,
		)
	}
	for _, a := range b.Attributes {
		if a.Value == nil {
			continue
		}
		if _, err := AttributeOf(a.Value); err != nil {
			return err
		}
	}
	if p := b.Progress; p != nil {
		if err := CheckPublishedText(CodeBadBody, "the note of the progress", p.Note); err != nil {
			return err
		}
	}
	return firstError(checkPublished(b.State), checkPublished(b.Attributes))
}

// checkPublished checks names: they are sorted, and each is there once.
func checkPublished(list []Published) *Error {
	if len(list) > MaxPublished {
		return Errorf(CodeBadBody, "%s: %d names, the limit is %d", OpPublish, len(list), MaxPublished)
	}
	for i, p := range list {
		if err := CheckName(OpPublish, p.Name); err != nil {
			return err
		}
		if i > 0 && strings.Compare(list[i-1].Name, p.Name) >= 0 {
			return Errorf(CodeBadBody, "%s: %q is not in the order of the names, or there twice", OpPublish, p.Name)
		}
	}
	return nil
}
