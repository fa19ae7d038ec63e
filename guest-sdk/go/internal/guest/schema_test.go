package guest

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

type base struct {
	ID   string `json:"id"`
	Note string `json:"note,omitempty"`
}

type Owner struct {
	Name string `json:"name"`
}

type text struct{ s string }

func (t text) MarshalText() ([]byte, error)     { return []byte(t.s), nil }
func (t *text) UnmarshalText(data []byte) error { t.s = string(data); return nil }

type tree struct {
	Value    int     `json:"value"`
	Children []*tree `json:"children"`
}

type everything struct {
	base
	*Owner
	Bool     bool             `json:"bool"`
	Int8     int8             `json:"int8"`
	Int      int              `json:"int"`
	Uint16   uint16           `json:"uint16"`
	Float32  float32          `json:"float32"`
	Float    float64          `json:"float"`
	Bytes    []byte           `json:"bytes"`
	Fixed    [4]byte          `json:"fixed"`
	List     []string         `json:"list"`
	Map      map[string]int64 `json:"map"`
	Odd      map[int]string   `json:"odd"`
	Pointer  *int             `json:"pointer"`
	Optional *string          `json:"optional,omitempty"`
	Time     time.Time        `json:"time"`
	Duration time.Duration    `json:"duration"`
	Any      any              `json:"any"`
	Text     text             `json:"text"`
	Tree     tree             `json:"tree"`
	Renamed  string           `msgpack:"wire" json:"not_this"`
	Plain    string
	Skipped  string            `json:"-"`
	Labels   map[string]string `json:"labels,omitempty"`
	hidden   string
}

func TestSchemaOfEverything(t *testing.T) {
	t.Parallel()
	s := SchemaOf(reflect.TypeFor[everything]())
	require.NoError(t, s.Validate())
	got := map[string]abi.Field{}
	names := []string{}
	for _, f := range s.Fields {
		got[f.Name] = f
		names = append(names, f.Name)
	}
	require.True(t, slices.IsSorted(names))
	field := func(name string, required bool, schema abi.Schema) {
		t.Helper()
		f, ok := got[name]
		require.True(t, ok, name)
		require.Equal(t, required, f.Required, name)
		require.Equal(t, schema, *f.Schema, name)
		delete(got, name)
	}
	field("id", true, abi.Schema{Type: abi.TypeString})
	field("note", false, abi.Schema{Type: abi.TypeString})
	field("name", false, abi.Schema{Type: abi.TypeString, Nullable: true})
	field("bool", true, abi.Schema{Type: abi.TypeBool})
	field("int8", true, abi.Schema{Type: abi.TypeInt, Bits: 8})
	field("int", true, abi.Schema{Type: abi.TypeInt, Bits: 64})
	field("uint16", true, abi.Schema{Type: abi.TypeUint, Bits: 16})
	field("float32", true, abi.Schema{Type: abi.TypeFloat, Bits: 32})
	field("float", true, abi.Schema{Type: abi.TypeFloat, Bits: 64})
	field("bytes", true, abi.Schema{Type: abi.TypeBytes, Nullable: true})
	field("fixed", true, abi.Schema{Type: abi.TypeBytes})
	field("list", true, abi.Schema{Type: abi.TypeList, Elem: &abi.Schema{Type: abi.TypeString}, Nullable: true})
	field("map", true, abi.Schema{Type: abi.TypeMap, Elem: &abi.Schema{Type: abi.TypeInt, Bits: 64}, Nullable: true})
	field("odd", true, abi.Schema{Type: abi.TypeAny, Nullable: true})
	field("pointer", true, abi.Schema{Type: abi.TypeInt, Bits: 64, Nullable: true})
	field("optional", false, abi.Schema{Type: abi.TypeString, Nullable: true})
	field("time", true, abi.Schema{Type: abi.TypeTime})
	field("duration", true, abi.Schema{Type: abi.TypeInt, Bits: 64})
	field("any", true, abi.Schema{Type: abi.TypeAny, Nullable: true})
	field("text", true, abi.Schema{Type: abi.TypeAny, Nullable: true})
	field("wire", true, abi.Schema{Type: abi.TypeString})
	field("Plain", true, abi.Schema{Type: abi.TypeString})
	field("labels", false, abi.Schema{Type: abi.TypeMap, Elem: &abi.Schema{Type: abi.TypeString}, Nullable: true})
	field("tree", true, abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{
		{
			Name:     "children",
			Required: true,
			Schema: &abi.Schema{
				Type: abi.TypeList, Elem: &abi.Schema{Type: abi.TypeAny, Nullable: true}, Nullable: true,
			},
		},
		{Name: "value", Required: true, Schema: &abi.Schema{Type: abi.TypeInt, Bits: 64}},
	}})
	require.Empty(t, got)
}

// The schema must describe the encoder's output: exactly the required fields for a zero value,
// exactly all fields for a full one.
func TestSchemaAgreesWithTheEncoder(t *testing.T) {
	t.Parallel()
	one, two := 1, "two"
	type shadow struct {
		ID int `json:"id"`
		base
	}
	type named struct {
		Owner `json:"owner"`
	}
	type inlinedPointer struct {
		*base
		X int `json:"x"`
	}
	for _, c := range []struct{ zero, full any }{
		{everything{Owner: &Owner{}}, everything{
			base:     base{ID: "i", Note: "n"},
			Owner:    &Owner{},
			Optional: &two,
			Pointer:  &one,
			Labels:   map[string]string{"a": "b"},
			hidden:   "h",
		}},
		{shadow{}, shadow{base: base{Note: "x"}}},
		{named{}, named{}},
		{inlinedPointer{base: &base{}}, inlinedPointer{base: &base{Note: "x"}}},
	} {
		s := SchemaOf(reflect.TypeOf(c.zero))
		var required, all []string
		for _, f := range s.Fields {
			all = append(all, f.Name)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		require.Subset(t, keysOf(t, c.zero), required, "%T", c.zero)
		require.Subset(t, all, keysOf(t, c.zero), "%T", c.zero)
		require.Equal(t, all, keysOf(t, c.full), "%T", c.zero)
	}
}

func keysOf(t *testing.T, v any) []string {
	t.Helper()
	b, err := abi.Marshal(v)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, abi.Unmarshal(b, &m))
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
