package cli

import (
	"bytes"
	"io"
	"os"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// valueFlags are the two flags of a value that goes to a host: --NAME and --NAME-file.
type valueFlags struct{ name, text, file string }

// add adds the flags. what describes the value; absent is what the host takes in its place.
func (f *valueFlags) add(cmd *cobra.Command, name, what, absent string) {
	f.name = name
	cmd.Flags().StringVar(&f.text, name, "", what+" as JSON; - reads it from standard input; "+absent)
	cmd.Flags().StringVar(&f.file, name+"-file", "", "a file with "+what+" as JSON; - is standard input")
}

// notNeeded is the absence of a value that a type may do without.
const notNeeded = "not needed if no field is required"

// value reads the value that the command line gives; nil if it gives none.
func (a *app) value(cmd *cobra.Command, f *valueFlags) (*crusterv1.Payload, error) {
	asText, asFile := cmd.Flags().Changed(f.name), cmd.Flags().Changed(f.name+"-file")
	var text string
	var err error
	switch {
	case asText && asFile:
		return nil, usage.Errorf("--%s and --%s-file exclude each other", f.name, f.name)
	case asText && f.text == "-", asFile && f.file == "-":
		text, err = a.readStdin()
	case asText:
		text, err = readBounded(bytes.NewBufferString(f.text), "--"+f.name)
	case asFile:
		text, err = readFile(f.file)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: text}}, nil
}

// readStdin reads standard input, which holds one value.
func (a *app) readStdin() (string, error) {
	if a.stdinRead {
		return "", usage.Errorf("standard input holds one value: give the other one as text or in a file")
	}
	a.stdinRead = true
	return readBounded(a.stdin, "standard input")
}

func readFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", usage.Inputf("cannot read the input: %w", err)
	}
	defer file.Close() // only read from
	return readBounded(file, path)
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
