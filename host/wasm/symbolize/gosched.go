package symbolize

// The runtime of Go does some of its work on a stack of its own: it collects garbage, and makes the stack of a
// goroutine larger. Meanwhile the goroutine's own stack is as it was, and its descriptor says where that ends. It is
// found by the descriptor of the goroutine that has the runtime's stack, and by the thread that both are of.

// Where the fields of a goroutine's descriptor are. Go's debuggers and linkers know them too.
const (
	goroutineLow     = 0 // its stack is from here
	goroutineHigh    = 8 // to here
	goroutineThread  = 48
	goroutinePointer = 56 // where its stack ends while it does not run
	goroutineAddress = 64 // where it goes on then
)

// maxThreadWords is how much of the descriptor of a thread is looked at. It begins with the goroutine that has the
// runtime's stack; the place of the running one depends on the version of Go.
const maxThreadWords = 64

// waiting is the innermost call of the goroutine for which the runtime is at work on its own stack, and where the
// goroutine's stack ends. It is given the descriptor of the goroutine that runs: of the runtime's, or of that one if
// the runtime is about to go back to it.
func (p *goProgram) waiting(runs uint64) (call goCall, pointer uint64, ok bool) {
	thread := p.u64(runs + goroutineThread)
	if runs == 0 || thread == 0 {
		return goCall{}, 0, false
	}
	if p.u64(thread) != runs {
		return p.leftAt(runs)
	}
	for word := uint64(1); word < maxThreadWords; word++ {
		g := p.u64(thread + 8*word)
		if g == 0 || g == runs || p.u64(g+goroutineThread) != thread {
			continue
		}
		if call, pointer, ok = p.leftAt(g); ok {
			return call, pointer, true
		}
	}
	return goCall{}, 0, false
}

// leftAt is where a goroutine left its stack, as its descriptor has it. The descriptor of a running
// goroutine says nothing.
func (p *goProgram) leftAt(g uint64) (call goCall, pointer uint64, ok bool) {
	pointer, address := p.u64(g+goroutinePointer), p.u64(g+goroutineAddress)
	call = goCall{function: address>>blockBits - firstGoFunction, behind: max(1, address&(1<<blockBits-1))}
	ok = pointer > p.u64(g+goroutineLow) && pointer <= p.u64(g+goroutineHigh) &&
		address>>blockBits >= firstGoFunction && call.function < p.count
	return call, pointer, ok
}
