package convert_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

func jsonPayload(text string) *crusterv1.Payload {
	return &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: text}}
}

func packedPayload(data []byte) *crusterv1.Payload {
	return &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: data}}
}

func TestDecodePayload(t *testing.T) {
	t.Parallel()
	float := &abi.Schema{Type: abi.TypeFloat}
	for name, tc := range map[string]struct {
		payload *crusterv1.Payload
		schema  *abi.Schema
		want    []byte
		code    abi.Code
	}{
		"Absent":    {nil, nil, abi.Nil, ""},
		"Empty":     {&crusterv1.Payload{}, nil, abi.Nil, ""},
		"JSON":      {jsonPayload("5"), nil, abi.MustMarshal(5), ""},
		"TypedJSON": {jsonPayload("5"), float, abi.MustMarshal(5.0), ""},
		"BadJSON":   {jsonPayload("{"), nil, nil, abi.CodeBadInput},
		"Msgpack":   {packedPayload(abi.MustMarshal("x")), nil, abi.MustMarshal("x"), ""},
		"Malformed": {packedPayload([]byte{0xc1}), nil, nil, abi.CodeBadInput},
		"Two":       {packedPayload([]byte{1, 2}), nil, nil, abi.CodeBadInput},
		"TooLarge":  {packedPayload(make([]byte, abi.MaxBody+1)), nil, nil, abi.CodePayloadTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := convert.DecodePayload(tc.payload, tc.schema)
			require.Equal(t, tc.code, abi.CodeOf(err), "%v", err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestAnswerEncoding(t *testing.T) {
	t.Parallel()
	const (
		unspecified = crusterv1.Encoding_ENCODING_UNSPECIFIED
		msgpack     = crusterv1.Encoding_ENCODING_MSGPACK
		text        = crusterv1.Encoding_ENCODING_JSON
	)
	for name, tc := range map[string]struct {
		wanted crusterv1.Encoding
		sent   *crusterv1.Payload
		want   crusterv1.Encoding
	}{
		"Nothing":       {unspecified, nil, text},
		"LikeJSON":      {unspecified, jsonPayload("1"), text},
		"LikeMsgpack":   {unspecified, packedPayload(abi.Nil), msgpack},
		"WantedMsgpack": {msgpack, jsonPayload("1"), msgpack},
		"WantedJSON":    {text, packedPayload(abi.Nil), text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := convert.AnswerEncoding(tc.wanted, tc.sent)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	_, err := convert.AnswerEncoding(9, nil)
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))
}

func TestEncodePayload(t *testing.T) {
	t.Parallel()
	data := abi.MustMarshal(map[string]any{"a": 1.5})
	p, err := convert.EncodePayload(data, crusterv1.Encoding_ENCODING_MSGPACK)
	require.NoError(t, err)
	require.Equal(t, data, p.GetMsgpack())
	p, err = convert.EncodePayload(data, crusterv1.Encoding_ENCODING_JSON)
	require.NoError(t, err)
	require.Equal(t, `{"a":1.5}`, p.GetJson())
	p, err = convert.EncodePayload(nil, crusterv1.Encoding_ENCODING_JSON)
	require.NoError(t, err)
	require.Nil(t, p, "no value is not null")
	p, err = convert.EncodePayload(abi.Nil, crusterv1.Encoding_ENCODING_JSON)
	require.NoError(t, err)
	require.Equal(t, "null", p.GetJson())
}
