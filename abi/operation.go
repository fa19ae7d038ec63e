package abi

// CheckInput bounds the input of an operation, makes it canonical and checks it against the operation's type. An input
// that was left out is nil.
//
// The host and the test kit of the Go SDK both call it, so they refuse the same inputs.
func (o *OperationInfo) CheckInput(input []byte) ([]byte, error) {
	input = orAbsent(o.Input, input)
	if len(input) > MaxPayload {
		return nil, Errorf(
			CodePayloadTooLarge, "the input of %q has %d bytes, the limit is %d", o.Name, len(input), MaxPayload,
		)
	}
	canonical, err := Canonical(input)
	if err != nil {
		return nil, Errorf(CodeOperationInput, "the input of %q is not one msgpack value: %v", o.Name, err)
	}
	if o.Input != nil {
		if err := o.Input.Check(canonical); err != nil {
			return nil, Errorf(CodeOperationInput, "the input of %q: %s", o.Name, AsError(err).Message)
		}
	}
	return canonical, nil
}
