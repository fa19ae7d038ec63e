package crustertest

import (
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// stepOf names an activity among the activities of all modules.
type stepOf struct{ pkg, name string }

// Stub replaces an activity. Input and result still pass through msgpack, and errors are retried as
// with the real activity.
func Stub[In, Out any](a *cruster.Activity[In, Out], fn func(*cruster.ActivityContext, In) (Out, error)) Option {
	stub := &guest.Activity{
		Name: a.Name(),
		Run: func(at guest.Attempt, body []byte) ([]byte, error) {
			var in In
			if err := abi.Unmarshal(body, &in); err != nil {
				return nil, fmt.Errorf("the input of the stub of %s: %w", a.Name(), err)
			}
			ctx, end := guest.NewActivityContext(at)
			defer end()
			out, err := fn(ctx.(*cruster.ActivityContext), in)
			if err != nil {
				return nil, err
			}
			return guest.Encode("the result of the stub of "+a.Name(), out)
		},
	}
	return func(c *config) { c.activities[stepOf{guest.PackageOf(a), a.Name()}] = stub }
}

// Takes sets how much virtual time each attempt of an activity takes. Defaults to zero. An attempt that takes longer
// than the activity's timeout fails.
func Takes[In, Out any](a *cruster.Activity[In, Out], d time.Duration) Option {
	return TakesFunc(a, func(*cruster.ActivityContext, In) time.Duration { return d })
}

// TakesFunc is [Takes] for an activity whose attempts take different times: d says how long, by the attempt and its
// input.
func TakesFunc[In, Out any](a *cruster.Activity[In, Out], d func(*cruster.ActivityContext, In) time.Duration) Option {
	return func(c *config) {
		c.takes[stepOf{guest.PackageOf(a), a.Name()}] = func(at guest.Attempt, body []byte) (time.Duration, error) {
			var in In
			if err := abi.Unmarshal(body, &in); err != nil {
				return 0, fmt.Errorf("the input of %s: %w", a.Name(), err)
			}
			ctx, end := guest.NewActivityContext(at)
			defer end()
			return d(ctx.(*cruster.ActivityContext), in), nil
		}
	}
}

// StubWorkflow replaces a workflow that the tested one calls: "Name", or "deployment/Name" for one of another
// deployment.
func StubWorkflow[Req, Res any](name string, fn func(Req) (Res, error)) Option {
	return func(c *config) {
		c.workflows[name] = func(body []byte) ([]byte, error) {
			var req Req
			if err := abi.Unmarshal(body, &req); err != nil {
				return nil, abi.Errorf(abi.CodeBadInput, "the request does not fit the stub of %s: %v", name, err)
			}
			res, err := fn(req)
			if err != nil {
				return nil, err
			}
			return guest.Encode("the result of the stub of "+name, res)
		}
	}
}
