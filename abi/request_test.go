package abi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAbsentRequest(t *testing.T) {
	t.Parallel()
	text := &Schema{Type: TypeString}
	optional := &Schema{Type: TypeStruct, Fields: []Field{{Name: "a", Schema: text}}}
	nullable := &Schema{Type: TypeStruct, Nullable: true}
	required := &Schema{
		Type: TypeStruct, Fields: []Field{{Name: "a", Schema: text}, {Name: "b", Required: true, Schema: text}},
	}
	empty := MustMarshal(map[string]any{})
	for name, c := range map[string]struct {
		schema *Schema
		want   []byte // nil: it is refused
	}{
		"nothing is asked for":  {&Schema{Type: TypeStruct}, empty},
		"all of it is optional": {optional, empty},
		"null fits":             {nullable, Nil},
		"anything fits":         {nil, Nil},
		"a field is required":   {required, nil},
		"it is not a struct":    {text, nil},
	} {
		got, err := (&WorkflowInfo{Name: "W", Input: c.schema}).CheckRequest(nil)
		if c.want == nil {
			require.Equal(t, CodeBadInput, CodeOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := (&WorkflowInfo{Name: "W", Input: optional}).CheckRequest(Nil)
	require.Equal(t, CodeBadInput, CodeOf(err), "null is not the same as nothing")
	got, err := (&WorkflowInfo{Name: "W", Input: &Schema{Type: TypeStruct}}).CheckRequest(Nil)
	require.NoError(t, err, "null is what people write for nothing")
	require.Equal(t, empty, got)
}

func TestCheckRequest(t *testing.T) {
	t.Parallel()
	w := &WorkflowInfo{Name: "W", Input: &Schema{Type: TypeMap, Elem: &Schema{Type: TypeInt}}}
	got, err := w.CheckRequest([]byte{0x82, 0xa1, 'b', 1, 0xa1, 'a', 2})
	require.NoError(t, err)
	require.Equal(t, []byte{0x82, 0xa1, 'a', 2, 0xa1, 'b', 1}, got, "the request becomes canonical")
	for name, c := range map[string]struct {
		input []byte
		code  Code
	}{
		"too large":     {make([]byte, MaxPayload+1), CodePayloadTooLarge},
		"no value":      {[]byte{}, CodeBadInput},
		"two values":    {[]byte{0x80, 0x80}, CodeBadInput},
		"another type":  {[]byte{1}, CodeBadInput},
		"other entries": {[]byte{0x81, 0xa1, 'a', 0xc2}, CodeBadInput},
	} {
		_, err := w.CheckRequest(c.input)
		require.Equal(t, c.code, CodeOf(err), name)
	}
}

func TestCheckValueOfSignal(t *testing.T) {
	t.Parallel()
	paid := &SignalInfo{Name: "paid", Value: &Schema{Type: TypeInt}}
	got, err := paid.CheckValue([]byte{0xcc, 7})
	require.NoError(t, err)
	require.Equal(t, []byte{7}, got, "the value becomes canonical")
	_, err = paid.CheckValue(MustMarshal("7"))
	require.Equal(t, CodeBadInput, CodeOf(err))
	_, err = paid.CheckValue(nil)
	require.Equal(t, CodeBadInput, CodeOf(err))

	got, err = (&SignalInfo{Name: "go"}).CheckValue(nil)
	require.NoError(t, err)
	require.Equal(t, Nil, got, "a signal that brings anything may bring nothing")
}
