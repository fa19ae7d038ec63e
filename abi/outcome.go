package abi

// DecodeAs reads a body from a guest as a T, strictly: see [DecodeBody].
func DecodeAs[T any](body []byte) (*T, *Error) {
	b := new(T)
	if err := DecodeBody(body, b); err != nil {
		return nil, AsError(err)
	}
	return b, nil
}

// DecodeOutcome reads what a guest hands over when it is done. The value comes
// back in canonical form; an error comes back clamped, without a value.
func DecodeOutcome(output []byte) (*Outcome, *Error) {
	out, err := DecodeAs[Outcome](output)
	if err != nil {
		return nil, err
	}
	if out.Error != nil {
		out.Value = nil
		out.Error.Clamp()
		return out, nil
	}
	if out.Continue != nil {
		out.Value = nil
		input, cerr := checkValue("the input of the next run", nil, out.Continue.Input)
		if cerr != nil {
			return nil, AsError(cerr)
		}
		out.Continue.Input = input
		return out, nil
	}
	if len(out.Value) > MaxPayload {
		return nil, Errorf(CodePayloadTooLarge, "the result has %d bytes, the limit is %d", len(out.Value), MaxPayload)
	}
	canonical, cerr := Canonical(out.Value)
	if cerr != nil {
		return nil, Errorf(CodeBadBody, "the result is not one msgpack value: %v", cerr)
	}
	out.Value = canonical
	return out, nil
}
