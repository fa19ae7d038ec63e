package usage

import "fmt"

// An Error is a mistake on the command line.
type Error struct {
	err error
	// input is for errors in the inputs a command line names, such as a missing file: no help text
	// explains those.
	input bool
}

// Errorf is the mistake of a command line that lacks something a command needs.
func Errorf(format string, args ...any) error {
	return &Error{err: fmt.Errorf(format, args...)}
}

// Inputf is the mistake of a command line that names something unfit: a file that is missing, a folder that exists.
func Inputf(format string, args ...any) error {
	return &Error{err: fmt.Errorf(format, args...), input: true}
}

func (e *Error) Error() string { return e.err.Error() }
func (e *Error) Unwrap() error { return e.err }

// HelpExplains reports whether the help of the command says how to do better.
func (e *Error) HelpExplains() bool { return !e.input }
