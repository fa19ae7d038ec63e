//go:build wasip1

package main

import "unsafe"

// Call is a call of an import, without the SDK in between: the SDK would not let most
// of them pass.
type Call struct {
	// The body is Head, Fill zeros, and Tail.
	Fill   int64  `json:"fill"`
	Head   []byte `json:"head"`
	Import string `json:"import"`
	Tail   []byte `json:"tail"`
	// Times is how often it is made, at most; it ends with a refusal.
	Times int64 `json:"times"`
}

//go:wasmimport cruster input
func input(ptr unsafe.Pointer)

//go:wasmimport cruster cancel
func cancel(op uint32)

//go:wasmimport cruster sleep
func sleep(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster activity
func activity(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster deferred
func deferred(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster resolve
func resolve(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster call
func call(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster send
func send(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster poll
func poll(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster patched
func patched(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster interrupted
func interrupted(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_exec
func txExec(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_query
func txQuery(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster http
func http(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster http_all
func httpAll(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster config
func config(ptr unsafe.Pointer, n uint32) int32

var imports = map[string]func(unsafe.Pointer, uint32) int32{
	"sleep": sleep, "activity": activity, "deferred": deferred, "resolve": resolve, "call": call, "send": send, "poll": poll,
	"patched": patched, "interrupted": interrupted, "tx_exec": txExec, "tx_query": txQuery, "http": http,
	"http_all": httpAll, "config": config,
}

// refusals makes calls, gives up the ops that were taken, and adds the refusals as
// the host wrote them.
func (s *seen) refusals(calls []Call) {
	for _, c := range calls {
		body := append(append(append([]byte{}, c.Head...), make([]byte, c.Fill)...), c.Tail...)
		var taken []uint32
		refusal := []byte{}
		for range c.Times {
			n := imports[c.Import](unsafe.Pointer(unsafe.SliceData(body)), uint32(len(body)))
			if n < 0 {
				refusal = make([]byte, -n)
				input(unsafe.Pointer(unsafe.SliceData(refusal)))
				break
			}
			taken = append(taken, uint32(n))
		}
		for _, op := range taken {
			cancel(op)
		}
		s.add("refusal of "+c.Import, []any{int64(len(taken)), refusal})
	}
}
