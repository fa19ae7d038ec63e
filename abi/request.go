package abi

// CheckRequest bounds the request of a start, makes it canonical and checks it
// against the workflow's type. A request that was left out is nil.
//
// The host and the test kit of the Go SDK both call it, so they refuse the same
// requests.
func (w *WorkflowInfo) CheckRequest(input []byte) ([]byte, error) {
	if input == nil {
		input = absentRequest(w.Input)
	}
	if len(input) > MaxPayload {
		return nil, Errorf(CodePayloadTooLarge, "the input has %d bytes, the limit is %d", len(input), MaxPayload)
	}
	canonical, err := Canonical(input)
	if err != nil {
		return nil, Errorf(CodeBadInput, "the input is not one msgpack value: %v", err)
	}
	if w.Input != nil {
		if err := w.Input.Check(canonical); err != nil {
			return nil, err
		}
	}
	return canonical, nil
}

// absentRequest stands for a request that was left out: an empty struct if the
// workflow requires no field, and null otherwise.
func absentRequest(s *Schema) []byte {
	if s == nil || s.Type != TypeStruct || s.Nullable {
		return Nil
	}
	for _, f := range s.Fields {
		if f.Required {
			return Nil
		}
	}
	return MustMarshal(map[string]any{})
}
