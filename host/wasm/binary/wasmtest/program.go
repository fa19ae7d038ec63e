package wasmtest

import "github.com/cruster/cruster/abi"

// ImportCall is one call of an import of the host with a body.
type ImportCall struct {
	Import string
	Body   []byte
}

// Program is a module that is described by a manifest, makes calls when it is started, and then hands over an outcome.
// Without an outcome its first turn parks, and the next one hands over null.
type Program struct {
	Manifest *abi.Manifest
	Calls    []ImportCall
	Outcome  *abi.Outcome
	// Stays says that all its turns park.
	Stays bool
}

// Assemble encodes the program.
func (p Program) Assemble() []byte {
	m := Module{Imports: []Import{Cruster("output", TypePtrLen)}, Data: []byte{}}
	// put places a body in memory and pushes where it is.
	put := func(body []byte) []byte {
		at := len(m.Data)
		m.Data = append(m.Data, body...)
		return Join(I32Const(int32(at)), I32Const(int32(len(body))))
	}
	output := func(v any) []byte { return Join(put(abi.MustMarshal(v)), Call(0)) }
	if p.Manifest != nil {
		m.Describe = output(p.Manifest)
	}
	const drop = 0x1a
	for _, c := range p.Calls {
		m.Imports = append(m.Imports, Cruster(c.Import, TypeOp))
		m.Start = Join(m.Start, put(c.Body), Call(byte(len(m.Imports)-1)), []byte{drop})
	}
	parked := I32Const(1)
	if p.Outcome != nil {
		m.Start, parked = Join(m.Start, output(p.Outcome)), I32Const(0)
	}
	m.Start = Join(m.Start, parked)
	if !p.Stays {
		m.Resume = Join(output(&abi.Outcome{Value: abi.Nil}), I32Const(0))
	}
	m.Pages = uint32(len(m.Data)>>16 + 1)
	return m.Assemble()
}
