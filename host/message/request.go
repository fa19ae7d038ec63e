package message

// SignalRequest asks for a signal to be sent.
type SignalRequest struct {
	// Name of the signal.
	Name string
	// Value is its payload, one msgpack value; nil if it was left out.
	Value []byte
	// RequestID makes it safe to repeat the request: the same one is received once, for as long as receipts are kept.
	// Empty means that it is not repeated.
	RequestID string
}

// Signal returns the requested signal.
func (req *SignalRequest) Signal() (*Signal, error) {
	origin, err := OriginOf(req.RequestID)
	if err != nil {
		return nil, err
	}
	return &Signal{Name: req.Name, Value: req.Value, Origin: origin}, nil
}
