package guest

import (
	"encoding/json"
	"log/slog"
	"math/big"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// coins knows JSON alone.
type coins struct{ cents int64 }

func (c coins) MarshalJSON() ([]byte, error)  { return json.Marshal(c.cents) }
func (c *coins) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &c.cents) }

// labelled has a field that both codecs write, and a field that JSON leaves out.
type labelled struct {
	Label string
	cents int64
}

func (l *labelled) MarshalJSON() ([]byte, error) { return json.Marshal(l.cents) }

type secret struct{ value string } //nolint:unused // that is the point

// locked is kept whole: a field that is not written has no value.
type locked struct {
	sync.Mutex
	secret //nolint:unused // see above
	Once   sync.Once
	Log    *slog.Logger
	N      int
}

// spelled knows JSON, and all of it is written.
type spelled struct{ Cents int64 }

func (spelled) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func TestLossyTypes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ of, want reflect.Type }{
		"AField":      {reflect.TypeFor[struct{ Price coins }](), reflect.TypeFor[coins]()},
		"Inside":      {reflect.TypeFor[map[string][]*struct{ Price *coins }](), reflect.TypeFor[coins]()},
		"Embedded":    {reflect.TypeFor[struct{ coins }](), reflect.TypeFor[coins]()},
		"Itself":      {reflect.TypeFor[coins](), reflect.TypeFor[coins]()},
		"InPart":      {reflect.TypeFor[labelled](), nil},
		"WithoutJSON": {reflect.TypeFor[[]secret](), nil},
		"Locks":       {reflect.TypeFor[locked](), nil},
		"LeftOut": {reflect.TypeFor[struct {
			Price coins `json:"-"`
		}](), nil},
		"NotExported": {reflect.TypeFor[struct {
			N     int
			price coins
		}](), nil},
		"Whole":        {reflect.TypeFor[spelled](), nil},
		"Text":         {reflect.TypeFor[text](), nil},
		"Numbers":      {reflect.TypeFor[big.Int](), nil},
		"Time":         {reflect.TypeFor[struct{ At time.Time }](), nil},
		"OfItself":     {reflect.TypeFor[tree](), nil},
		"Nothing":      {reflect.TypeFor[struct{}](), nil},
		"NothingNamed": {reflect.TypeFor[struct{ _ struct{} }](), nil},
		"Anything":     {reflect.TypeFor[any](), nil},
	} {
		require.Equal(t, tc.want, lossyType(tc.of, map[reflect.Type]bool{}), name)
	}
}

func TestTypesWithoutAnEncoding(t *testing.T) {
	t.Parallel()
	type later struct{ Done chan int }
	for name, tc := range map[string]struct{ of, want reflect.Type }{
		"AChannel":    {reflect.TypeFor[later](), reflect.TypeFor[chan int]()},
		"AFunction":   {reflect.TypeFor[struct{ Do func() }](), reflect.TypeFor[func()]()},
		"Itself":      {reflect.TypeFor[complex128](), reflect.TypeFor[complex128]()},
		"Inside":      {reflect.TypeFor[struct{ All [2]later }](), reflect.TypeFor[chan int]()},
		"InNone":      {reflect.TypeFor[[0]later](), nil},
		"InSome":      {reflect.TypeFor[map[string][]later](), nil},
		"Embedded":    {reflect.TypeFor[struct{ later }](), reflect.TypeFor[chan int]()},
		"MaybeNot":    {reflect.TypeFor[struct{ Later *later }](), nil},
		"NotExported": {reflect.TypeFor[struct{ done chan int }](), nil},
		"LeftOut": {reflect.TypeFor[struct {
			Done chan int `json:"-"`
		}](), nil},
		"LeftOutIfEmpty": {reflect.TypeFor[struct {
			Done chan int `json:",omitempty"`
		}](), nil},
		"Locks":    {reflect.TypeFor[locked](), nil},
		"OfItself": {reflect.TypeFor[tree](), nil},
	} {
		require.Equal(t, tc.want, unencodable(tc.of, map[reflect.Type]bool{}), name)
	}
	require.PanicsWithValue(
		t,
		"cruster: activity \"x\": guest.later has a value of type chan int, which cannot be encoded; leave such a "+
			"field out with `json:\"-\"`",
		func() { CheckTypes(`activity "x"`, reflect.TypeFor[later]()) },
	)
}

func TestLossyTypesAreRefused(t *testing.T) {
	t.Parallel()
	fine, lossy := reflect.TypeFor[int](), reflect.TypeFor[struct{ Price coins }]()
	for what, declare := range map[string]func(){
		`workflow "x"`: func() {
			(&Registry{}).AddWorkflow(&Workflow{Name: "x", Input: fine, Output: lossy})
		},
		`activity "x"`: func() {
			(&Registry{}).AddActivity(&Activity{Name: "x", Input: lossy, Output: fine})
		},
		`the state of entity "x"`: func() {
			(&Registry{}).AddEntity(&Entity{Name: "x", State: &StateType{Type: lossy}})
		},
		`operation "y" of entity x`: func() {
			(&Entity{Name: "x"}).Add(&Operation{Name: "y", Input: fine, Output: lossy})
		},
		`deferred "d"`: func() { describe(&Workflow{Deferreds: []Deferred{{Name: "d", Value: lossy}}}) },
		`signal "s"`:   func() { describe(&Workflow{Signals: []Signal{{Name: "s", Value: lossy}}}) },
		`query "q"`:    func() { describe(&Workflow{Queries: []Query{{Name: "q", Input: fine, Output: lossy}}}) },
		`update "u"`:   func() { describe(&Workflow{Updates: []Update{{Name: "u", Input: lossy, Output: fine}}}) },
		`state "v"`:    func() { describe(&Workflow{State: []StateValue{{Name: "v", Type: lossy}}}) },
	} {
		require.PanicsWithValue(
			t,
			"cruster: "+what+
				": values of guest.coins would be lost: it has no exported fields, and MarshalJSON is not called; "+
				"give it MarshalText and UnmarshalText, or EncodeMsgpack and DecodeMsgpack, or export the fields",
			declare,
			what,
		)
	}
}

// describe declares a workflow and makes its manifest.
func describe(w *Workflow) {
	w.Name, w.Input, w.Output = "x", reflect.TypeFor[int](), reflect.TypeFor[int]()
	r := &Registry{}
	r.AddWorkflow(w)
	r.Manifest()
}
