// Package undertest has settings of an engine that only tests of this module use, and the build that
// crashes at fault points. They change nothing that a workflow can see, but the speed and the limit
// of journals.
//
// It imports host/guest. No other module can import it, so no other can make [Options].
package undertest

import "github.com/cruster/cruster/host/guest"

// Options are the settings. The zero value is an engine as users have it.
type Options struct {
	// CompareRestored, if set, is handed the state of every restored guest, and the state of the
	// same guest replayed: the two must be equal.
	CompareRestored func(restored, replayed *guest.Saved)
	// EvictAlways drops the instance of an execution after every turn, so that each turn begins with a replay.
	EvictAlways bool
	// FaultPoint, if set, is called at the points that host/faultpoint names.
	FaultPoint func(point string)
	// MaxEntries bounds the journals of executions. Defaults to abi.MaxEntries, the limit that
	// SDKs tell workflows.
	MaxEntries uint64
}

// Of returns the options behind a field, which it sets first if there are none.
func Of(field **Options) *Options {
	if *field == nil {
		*field = &Options{}
	}
	return *field
}
