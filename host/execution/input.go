package execution

import "github.com/cruster/cruster/host/budget"

// heldInput is the memory of the input in the row of a run; nil if there is none.
type heldInput struct{ paid *budget.Permit }

// takeFrom takes over the memory of the inputs of starts. A run that does not adopt the row of a
// start has none of its input either. A start that is received again brings the same.
func (in *heldInput) takeFrom(notices []notice) {
	for _, n := range notices {
		if s, ok := n.(started); ok && s.input != in.paid {
			in.release()
			in.paid = s.input
		}
	}
}

// leaveTo leaves the memory to a start that is received again.
func (in *heldInput) leaveTo(s started) {
	if in.paid == s.input {
		in.paid = nil
	}
}

// release gives the memory back.
func (in *heldInput) release() {
	in.paid.Release()
	in.paid = nil
}
