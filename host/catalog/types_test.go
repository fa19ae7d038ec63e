package catalog

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

func structOf(fields ...abi.Field) *abi.Schema {
	return &abi.Schema{Type: abi.TypeStruct, Fields: fields}
}

func fieldOf(name string, s *abi.Schema) abi.Field { return abi.Field{Name: name, Schema: s} }

func typeOf(name string) *abi.Schema { return &abi.Schema{Type: name} }

func TestStateMisfit(t *testing.T) {
	t.Parallel()
	whole := typeOf(abi.TypeInt)
	before := &abi.EntityInfo{Name: "Rooms", State: structOf(fieldOf("free", whole)), StateVersion: 1}
	for version, want := range map[uint32]string{
		0: "it has fewer migrations, 0 instead of 1", 1: `"free" is gone`, 2: "",
	} {
		now := &abi.EntityInfo{Name: "Rooms", State: structOf(), StateVersion: version}
		require.Equal(t, want, stateMisfit(before, now, false), "a migration is responsible")
	}
	require.Empty(t, stateMisfit(&abi.EntityInfo{Name: "Rooms"}, before, false), "it had no state")
	require.Equal(t, "the entity is gone", stateMisfit(before, &abi.EntityInfo{}, true))
	require.Equal(
		t, "it has no state any more", stateMisfit(before, &abi.EntityInfo{Name: "Rooms", StateVersion: 1}, true),
	)
	many := make([]string, 8)
	require.Equal(t, "; ; ; ; ; and 3 more", summary(many))
}

func TestOperationMisfit(t *testing.T) {
	t.Parallel()
	entity := func(operations ...abi.OperationInfo) *abi.EntityInfo {
		return &abi.EntityInfo{Name: "Rooms", Operations: operations}
	}
	taking := func(name string, input *abi.Schema) abi.OperationInfo {
		return abi.OperationInfo{Name: name, Input: input}
	}
	before := entity(taking("Book", structOf(fieldOf("nights", typeOf(abi.TypeInt)))), taking("Free", nil))
	answering := func(output *abi.Schema) *abi.EntityInfo {
		return entity(
			abi.OperationInfo{Name: "Book", Input: before.Operations[0].Input, Output: output}, before.Operations[1],
		)
	}
	before.Operations[0].Output = structOf(abi.Field{Name: "room", Required: true, Schema: typeOf(abi.TypeInt)})
	for name, tc := range map[string]struct {
		now  *abi.EntityInfo
		want string
	}{
		"Same": {now: before},
		"More": {now: entity(append([]abi.OperationInfo{taking("Cancel", nil)}, before.Operations...)...)},
		"Gone": {entity(before.Operations[0]), "operation Free is gone"},
		"All":  {&abi.EntityInfo{}, "operation Book is gone"},
		"Type": {
			entity(taking("Book", structOf(fieldOf("nights", typeOf(abi.TypeString)))), before.Operations[1]),
			`operation Book does not take any more what they may send: "nights" is string, and was int`,
		},
		"Required": {
			entity(
				taking(
					"Book", structOf(abi.Field{Name: "guest", Required: true}, fieldOf("nights", typeOf(abi.TypeInt))),
				),
				before.Operations[1],
			),
			`operation Book does not take any more what they may send: "guest" is required now`,
		},
		"Result": {
			answering(typeOf(abi.TypeString)),
			"they cannot read the result of operation Book any more: it is string, and was struct",
		},
		"ResultField": {
			answering(structOf(abi.Field{Name: "room", Required: true, Schema: typeOf(abi.TypeString)})),
			`they cannot read the result of operation Book any more: "room" is string, and was int`,
		},
		"ResultRenamed": {
			answering(structOf(abi.Field{Name: "number", Required: true, Schema: typeOf(abi.TypeInt)})),
			`they cannot read the result of operation Book any more: "room" is gone`,
		},
		"ResultAbsent": {
			answering(structOf(fieldOf("room", typeOf(abi.TypeInt)))),
			`they cannot read the result of operation Book any more: "room" may be absent now`,
		},
		"ResultNull": {
			answering(structOf(abi.Field{
				Name: "room", Required: true, Schema: &abi.Schema{Type: abi.TypeInt, Nullable: true},
			})),
			`they cannot read the result of operation Book any more: "room" may be null now, and was int`,
		},
		"ResultMore": {now: answering(structOf(
			abi.Field{Name: "floor", Required: true, Schema: typeOf(abi.TypeInt)},
			abi.Field{Name: "room", Required: true, Schema: typeOf(abi.TypeInt)},
		))},
		"ResultNarrower": {
			now: answering(structOf(abi.Field{
				Name: "room", Required: true, Schema: &abi.Schema{Type: abi.TypeInt, Bits: 8},
			})),
		},
	} {
		require.Equal(t, tc.want, operationMisfit(before, tc.now), name)
	}
}

