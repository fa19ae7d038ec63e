package crustertest_test

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

//go:embed log_test.go
var logSource string

// logLine finds the line of this file that has a mark, as a log shows it.
func logLine(t *testing.T, mark string) string {
	t.Helper()
	for i, line := range strings.Split(logSource, "\n") {
		if strings.HasSuffix(line, "// line: "+mark) {
			return fmt.Sprintf("crustertest/log_test.go:%d: 2030-01-01T00:00:00.000 ", i+1)
		}
	}
	t.Fatal("no line " + mark)
	return ""
}

// loud keeps the lines of a log.
type loud struct {
	testing.TB
	text bytes.Buffer
}

func (l *loud) Output() io.Writer { return &l.text }

func (l *loud) lines() []string {
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

var says = cruster.NewActivity("logSays", func(ctx *cruster.ActivityContext, _ int) (int, error) {
	ctx.Logger().Warn("in an activity", "attempt", ctx.Attempt()) // line: activity
	return 0, nil
})

var parrots = cruster.NewStatefulEntity[int]("LogParrots")

var squawk = cruster.NewOperation(parrots, "squawk", func(
	ctx *cruster.EntityContext, _ *int, _ cruster.None,
) (int, error) {
	ctx.Logger().Info("in an operation") // line: operation
	return 0, nil
})

var logs = cruster.NewWorkflow("logLogs", func(ctx cruster.Context, _ string) (int, error) {
	card := cruster.Logger(ctx).With("order", 42).WithGroup("card")
	card.Info("in the workflow", "cents", 500, "owner", "ada b") // line: workflow
	if _, err := says.Call(ctx, 1); err != nil {
		return 0, err
	}
	return squawk.On("polly").Call(ctx, cruster.None{})
})

// A line of the log begins with the place where it was logged, and has its attributes.
func TestLogLines(t *testing.T) {
	t.Parallel()
	log := &loud{TB: t}
	_, err := crustertest.Run(log, logs, "", crustertest.ExecutionID("test/logLogs/a"))
	require.NoError(t, err)
	require.Equal(t, []string{
		logLine(t, "workflow") + `INFO test/logLogs/a: in the workflow order=42 card.cents=500 card.owner="ada b"`,
		logLine(t, "activity") + "WARN test/logLogs/a: in an activity attempt=1",
		logLine(t, "operation") + "INFO test/LogParrots/polly: in an operation",
	}, log.lines())
}
