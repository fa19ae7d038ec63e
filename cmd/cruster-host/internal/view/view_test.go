package view_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// runViews shows messages the way the commands print them. The input is a message of the contract
// as JSON; the command names the output, and its argument "json" asks for the shape for scripts
// instead of the text for people.
func runViews(t *testing.T, path string) {
	t.Helper()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		var text strings.Builder
		shape, err := render(t, d, &text)
		require.NoError(t, err)
		if d.HasArg("json") {
			text.Reset()
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			require.NoError(t, encoder.Encode(shape))
		}
		return text.String()
	})
}

// render writes the text of the message and returns its shape.
func render(t *testing.T, d *datadriven.TestData, w *strings.Builder) (shape any, err error) {
	switch d.Cmd {
	case "execution":
		e := parse(t, d, &crusterv1.Execution{})
		return view.ExecutionOf(e), view.WriteExecution(w, e, addrFlag(d))
	case "start":
		started := view.StartedExecutionOf(parse(t, d, &crusterv1.Execution{}), d.HasArg("existed"))
		return started, view.WriteStart(w, started, addrFlag(d))
	case "executions":
		list := parse(t, d, &crusterv1.ListExecutionsResponse{}).GetExecutions()
		return nil, view.WriteExecutions(w, list)
	case "description":
		response := parse(t, d, &crusterv1.GetExecutionResponse{})
		return view.DescriptionOf(response), view.WriteDescription(w, response, addrFlag(d))
	case "waits":
		w.WriteString(cmp.Or(view.WaitsFor(parse(t, d, &crusterv1.GetExecutionResponse{})), "nothing") + "\n")
		return nil, nil
	case "history":
		var shapes []view.Entry
		entries := parse(t, d, &crusterv1.ListHistoryResponse{}).GetEntries()
		for _, e := range entries {
			shapes = append(shapes, view.EntryOf(e))
		}
		return shapes, view.WriteHistory(w, entries)
	case "push":
		response := parse(t, d, &crusterv1.PushResult{})
		return view.PushOf(response, nil, d.HasArg("moved")), view.WritePush(
			w, response, nil, d.HasArg("moved"), addrFlag(d),
		)
	case "deployment":
		deployment := parse(t, d, &crusterv1.Deployment{})
		return view.DeploymentOf(deployment), view.WriteDeployment(w, deployment, addrFlag(d))
	case "deployments":
		return nil, view.WriteDeployments(w, parse(t, d, &crusterv1.ListDeploymentsResponse{}).GetDeployments())
	case "diff":
		diff := parse(t, d, &crusterv1.Diff{})
		return view.DiffOf(diff), view.WriteDiff(w, diff)
	case "check":
		check := view.NewCheck("shop")
		for _, r := range parseLines(
			t, d, func() *crusterv1.CheckModuleResponse { return &crusterv1.CheckModuleResponse{} },
		) {
			check.Add(r)
		}
		return check, view.WriteCheck(w, check)
	case "checked":
		return view.CheckedOf(parse(t, d, &crusterv1.CheckModuleResponse{})), nil
	case "moves":
		results := parseLines(t, d, func() *crusterv1.MoveResult { return &crusterv1.MoveResult{} })
		var shapes []view.Moved
		for _, r := range results {
			shapes = append(shapes, view.MovedOf(r))
		}
		return shapes, view.WriteMoves(w, results)
	case "move":
		r := parse(t, d, &crusterv1.MoveResult{})
		return view.MovedOf(r), view.WriteMove(w, r, addrFlag(d))
	case "fork":
		e := parse(t, d, &crusterv1.Execution{})
		return view.ExecutionOf(e), view.WriteFork(w, e, addrFlag(d))
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
		return nil, nil
	}
}

// parseLines reads one message a line.
func parseLines[M proto.Message](t *testing.T, d *datadriven.TestData, empty func() M) []M {
	t.Helper()
	var all []M
	for _, line := range strings.Split(d.Input, "\n") {
		if line == "" {
			continue
		}
		m := empty()
		require.NoError(t, protojson.Unmarshal([]byte(line), m), d.Pos)
		all = append(all, m)
	}
	return all
}

func parse[M proto.Message](t *testing.T, d *datadriven.TestData, m M) M {
	t.Helper()
	require.NoError(t, protojson.Unmarshal([]byte(d.Input), m), d.Pos)
	return m
}

func addrFlag(d *datadriven.TestData) string {
	if d.HasArg("elsewhere") {
		return " --addr db.internal:7600 --namespace staging"
	}
	return ""
}

// A shape without executions or entries has an empty list, not null: scripts iterate over it.
func TestEmptyListsAreLists(t *testing.T) {
	t.Parallel()
	for _, shape := range []any{
		view.DescriptionOf(&crusterv1.GetExecutionResponse{}), view.DeploymentOf(&crusterv1.Deployment{}),
	} {
		raw, err := json.Marshal(shape)
		require.NoError(t, err)
		require.False(t, bytes.Contains(raw, []byte("null")), "%s", raw)
	}
}
