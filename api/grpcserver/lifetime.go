package grpcserver

import "context"

// A lifetime ends when the server is to stop. Calls that wait for executions end with it, for a shutdown must not last
// as long as a workflow.
type lifetime struct {
	ctx context.Context
	end context.CancelFunc
}

func newLifetime() *lifetime {
	l := &lifetime{}
	l.ctx, l.end = context.WithCancel(context.Background())
	return l
}

// over reports whether the server is to stop.
func (l *lifetime) over() bool { return l.ctx.Err() != nil }

// bound derives a context that also ends with the lifetime.
func (l *lifetime) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}
