package wasm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/symbolize"
)

// stoppedIn says where a guest was that was stopped, or has crashed, as the end of a sentence: see
// [symbolize.Stop.Where]. The backtrace is the engine's.
func (i *Instance) stoppedIn(backtrace string) string {
	if i.machine == nil || i.mod == nil {
		return ""
	}
	stop := symbolize.Stop{
		Backtrace: backtrace, Memory: i.linear.bytes(), Globals: i.machine.readGlobals(),
		Imported: uint64(len(i.module.compiled.ImportedFunctions())), At: i.stoppedAt,
	}
	if i.world.Op != nil { // others make no durable calls
		stop.LastCall = i.lastCall()
	}
	return stop.Where()
}

// lastCall reads a guest's own report in the block that it exports as [abi.ExportWhere]: "task 1,
// after activity charge at src/lib.rs:57".
func (i *Instance) lastCall() string {
	at, ok := i.mod.ExportedGlobal(abi.ExportWhere), false
	if at == nil || at.Type() != api.ValueTypeI32 {
		return ""
	}
	memory := i.mod.Memory()
	block, ok := memory.Read(uint32(at.Get()), abi.WhereBytes)
	if !ok {
		return ""
	}
	word := func(n int) uint32 { return binary.LittleEndian.Uint32(block[4*n:]) }
	text := func(n int) string {
		content, _ := memory.Read(word(n), min(word(n+1), symbolize.MaxText))
		return symbolize.OneLine(string(content), 120)
	}
	if word(1) == 0 {
		return fmt.Sprintf("task %d, before its first durable call", word(0))
	}
	what := strings.TrimSpace(text(2) + " " + text(4))
	return fmt.Sprintf("task %d, after %s at %s:%d", word(0), what, symbolize.ShortPath(text(6)), word(1))
}
