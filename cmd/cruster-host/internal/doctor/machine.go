package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// lowDisk is how much room a store should find at least.
const lowDisk = 1 << 30

// examineHost asks the host that commands would talk to how it is. That none answers is a note: none may have been
// started. Start is the command that does.
func examineHost(ctx context.Context, addr, start string) Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return Finding{
			What:   "host",
			Status: Problem,
			Text:   fmt.Sprintf("%q is not an address of a host", addr),
			Fix:    "export CRUSTER_ADDR=127.0.0.1:7600",
		}
	}
	defer conn.Close() // nothing is pending any more
	answer, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	switch {
	case err != nil:
		return Finding{What: "host", Status: Note, Text: "none answers at " + addr, Fix: start}
	case answer.GetStatus() != healthv1.HealthCheckResponse_SERVING:
		return Finding{
			What:   "host",
			Status: Problem,
			Text:   "the one at " + addr + " makes no progress: its log says why",
			Fix:    "cruster-host workflow list --addr " + addr,
		}
	default:
		return Finding{What: "host", Status: OK, Text: "answers at " + addr}
	}
}

// examinePort tries to listen where a host would. A port that is in use is as it should be if a host answers.
func examinePort(what, flag, addr string, answers bool) Finding {
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		l.Close() // it was only tried
		return Finding{What: what, Status: OK, Text: addr + " is free"}
	case errors.Is(err, syscall.EADDRINUSE) && answers:
		return Finding{What: what, Status: OK, Text: addr + " is in use, and a host answers"}
	case errors.Is(err, syscall.EADDRINUSE):
		return Finding{
			What:   what,
			Status: Problem,
			Text:   addr + " is in use by another program",
			Fix:    "cruster-host dev " + flag + " " + nextPort(addr),
		}
	default:
		return Finding{What: what, Status: Problem, Text: err.Error(), Fix: "cruster-host dev " + flag + " 127.0.0.1:0"}
	}
}

// nextPort is the address with the port after it.
func nextPort(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	n, bad := strconv.Atoi(port)
	if err != nil || bad != nil || n < 1 || n >= 65535 {
		return "127.0.0.1:0"
	}
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}

func examineStore(ctx context.Context, store serve.StoreSpec, answers bool) Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	p, err := store.Probe(ctx)
	return judgeStore(p, answers, err)
}

// judgeStore makes a finding of a store probe. A store in use is worth a note if a host answers: it
// may be that host's.
func judgeStore(p serve.StoreProbe, answers bool, err error) Finding {
	f := Finding{What: "store", Status: Problem, Fix: p.Fix}
	switch {
	case err != nil:
		f.Text = err.Error()
	case p.Free >= 0 && p.Free < lowDisk:
		f.Text, f.Fix = fmt.Sprintf(
			"%s: only %s are free", p.Text, terminal.Bytes(p.Free),
		), "df -h "+terminal.QuoteWord(p.Text)
	case p.InUse && answers:
		return Finding{
			What:   "store",
			Status: Note,
			Text:   p.Text + " is in use, and a host answers; a second host needs a folder of its own",
		}
	case p.InUse:
		f.Text = p.Text + " is in use by another process, and no host answers"
	default:
		return Finding{What: "store", Status: OK, Text: p.Text}
	}
	return f
}
