//go:build !wasip1

package guest

import (
	"errors"

	"github.com/cruster/cruster/abi"
)

// lackingIn tells by an error what the code wanted that a module does not have. A test is in no sandbox: it is what the kit
// refuses.
func lackingIn(err error) abi.Code {
	if errors.Is(err, ErrNoSockets) {
		return abi.CodeNoSockets
	}
	return ""
}
