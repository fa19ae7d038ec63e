package convert

import (
	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
)

// DecodePayload returns a payload as well-formed msgpack; an absent payload is null. The schema directs the conversion
// of JSON.
func DecodePayload(p *crusterv1.Payload, s *abi.Schema) ([]byte, error) {
	switch d := p.GetData().(type) {
	case *crusterv1.Payload_Json:
		return payload.FromJSON([]byte(d.Json), s)
	case *crusterv1.Payload_Msgpack:
		if len(d.Msgpack) > abi.MaxBody {
			return nil, abi.Errorf(
				abi.CodePayloadTooLarge, "a payload of %d bytes is over the limit of %d", len(d.Msgpack), abi.MaxBody,
			)
		}
		if _, err := abi.Canonical(d.Msgpack); err != nil {
			return nil, abi.Errorf(abi.CodeBadInput, "the payload is malformed: %v", err)
		}
		return d.Msgpack, nil
	default:
		return abi.Nil, nil
	}
}

// DecodeTyped returns a payload as well-formed msgpack, or nil if it is absent: the engine knows the meaning of that.
// Only JSON needs its type here, which typeOf finds: the engine checks every value against it.
func DecodeTyped(p *crusterv1.Payload, typeOf func() (*abi.Schema, error)) ([]byte, error) {
	switch p.GetData().(type) {
	case nil:
		return nil, nil
	case *crusterv1.Payload_Json:
		schema, err := typeOf()
		if err != nil {
			return nil, err
		}
		return DecodePayload(p, schema)
	default:
		return DecodePayload(p, nil)
	}
}

// AnswerEncoding is the form of the payloads in an answer: the wanted one, or else the form of the request's own
// payload, or else JSON.
func AnswerEncoding(wanted crusterv1.Encoding, sent *crusterv1.Payload) (crusterv1.Encoding, error) {
	switch wanted {
	case crusterv1.Encoding_ENCODING_MSGPACK, crusterv1.Encoding_ENCODING_JSON:
		return wanted, nil
	case crusterv1.Encoding_ENCODING_UNSPECIFIED:
		if _, ok := sent.GetData().(*crusterv1.Payload_Msgpack); ok {
			return crusterv1.Encoding_ENCODING_MSGPACK, nil
		}
		return crusterv1.Encoding_ENCODING_JSON, nil
	default:
		return 0, abi.Errorf(abi.CodeBadRequest, "there is no encoding %d", wanted)
	}
}

// EncodePayload makes a payload of msgpack; nil stays nil.
func EncodePayload(data []byte, as crusterv1.Encoding) (*crusterv1.Payload, error) {
	if data == nil {
		return nil, nil
	}
	if as == crusterv1.Encoding_ENCODING_MSGPACK {
		return &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: data}}, nil
	}
	text, err := payload.ToJSON(data)
	if err != nil {
		return nil, err
	}
	return &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: string(text)}}, nil
}
