package abi

// DecodeAs reads a body from a guest as a T, strictly: see [DecodeBody].
func DecodeAs[T any](body []byte) (*T, *Error) {
	b := new(T)
	if err := DecodeBody(body, b); err != nil {
		return nil, AsError(err)
	}
	return b, nil
}

// DecodeResult is DecodeOutcome for all but workflows: they cannot continue as another run.
func DecodeResult(output []byte) (*Outcome, *Error) {
	out, err := DecodeOutcome(output)
	if err == nil && out.Continue != nil {
		return nil, Errorf(CodeGuestProtocol, "the guest wants to continue as a new run, which only a workflow can")
	}
	return out, err
}

// DecodeOutcome reads the output that a guest hands over when it is done. The value comes back in canonical form; an
// error comes back clamped, without a value.
func DecodeOutcome(output []byte) (*Outcome, *Error) {
	out, err := DecodeAs[Outcome](output)
	if err != nil {
		return nil, err
	}
	if out.Error != nil {
		out.Value, out.Continue = nil, nil
		out.Error.Clamp()
		return out, nil
	}
	if out.Continue != nil {
		out.Value = nil
		if err := checkContinue(out.Continue); err != nil {
			return nil, err
		}
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

// checkContinue checks the input of the next run, and makes it canonical.
func checkContinue(c *Continue) *Error {
	input, err := checkValue("the input of the next run", nil, c.Input)
	if err != nil {
		return AsError(err)
	}
	c.Input = input
	if len(c.Unread) > MaxInbox {
		return Errorf(CodeBadBody, "%d names of unread signals are more than an inbox holds", len(c.Unread))
	}
	for _, name := range c.Unread {
		if bad := CheckName("continue", name); bad != nil {
			return bad
		}
	}
	return nil
}
