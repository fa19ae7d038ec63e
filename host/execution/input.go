package execution

// takeInputs takes over the memory of the inputs of starts. A run that does not adopt the row of a
// start has none of its input either. A start that is received again brings the same.
func (r *run) takeInputs(notices []notice) {
	for _, n := range notices {
		if s, ok := n.(started); ok && s.input != r.input {
			r.releaseInput()
			r.input = s.input
		}
	}
}

func (r *run) releaseInput() {
	r.input.Release()
	r.input = nil
}

// letGoOfInput says that the guest has its input, or that it is not needed yet.
func (r *run) letGoOfInput() {
	r.row = r.row.Brief() // others may look at the row as it was
	r.releaseInput()
}
