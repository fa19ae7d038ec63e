package cruster

import (
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Activity is a step of a workflow that has side effects: it may use SQL, HTTP, configuration and real time. It runs in
// its own instance of the module, the host retries it, and its result is journaled. Make one with [NewActivity].
type Activity[In, Out any] struct {
	name string
	opts activityOptions
	body guest.ActivityBody // of a call, but for its input

	registered *guest.Activity
}

// NewActivity registers an activity. Call it at package level, so that every instance of the module has the activity.
// The options are the defaults of all calls; without any, the host makes one attempt and does not retry.
//
// It panics if the name is invalid or already registered.
func NewActivity[In, Out any](
	name string, fn func(*ActivityContext, In) (Out, error), opts ...ActivityOption,
) *Activity[In, Out] {
	a := &Activity[In, Out]{name: name}
	a.opts.apply(opts)
	if a.opts.key != "" {
		panic("cruster: activity " + name + ": ActivityKey is an option of a single call: use it with With")
	}
	a.body = a.encodeBody()
	a.registered = &guest.Activity{
		Name:    name,
		Input:   reflect.TypeFor[In](),
		Output:  reflect.TypeFor[Out](),
		Retry:   a.opts.retry,
		Timeout: a.opts.timeout,
		Run: func(at guest.Attempt, body []byte) ([]byte, error) {
			in, err := decode[In](body)
			if err != nil {
				return nil, abi.Errorf(abi.CodeBadInput, "the input does not fit activity %s: %v", name, err)
			}
			ctx := newActivityContext(at)
			defer ctx.within.end()
			out, err := fn(ctx, in)
			if err != nil {
				return nil, err
			}
			return encode("the result of activity ", name, out)
		},
	}
	a.registered.Package = guest.Register(func(r *guest.Registry) { r.AddActivity(a.registered) })
	return a
}

// Name is the name the activity was registered under.
func (a *Activity[In, Out]) Name() string { return a.name }

// With returns the activity with other options for the calls made through it:
//
//	Reserve.With(cruster.ActivityKey("order-42"), cruster.Retries(1)).Call(ctx, items)
func (a *Activity[In, Out]) With(opts ...ActivityOption) *Activity[In, Out] {
	b := *a
	b.opts.apply(opts)
	b.body = b.encodeBody()
	return &b
}

func (a *Activity[In, Out]) encodeBody() guest.ActivityBody {
	return guest.NewActivityBody(&abi.Activity{
		Key: a.opts.key, Name: a.name, Retry: a.opts.retry, Timeout: a.opts.timeout,
	})
}

// Call performs the activity and waits for its result. Its error is the last attempt's.
func (a *Activity[In, Out]) Call(ctx Context, in In) (Out, error) {
	return a.Go(ctx, in).Await(ctx)
}

// Go performs the activity; the future is its result.
func (a *Activity[In, Out]) Go(ctx Context, in In) Future[Out] {
	what := guest.Label{Kind: "activity", Name: a.name}
	var room [16]byte // for a number or a short text
	input, ok := guest.AppendScalar(room[:0], in)
	if !ok {
		var err error
		if input, err = guest.Encode("the input of "+what.String(), in); err != nil {
			return Future[Out]{p: ctx.scope.Failed(what, err)}
		}
	}
	return Future[Out]{p: ctx.scope.Issue(&opActivity, what, a.body.With(input))}
}
