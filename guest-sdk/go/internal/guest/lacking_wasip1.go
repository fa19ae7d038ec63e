package guest

import (
	"errors"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/cruster/cruster/abi"
)

// lackingIn tells by an error which capability the code wanted that a sandbox lacks; empty if it is
// something else. The language has words for it that mislead: "connection refused" where there are
// no connections, "bad file number" where there are no files.
//
// The words alone say nothing: a service may have sent them. So it is told by the types of the
// errors, and by their names, because every module would have the packages that they are of.
func lackingIn(err error) abi.Code {
	var number syscall.Errno
	switch {
	case has(err, "*net.OpError"), has(err, "*net.DNSError"):
		return abi.CodeNoSockets
	case has(err, "*fs.PathError") && errors.As(err, &number) && number == syscall.EBADF:
		return abi.CodeNoFiles
	case has(err, "*exec.Error"):
		return abi.CodeNoPrograms
	case strings.Contains(err.Error(), "unknown time zone ") && !hasZones():
		return abi.CodeNoZones
	// The library looks for the zones in files, with the system's calls, and hands on their error.
	case errors.As(err, &number) && number == syscall.EBADF && !has(err, "*os.SyscallError") && !hasZones():
		return abi.CodeNoZones
	}
	return ""
}

// has tells whether an error, or an error that it wraps, is of a type.
func has(err error, name string) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if reflect.TypeOf(err).String() == name {
			return true
		}
	}
	return false
}

// hasZones tells whether the module has the time zones.
func hasZones() bool {
	_, err := time.LoadLocation("Europe/Berlin")
	return err == nil
}
