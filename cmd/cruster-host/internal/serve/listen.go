package serve

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
)

const (
	// listenTimeout is how long addresses may be in use before a host gives up, and listenInterval the time between two
	// tries. A process that was killed holds its addresses until the kernel has taken it down, which is after kill has
	// returned.
	listenTimeout  = 2 * time.Second
	listenInterval = 50 * time.Millisecond
)

// An addressWait is the time that all addresses of a host may take together.
type addressWait struct {
	clock    clockwork.Clock
	deadline time.Time
}

func newAddressWait(clock clockwork.Clock) addressWait {
	return addressWait{clock, clock.Now().Add(listenTimeout)}
}

// listen takes the address of a flag, and waits a moment for a former host that is on its way out. If
// ctx ends before that its error is returned as it is: the address is not to blame.
func (w addressWait) listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	for {
		l, err := net.Listen("tcp", addr)
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, abi.Errorf(abi.CodeBadConfig, "%s: %v", flag, err).
				WithHint("Addresses are HOST:PORT, as in 127.0.0.1:7600; a host can listen only on addresses of its machine.")
		case !w.clock.Now().Before(w.deadline):
			return nil, abi.Errorf(abi.CodeAddress, "%s: %v", flag, err).
				WithHint("Is another host running? Choose another address with %s.", flag)
		case !pause(ctx, w.clock, listenInterval):
			return nil, ctx.Err()
		}
	}
}

// pause waits, and tells whether ctx is still to be served.
func pause(ctx context.Context, clock clockwork.Clock, d time.Duration) bool {
	t := clock.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.Chan():
		return true
	case <-ctx.Done():
		return false
	}
}