func TestAnswerMisfit(t *testing.T) {
	t.Parallel()
	whole, text := typeOf(abi.TypeInt), typeOf(abi.TypeString)
	required := func(name string) abi.Field { return abi.Field{Name: name, Required: true, Schema: whole} }
	answering := func(query, update *abi.Schema) *abi.WorkflowInfo {
		return &abi.WorkflowInfo{
			Queries: []abi.QueryInfo{{Name: "Seats", Output: query}},
			Updates: []abi.UpdateInfo{{Name: "Book", Output: update}},
		}
	}
	before := answering(structOf(required("free")), structOf(required("seat")))
	for name, tc := range map[string]struct {
		now          *abi.WorkflowInfo
		want, filled string // of programs that refuse absent values, and of programs that read them as zero
	}{
		"Same": {now: before},
		"Gone": {now: &abi.WorkflowInfo{}},
		"Query": {
			answering(text, before.Updates[0].Output), "the answer to query Seats: it is string, and was struct",
			"the answer to query Seats: it is string, and was struct",
		},
		"Update": {
			answering(before.Queries[0].Output, text), "the answer to update Book: it is string, and was struct",
			"the answer to update Book: it is string, and was struct",
		},
		"More": {
			now:  answering(structOf(required("free"), required("sold")), before.Updates[0].Output),
			want: `the answer to query Seats: "sold" is required now`,
		},
		"Less": {now: answering(structOf(), structOf())},
	} {
		require.Equal(t, tc.want, answerMisfit(before, tc.now, false), name)
		require.Equal(t, tc.filled, answerMisfit(before, tc.now, true), name)
	}
}

// TestStatesAreNotLost: code that has no place for a part of the states that there are is deployed only if
// the caller says so.
func TestStatesAreNotLost(t *testing.T) {
	t.Parallel()
	rooms := func(field string) []byte {
		return wasmtest.Program{Manifest: &abi.Manifest{Entities: []abi.EntityInfo{{
			Name:       "Rooms",
			State:      structOf(fieldOf(field, &abi.Schema{Type: abi.TypeInt})),
			Operations: []abi.OperationInfo{{Name: "Book"}},
		}}}}.Assemble()
	}
	c := newCatalog(t, newStore())
	key := ""
	push := func(binary []byte, anyway bool) error {
		_, err := c.Push(t.Context(), PushRequest{
			Namespace: "default", Name: "hotel", Binary: binary, Settings: Settings{Anyway: anyway},
			Uses: Uses{HasState: func(_ context.Context, entityType string) (string, error) {
				require.Equal(t, "hotel/Rooms", entityType)
				return key, nil
			}},
		}, at(1))
		return err
	}
	require.NoError(t, push(rooms("free"), false))
	require.NoError(t, push(rooms("vacant"), false), "there are no states")
	key = "double"
	err := push(rooms("available"), false)
	require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
	require.ErrorContains(t, err, `hotel/Rooms does not fit its states, as that of "double": "vacant" is gone`)
	d, err := c.Deployment(t.Context(), "default", "hotel")
	require.NoError(t, err)
	require.EqualValues(t, 2, d.Version, "nothing was changed")
	require.NoError(t, push(rooms("available"), true))
}

