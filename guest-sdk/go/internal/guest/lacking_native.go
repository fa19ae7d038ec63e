//go:build !wasip1

package guest

import (
	"errors"

	"github.com/cruster/cruster/abi"
)

// lackingIn tells by an error which capability the code wanted that a module lacks. A test has no
// sandbox: the kit refuses it.
func lackingIn(err error) abi.Code {
	if errors.Is(err, ErrNoSockets) {
		return abi.CodeNoSockets
	}
	return ""
}
