package golden_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// recording is an execution as it was when it had ended.
type recording struct {
	module  []byte
	row     journal.Execution
	entries []journal.Entry
	result  []byte
}

// row is the recorded part of the row of an execution.
type row struct {
	Workflow    string `json:"workflow"`
	Key         string `json:"key"`
	Namespace   string `json:"namespace"`
	Run         string `json:"run"`
	Digest      string `json:"digest"`
	MovedAt     uint64 `json:"moved_at,omitempty"`
	Format      uint32 `json:"format"`
	Memory      uint64 `json:"memory"`
	Seed        string `json:"seed"`
	Time        int64  `json:"time"`
	CreatedAt   int64  `json:"created_at"`
	Interrupted int64  `json:"interrupted_at"`
	Reason      string `json:"interrupt_reason"`
	Input       string `json:"input"`
}

// The files of a recording. Replays go by all but the listing. A recording below another one has no module of
// its own: it ended on the module of that one.
const (
	moduleFile  = "module.wasm.gz"
	rowFile     = "row.json"
	entriesFile = "entries.hex" // one line an entry, as stores keep it
	resultFile  = "result.hex"
	listingFile = "listing.txt" // for readers
)

func load(t *testing.T, dir string) recording {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return data
	}
	r := recording{module: loadModule(t, dir)}
	var f row
	require.NoError(t, json.Unmarshal(read(rowFile), &f))
	r.row = journal.Execution{
		ID:        journal.IDOf(f.Namespace, f.Workflow, f.Key),
		Run:       journal.RunID(unhex(t, f.Run)),
		Namespace: f.Namespace,
		Workflow:  f.Workflow,
		Key:       f.Key,
		Digest:    f.Digest,
		MovedAt:   f.MovedAt,
		Input:     unhex(t, f.Input),
		CreatedAt: f.CreatedAt,
		Interrupt: &journal.Interrupt{At: f.Interrupted, Reason: f.Reason},
		Pinned: journal.Pinned{
			Format: f.Format, Memory: f.Memory, Seed: journal.RunID(unhex(t, f.Seed)), Time: f.Time,
		},
	}
	for line := range strings.Lines(string(read(entriesFile))) {
		stored := unhex(t, strings.TrimSpace(line))
		var en journal.Entry
		require.NoError(t, abi.Unmarshal(stored, &en))
		require.Equal(t, stored, abi.MustMarshal(en), "an entry is stored as it was")
		r.entries = append(r.entries, en)
	}
	r.result = unhex(t, strings.TrimSpace(string(read(resultFile))))
	return r
}

// loadModule reads the module of a recording, its own or the one above it.
func loadModule(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, moduleFile))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = os.ReadFile(filepath.Join(filepath.Dir(dir), moduleFile))
	}
	require.NoError(t, err)
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	module, err := io.ReadAll(unzip)
	require.NoError(t, err)
	return module
}

func saveModule(t *testing.T, dir string, module []byte) {
	t.Helper()
	var zipped bytes.Buffer
	zip, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	require.NoError(t, err)
	_, err = zip.Write(module)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, moduleFile), zipped.Bytes(), 0o644))
}

// save writes the files of a recording, all but the module. There must be none yet.
func save(t *testing.T, dir string, r recording) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Mkdir(dir, 0o755), "files of a recording are never written again")
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	e := r.row
	f, err := json.MarshalIndent(row{
		Workflow:    e.Workflow,
		Key:         e.Key,
		Namespace:   e.Namespace,
		Run:         e.Run.String(),
		Digest:      e.Digest,
		MovedAt:     e.MovedAt,
		Format:      e.Pinned.Format,
		Memory:      e.Pinned.Memory,
		Seed:        e.Pinned.Seed.String(),
		Time:        e.Pinned.Time,
		CreatedAt:   e.CreatedAt,
		Interrupted: e.Interrupt.At,
		Reason:      e.Interrupt.Reason,
		Input:       hex.EncodeToString(e.Input),
	}, "", "  ")
	require.NoError(t, err)
	write(rowFile, append(f, '\n'))
	var lines strings.Builder
	for _, en := range r.entries {
		fmt.Fprintf(&lines, "%x\n", abi.MustMarshal(en))
	}
	write(entriesFile, []byte(lines.String()))
	write(resultFile, fmt.Appendf(nil, "%x\n", r.result))
	write(listingFile, []byte(r.listing(t)))
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}