// TestOpenExecutionsCanCall: an operation takes all requests of executions of the code before the
// push, and its answers are readable to them, unless the caller says that they do not call it.
func TestOpenExecutionsCanCall(t *testing.T) {
	t.Parallel()
	input := func(name string) abi.OperationInfo { return abi.OperationInfo{Name: "Book", Input: typeOf(name)} }
	result := func(name string) abi.OperationInfo { return abi.OperationInfo{Name: "Book", Output: typeOf(name)} }
	for misfit, of := range map[string]func(name string) abi.OperationInfo{
		"operation Book does not take any more what they may send": input,
		"they cannot read the result of operation Book any more":   result,
	} {
		p := newPinned(t)
		push := func(name string, anyway bool) error {
			return p.push(
				&abi.Manifest{Entities: []abi.EntityInfo{{Name: "Rooms", Operations: []abi.OperationInfo{of(name)}}}},
				anyway,
			)
		}
		require.NoError(t, push(abi.TypeInt, false))
		require.NoError(t, push(abi.TypeString, false), "there are no executions")
		p.open()
		err := push(abi.TypeInt, false)
		require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
		require.ErrorContains(
			t, err, `hotel/Rooms does not fit open executions, as hotel/Stay/7: `+misfit+`: it is int, and was string`,
		)
		require.NoError(t, push(abi.TypeString, false), "it takes and answers what it did")
		require.NoError(t, push(abi.TypeAny, false), "and more")
		require.ErrorContains(
			t, push(abi.TypeInt, false), misfit, "the code before it fits, and not that of the execution",
		)
		gone := &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "Stay", Key: abi.KeyFromRequest}}}
		require.ErrorContains(t, p.push(gone, false), "operation Book is gone")
		require.NoError(t, push(abi.TypeInt, true))
		require.NoError(t, push(abi.TypeString, false), "it is what the execution knows")
		p.pins = nil
		require.NoError(t, push(abi.TypeInt, false))
	}
}

// pinned is a deployment with executions of some code.
type pinned struct {
	t      *testing.T
	c      *Catalog
	digest string // of the last push
	pins   []Pin
}

func newPinned(t *testing.T) *pinned { return &pinned{t: t, c: newCatalog(t, newStore())} }

func (p *pinned) push(m *abi.Manifest, anyway bool) error {
	uses := Uses{Pins: func(context.Context) ([]Pin, error) { return p.pins, nil }}
	req := PushRequest{
		Namespace: "default",
		Name:      "hotel",
		Binary:    wasmtest.Program{Manifest: m}.Assemble(),
		Settings:  Settings{Anyway: anyway},
		Uses:      uses,
	}
	info, err := p.c.Push(p.t.Context(), req, at(1))
	if err == nil {
		p.digest = info.Digest
	}
	return err
}

// open begins an execution with the code that is deployed.
func (p *pinned) open() {
	p.pins = append(p.pins, Pin{Digest: p.digest, Workflow: "Stay", Execution: "hotel/Stay/7"})
}

// TestAnswersOfOpenExecutionsCanBeRead: the answers of open executions can be read by programs for the types of the
// pushed code, unless the caller says that they need not be.
func TestAnswersOfOpenExecutionsCanBeRead(t *testing.T) {
	t.Parallel()
	queried := func(output string) abi.WorkflowInfo {
		return abi.WorkflowInfo{
			Name: "Stay", Key: abi.KeyFromRequest, Queries: []abi.QueryInfo{{Name: "Room", Output: typeOf(output)}},
		}
	}
	updated := func(output string) abi.WorkflowInfo {
		return abi.WorkflowInfo{
			Name: "Stay", Key: abi.KeyFromRequest, Updates: []abi.UpdateInfo{{Name: "Room", Output: typeOf(output)}},
		}
	}
	for asked, of := range map[string]func(output string) abi.WorkflowInfo{"query": queried, "update": updated} {
		p := newPinned(t)
		push := func(output string, anyway bool) error {
			return p.push(&abi.Manifest{Workflows: []abi.WorkflowInfo{of(output)}}, anyway)
		}
		require.NoError(t, push(abi.TypeInt, false))
		require.NoError(t, push(abi.TypeString, false), "there are no executions")
		p.open()
		err := push(abi.TypeInt, false)
		require.Equal(t, abi.CodeStateLost, abi.CodeOf(err))
		misfit := "hotel/Stay does not fit the answers of open executions, as hotel/Stay/7: the answer to " + asked +
			" Room: it is int, and was string"
		require.ErrorContains(t, err, misfit)
		require.NoError(
			t, p.push(&abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "Stay", Key: abi.KeyFromRequest}}}, false),
			"it is not asked any more",
		)
		require.ErrorContains(t, push(abi.TypeInt, false), misfit, "it is back with another type")
		require.NoError(t, push(abi.TypeAny, false))
		require.ErrorContains(
			t, push(abi.TypeInt, false), misfit, "the code before it fits, and not that of the execution",
		)
		p.pins[0].Workflow = "Other"
		require.NoError(t, push(abi.TypeInt, false), "executions of other workflows do not answer")
		p.pins[0] = Pin{Digest: "gone", Workflow: "Stay", Execution: "hotel/Stay/8"}
		require.NoError(t, push(abi.TypeString, false), "code that is not there answers nothing")
		p.pins = nil
		p.open()
		require.NoError(t, push(abi.TypeInt, true))
	}
}
