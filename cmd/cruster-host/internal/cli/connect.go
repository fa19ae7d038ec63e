package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/cruster/cruster/abi"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// withClient runs a command that talks to a host.
func (a *app) withClient(do func(c *client.Client) error) error {
	if err := checkAddr(a.addr); err != nil {
		return err
	}
	var once sync.Once
	waiting := func(forAtMost time.Duration) {
		once.Do(func() {
			a.say(fmt.Sprintf("no host answers at %s; trying for %v", a.addr, forAtMost.Round(100*time.Millisecond)))
		})
	}
	c, err := client.Dial(
		a.addr, client.WithNamespace(a.namespace), client.WithRetryFor(a.retryFor), client.WithNotice(waiting),
	)
	if err != nil {
		return err
	}
	defer c.Close() // nothing is pending any more
	return a.whereUnreachable(do(c))
}

// checkAddr refuses an address that gRPC's resolver would refuse in its own terms.
func checkAddr(addr string) error {
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "dns:") || strings.HasPrefix(addr, "passthrough:") {
		return nil // targets of gRPC
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || strings.ContainsAny(host, "/ ") {
		return usage.Errorf("%q is not an address of a host: write HOST:PORT, as in %s", addr, defaultAddr)
	}
	return nil
}

// whereUnreachable adds the address to the error of a host that does not answer: it may come from the environment and
// be forgotten.
func (a *app) whereUnreachable(err error) error {
	var coded *abi.Error
	if !errors.As(err, &coded) || coded.Code != abi.CodeUnreachable {
		return err
	}
	at := *coded
	at.Message = strings.Replace(at.Message, "no host answers", "no host answers at "+a.addr, 1)
	// The words are the gRPC client's.
	switch _, cause, other := strings.Cut(at.Message, "error reading server preface: "); {
	case strings.Contains(cause, "looked like an HTTP/1.1 header"):
		at.Message = fmt.Sprintf("no host answers at %s: what listens there speaks HTTP, not gRPC", a.addr)
		at.Hint = "If it is the HTTP address of a host, name its gRPC address: " + defaultAddr +
			", unless --grpc-addr of 'dev' or 'serve' says otherwise. A host prints both when it starts."
	case other:
		at.Message = fmt.Sprintf(
			"no host answers at %s: what listens there does not speak gRPC (%s)", a.addr,
			strings.TrimSuffix(cause, `"`),
		)
	}
	return &at
}

// addrFlag returns the flags that a suggested command needs to reach the same host, and the same
// namespace, from this terminal.
func (a *app) addrFlag() string {
	addr, _ := a.lookupEnv("CRUSTER_ADDR")
	namespace, _ := a.lookupEnv("CRUSTER_NAMESPACE")
	return a.addrFlagBeside(addr, namespace)
}

// addrFlagAnywhere is addrFlag for a terminal whose environment may be another one: a host
// occupies its own.
func (a *app) addrFlagAnywhere() string { return a.addrFlagBeside("", "") }

// addrFlagBeside is addrFlag where the environment has this address and this namespace.
func (a *app) addrFlagBeside(addr, namespace string) (flags string) {
	if a.addr != defaultAddr && a.addr != addr {
		flags = " --addr " + a.addr
	}
	if a.namespace != defaultNamespace && a.namespace != namespace {
		flags += " --namespace " + a.namespace
	}
	return flags
}
