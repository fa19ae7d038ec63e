//go:build !wasip1

package guest

import (
	"errors"

	"github.com/cruster/cruster/abi"
)

// ErrNoSockets is what the test kit says where a module has no network.
var ErrNoSockets = errors.New("a module that does not import stdhttp has no network of its own")

// lackingIn tells by an error what the code wanted that a module does not have. A test is in no sandbox: it is what the kit
// refuses.
func lackingIn(err error) abi.Code {
	if errors.Is(err, ErrNoSockets) {
		return abi.CodeNoSockets
	}
	return ""
}
