package guest

import (
	"errors"
	"strings"
	"syscall"

	"github.com/cruster/cruster/abi"
)

// lackingIn tells by an error what the code wanted that a sandbox does not have; empty if it is
// something else. The language has words for it that mislead: "connection refused" where there
// are no connections, "bad file number" where there are no files.
func lackingIn(err error) abi.Code {
	var number syscall.Errno
	if errors.As(err, &number) {
		switch number {
		case syscall.ECONNRESET:
			return abi.CodeNoSockets
		case syscall.EBADF:
			return abi.CodeNoFiles
		case syscall.ENOSYS:
			return abi.CodeNoPrograms
		}
	}
	switch text := err.Error(); {
	case strings.Contains(text, syscall.ECONNREFUSED.Error()): // net has it as a text only
		return abi.CodeNoSockets
	case strings.Contains(text, "executable file not found"):
		return abi.CodeNoPrograms
	case strings.Contains(text, "unknown time zone "):
		return abi.CodeNoZones
	}
	return ""
}
