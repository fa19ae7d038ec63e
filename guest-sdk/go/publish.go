package cruster

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// State is a value that a run publishes: others read it at any time, also after the run has ended,
// and without waking it.
//
//	var Stage = cruster.NewState[string]("stage")
//
//	var Order = cruster.NewWorkflow("Order", order).Publishes(Stage, Customer)
//
//	func order(ctx cruster.Context, o OrderRequest) (string, error) {
//		if err := Customer.Set(ctx, o.Customer); err != nil {
//			return "", err
//		}
//		…
//	}
//
// The values of a run take at most 64 KiB together. For an answer that the workflow computes on
// demand, use [QueryOf].
type State[T any] struct {
	name string
}

// AnyPublished is a [State] or an [Attribute] of any type; see [Workflow.Publishes].
type AnyPublished interface {
	// Name is the name of the state or attribute.
	Name() string
	publish(*guest.Workflow)
}

// NewState names a value that runs publish.
//
// It panics if the name is invalid.
func NewState[T any](name string) State[T] {
	guest.CheckName("state", name)
	return State[T]{name: name}
}

// Name is the name of the value.
func (s State[T]) Name() string { return s.name }

func (s State[T]) publish(w *guest.Workflow) {
	w.PublishState(guest.StateValue{Name: s.name, Type: reflect.TypeFor[T]()})
}

// Set publishes a value. It does not wait: the value can be seen once the workflow next waits, or
// has ended. Changes until then are written together.
//
// It fails, and publishes nothing, if the value does not encode, and if all state together has
// more than 64 KiB. It panics if the workflow does not publish the value.
func (s State[T]) Set(ctx Context, value T) error {
	b, err := encode("the state ", s.name, value)
	if err != nil {
		return err
	}
	return ctx.scope.PublishState(&opPublish, s.name, b)
}

// Get is the value that this run has set last; false if there is none.
func (s State[T]) Get(ctx Context) (T, bool) {
	b := ctx.scope.PublishedState(&opPublish, s.name)
	if b == nil {
		var zero T
		return zero, false
	}
	value, err := decode[T](b)
	if err != nil {
		panic(fmt.Sprintf("cruster: the state %s is not what was set: %v", s.name, err))
	}
	return value, true
}

// Clear takes the value away.
func (s State[T]) Clear(ctx Context) {
	_ = ctx.scope.PublishState(&opPublish, s.name, nil) // less is never too much
}

// AttributeValue are the types of attributes.
type AttributeValue interface {
	string | int | int64 | float64 | bool | time.Time
}

// Attribute is a value by which executions are found: "cruster-host workflow list --where
// customer=ada". A text has at most 256 bytes; numbers are compared as float64.
type Attribute[T AttributeValue] struct {
	name string
}

// NewAttribute names an attribute.
//
// It panics if the name is invalid.
func NewAttribute[T AttributeValue](name string) Attribute[T] {
	guest.CheckName("attribute", name)
	return Attribute[T]{name: name}
}

// Name is the name of the attribute.
func (a Attribute[T]) Name() string { return a.name }

func (a Attribute[T]) publish(w *guest.Workflow) {
	info := abi.AttributeInfo{Name: a.name, Type: abi.AttributeNumber}
	var zero T
	switch any(zero).(type) {
	case string:
		info.Type = abi.AttributeText
	case bool:
		info.Type = abi.AttributeBool
	case time.Time:
		info.Type = abi.AttributeTime
	}
	w.PublishAttribute(info)
}

// Set publishes the attribute. It does not wait: see [State.Set].
//
// It fails, and publishes nothing, if a text has more than 256 bytes or a control character, and
// if a number is not finite. It panics if the workflow does not publish the attribute.
func (a Attribute[T]) Set(ctx Context, value T) error {
	if err := a.check(value); err != nil {
		return err
	}
	b, err := encode("the attribute ", a.name, value)
	if err != nil {
		return err
	}
	ctx.scope.PublishAttribute(&opPublish, a.name, b)
	return nil
}

func (a Attribute[T]) check(value T) error {
	switch v := any(value).(type) {
	case string:
		if err := abi.CheckPublishedText(abi.CodeBadAttribute, "the text of the attribute "+a.name, v); err != nil {
			return err
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return abi.Errorf(abi.CodeBadAttribute, "the attribute %s is not a finite number", a.name)
		}
	}
	return nil
}

// Clear takes the attribute away.
func (a Attribute[T]) Clear(ctx Context) { ctx.scope.PublishAttribute(&opPublish, a.name, nil) }

// SetProgress publishes how far the run is: done of total, which is 0 if it is not known, and a
// note of at most 256 bytes. Every workflow may do so. It does not wait: see [State.Set].
//
// It fails, and publishes nothing, if the note has more bytes or a control character. It panics if
// a number is below zero.
func SetProgress(ctx Context, done, total int, note string) error {
	if done < 0 || total < 0 {
		panic(fmt.Sprintf("cruster: SetProgress(%d, %d): numbers are not below zero", done, total))
	}
	if err := abi.CheckPublishedText(abi.CodeBadBody, "the note of the progress", note); err != nil {
		return err
	}
	ctx.scope.PublishProgress(&opPublish, abi.Progress{Done: uint64(done), Note: note, Total: uint64(total)})
	return nil
}

// Publishes declares the values that runs of the workflow publish. Call it where the workflow is
// made, at package level.
//
// It panics if the workflow publishes something of that name already.
func (w *Workflow[Req, Res]) Publishes(values ...AnyPublished) *Workflow[Req, Res] {
	for _, v := range values {
		v.publish(w.registered)
	}
	return w
}
