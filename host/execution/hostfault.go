package execution

import (
	"encoding/hex"
	"runtime"
	"runtime/debug"

	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// hostFault is a failure of the host itself while it worked on one execution: it panicked, or a
// stored record does not decode. It says nothing about other executions: this one is paused, and
// the process goes on.
type hostFault struct {
	hostfault.Fault                       // without a stack if nothing panicked
	damaged         *journal.DamagedEntry // nil if no entry is to blame
}

// Bounds of the fault details kept with an execution.
const (
	maxFaultStack = 8 << 10
	maxFaultBytes = 512
)

// faultBundle is the data of a bug report. It is the details of the error with which the execution
// is paused, so that it can be read as long as that is, from whatever host.
type faultBundle struct {
	Build     string `msgpack:"build"`
	Bytes     string `msgpack:"bytes,omitempty"` // the beginning of an entry that does not decode, in hex
	Delivered uint64 `msgpack:"delivered"`       // the last entry that the guest saw
	Digest    string `msgpack:"digest,omitempty"`
	Entry     uint64 `msgpack:"entry,omitempty"` // the entry that does not decode
	Go        string `msgpack:"go"`
	Stack     string `msgpack:"stack,omitempty"`
	Turn      uint64 `msgpack:"turn"`
}

// bundle collects the data of a bug report about a run at a position of its journal.
func (f *hostFault) bundle(row *journal.Execution, at replay.Position) faultBundle {
	b := faultBundle{
		Build:     build(),
		Delivered: at.Seq,
		Go:        runtime.Version(),
		Stack:     string(f.Stack[:min(len(f.Stack), maxFaultStack)]),
		Turn:      at.Turn,
	}
	if row != nil {
		b.Digest = row.Digest
	}
	if d := f.damaged; d != nil {
		b.Entry, b.Bytes = d.Seq, hex.EncodeToString(d.Bytes[:min(len(d.Bytes), maxFaultBytes)])
	}
	return b
}

// guarded runs a part of the work on one execution. It returns the fault if that panicked.
func guarded(work func()) *hostFault {
	if f := hostfault.Guard(work); f != nil {
		return &hostFault{Fault: *f}
	}
	return nil
}

// build names the version of the host and its commit.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			text += " " + s.Key + "=" + s.Value
		}
	}
	return text
}
