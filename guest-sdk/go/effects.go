package cruster

import (
	"log/slog"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// effects makes the immediate calls of an invocation.
type effects struct {
	host guest.Host
}

// config reads a value of the deployment's configuration.
func (e effects) config(name string) (string, bool) {
	var reply abi.ConfigReply
	if err := e.do(&callConfig, abi.ConfigRequest{Name: name}, &reply); err != nil {
		panic(err) // happens only if the host breaks the ABI
	}
	return reply.Value, reply.Found
}

func (e effects) logger() *slog.Logger { return slog.New(&logHandler{to: e.host}) }

// do performs an immediate call of the host.
func (e effects) do(call *guest.Call, body, reply any) error {
	raw, failed := e.host.Do(call, abi.MustMarshal(body))
	if failed != nil {
		return failed
	}
	return undecoded(call, abi.Unmarshal(raw, reply))
}

// undecoded names the call whose answer from the host did not decode; nil if it did.
func undecoded(call *guest.Call, err error) error {
	if err == nil {
		return nil
	}
	return abi.Errorf(abi.CodeGuestProtocol, "the reply of %s does not decode: %v", call.Name, err)
}
