package cli

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// startFlags are the flags of execute and start.
type startFlags struct {
	input, inputFile, key, rawKey string
	ifFinished, requestID         string
	timeout                       time.Duration
}

func (f *startFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(
		&f.input, "input", "",
		"the request as JSON; - reads it from standard input; not needed if no field is required",
	)
	flags.StringVar(&f.inputFile, "input-file", "", "a file with the request as JSON; - is standard input")
	flags.StringVar(&f.key, "key", "", "idempotency key, hashed by the host, instead of the workflow's own")
	flags.StringVar(&f.rawKey, "raw-key", "", "idempotency key that is used as it is")
	flags.StringVar(
		&f.ifFinished, "if-finished", "return",
		"what to do with a finished run under the key: return, restart, restart-failed (unless it completed) or refuse",
	)
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
}

// addRequestID adds the flag of commands that have no other request id.
func (f *startFlags) addRequestID(cmd *cobra.Command) {
	cmd.Flags().StringVar(
		&f.requestID, "request-id", "",
		"makes it safe to repeat the command with --if-finished: those with the same id start one run",
	)
}

// startOptions makes the request of a start.
func (a *app) startOptions(f *startFlags, cmd *cobra.Command, workflow string) (*crusterv1.StartOptions, error) {
	for _, pair := range [][2]string{{"input", "input-file"}, {"key", "raw-key"}} {
		if cmd.Flags().Changed(pair[0]) && cmd.Flags().Changed(pair[1]) {
			return nil, usage.Errorf("--%s and --%s exclude each other", pair[0], pair[1])
		}
	}
	input, err := a.readInput(f.input, f.inputFile)
	if err != nil {
		return nil, err
	}
	start := &crusterv1.StartOptions{Namespace: a.namespace, Workflow: workflow}
	if cmd.Flags().Changed("if-finished") {
		if start.IfFinished, err = parseIfFinished(f.ifFinished); err != nil {
			return nil, err
		}
		start.RequestId = rand.Text() // the client repeats unanswered requests
	}
	if f.requestID != "" {
		start.RequestId = f.requestID
	}
	if input != "" {
		start.Input = &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: input}}
	}
	switch {
	case cmd.Flags().Changed("key"):
		start.Idempotency = &crusterv1.StartOptions_Key{Key: f.key}
	case cmd.Flags().Changed("raw-key"):
		start.Idempotency = &crusterv1.StartOptions_RawKey{RawKey: f.rawKey}
	}
	return start, nil
}

// readInput returns the JSON that was given as text, in a file or on standard input; empty if there was none.
func (a *app) readInput(input, inputFile string) (string, error) {
	switch {
	case input == "-" || inputFile == "-":
		return readBounded(a.stdin, "standard input")
	case inputFile != "":
		file, err := os.Open(inputFile)
		if err != nil {
			return "", usage.Inputf("cannot read the input: %w", err)
		}
		defer file.Close() // only read from
		return readBounded(file, inputFile)
	default:
		return input, nil
	}
}

func readBounded(r io.Reader, name string) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, payload.MaxJSON+1))
	if err != nil {
		return "", usage.Inputf("cannot read the input: %w", err)
	}
	if len(raw) > payload.MaxJSON {
		return "", usage.Inputf("%s has more than %d bytes", name, payload.MaxJSON)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return "", usage.Inputf("%s is empty: it must hold JSON", name)
	}
	return string(raw), nil
}
