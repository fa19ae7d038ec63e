package abi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// approvals is a workflow that has promises of three types.
func approvals() *WorkflowInfo {
	decision := &Schema{Type: TypeStruct, Fields: []Field{
		{Name: "approved", Required: true, Schema: &Schema{Type: TypeBool}},
		{Name: "note", Schema: &Schema{Type: TypeString}},
	}}
	return &WorkflowInfo{Name: "Approve", Deferreds: []DeferredInfo{
		{Dynamic: true, Name: "approve-", Value: decision},
		{Name: "decision", Value: decision},
		{Name: "go", Value: &Schema{Type: TypeStruct}},
	}}
}

func TestDeferredsAreFoundByName(t *testing.T) {
	t.Parallel()
	w := approvals()
	for name, want := range map[string]string{
		"decision": "decision", "approve-bob": "approve-", "approve--": "approve-", "go": "go",
	} {
		d, err := w.Deferred(name)
		require.NoError(t, err)
		require.Equal(t, want, d.Name, name)
	}
	for name, best := range map[string]string{
		"decison": "decision", "Decision": "decision", "": "", "bob": "",
		"approve-": "approve-*", "aprove-bob": "approve-*", "approved-bob": "approve-*", "APPROVE-bob": "approve-*",
	} {
		meant := ""
		if best != "" {
			meant = `; did you mean "` + best + `"?`
		}
		_, err := w.Deferred(name)
		require.Equal(t, CodeUnknownDeferred, CodeOf(err))
		require.Equal(t, `workflow Approve has no deferred "`+name+`"`+meant, AsError(err).Message)
		require.Equal(t, "It has: approve-*, decision, go.", AsError(err).Hint)
	}
}

func TestManifestThatDoesNotTellTakesAllDeferreds(t *testing.T) {
	t.Parallel()
	d, err := (&WorkflowInfo{Name: "Approve"}).Deferred("anything")
	require.NoError(t, err)
	got, err := d.CheckValue(MustMarshal(map[string]any{"aproved": true}))
	require.NoError(t, err)
	require.Equal(t, MustMarshal(map[string]any{"aproved": true}), got)

	var stored WorkflowInfo
	require.NoError(t, Unmarshal(MustMarshal(&WorkflowInfo{Name: "Approve", Deferreds: []DeferredInfo{}}), &stored))
	_, err = stored.Deferred("anything")
	require.Equal(t, CodeUnknownDeferred, CodeOf(err), "one that tells of none is believed")

	var old WorkflowInfo
	require.NoError(t, Unmarshal(MustMarshal(map[string]any{"name": "Approve", "key": KeyFromRequest}), &old))
	_, err = old.Deferred("anything")
	require.NoError(t, err, "modules of before have no such list")
}

func TestCheckValueOfDeferred(t *testing.T) {
	t.Parallel()
	d, err := approvals().Deferred("approve-bob")
	require.NoError(t, err)
	type m = map[string]any
	for _, fits := range []m{{"approved": true}, {"approved": false, "note": "later"}} {
		_, err := d.CheckValue(MustMarshal(fits))
		require.NoError(t, err)
	}
	for want, value := range map[string]any{
		`unknown field "aproved"; did you mean "approved"?`: m{"aproved": true},
		`unknown field "nota"; did you mean "note"?`:        m{"approved": true, "nota": ""},
		`the field "approved" is missing`:                   m{"note": "x"},
		"approved: expected bool, got string":               m{"approved": "true"},
		"approved: expected bool, got null":                 m{"approved": nil},
		"expected struct, got bool":                         true,
	} {
		_, err := d.CheckValue(MustMarshal(value))
		require.ErrorContains(t, err, want)
		require.Equal(t, CodeBadInput, CodeOf(err))
	}
	_, err = d.CheckValue(nil)
	require.Equal(t, CodeBadInput, CodeOf(err), "a value that was left out")
	d, err = approvals().Deferred("go")
	require.NoError(t, err)
	got, err := d.CheckValue(nil)
	require.NoError(t, err)
	require.Equal(t, emptyMap, got, "nothing is needed where nothing is said")
}

func TestDeferredsThatMeet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b DeferredInfo
		want bool
	}{
		{DeferredInfo{Name: "a"}, DeferredInfo{Name: "b"}, false},
		{DeferredInfo{Name: "a"}, DeferredInfo{Name: "a"}, true},
		{DeferredInfo{Name: "a-"}, DeferredInfo{Name: "a-b"}, false},
		{DeferredInfo{Name: "a-", Dynamic: true}, DeferredInfo{Name: "a-"}, true},
		{DeferredInfo{Name: "a-", Dynamic: true}, DeferredInfo{Name: "a-b"}, true},
		{DeferredInfo{Name: "a-", Dynamic: true}, DeferredInfo{Name: "a-b-", Dynamic: true}, true},
		{DeferredInfo{Name: "a-", Dynamic: true}, DeferredInfo{Name: "b-", Dynamic: true}, false},
		{DeferredInfo{Name: "a-", Dynamic: true}, DeferredInfo{Name: "a"}, false},
	} {
		require.Equal(t, tc.want, tc.a.Meets(&tc.b), "%+v", tc)
		require.Equal(t, tc.want, tc.b.Meets(&tc.a), "%+v", tc)
	}
}

func TestSchemaCheckDecodes(t *testing.T) {
	t.Parallel()
	s := &Schema{Type: TypeStruct, Fields: []Field{
		{Name: "approved", Required: true, Schema: &Schema{Type: TypeBool}},
		{
			Name: "by",
			Schema: &Schema{
				Type: TypeList,
				Elem: &Schema{
					Type:   TypeStruct,
					Fields: []Field{{Name: "name", Required: true, Schema: &Schema{Type: TypeString}}},
				},
			},
		},
	}}
	type m = map[string]any
	require.NoError(
		t,
		s.CheckDecodes(MustMarshal(m{
			"approved": true, "at": m{"day": []any{1, 2}}, "by": []any{m{"name": "x", "more": 1}},
		})),
	)
	require.ErrorContains(t, s.CheckDecodes(MustMarshal(m{"aproved": true})), `the field "approved" is missing`)
	require.ErrorContains(t, s.CheckDecodes(MustMarshal(m{"approved": 1})), "approved: expected bool, got int")
}
