package wasm

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// # The cache on disk
//
// The engine files compiled code in folders named after its version, one file a module, and never
// removes one. Beside them are the engine's inputs (prepared.go). Native code has many times the
// size of the binary, and a developer pushes a new one with every save: so the host removes the
// least recently used files when there is more than [Config.CacheSize]. Hosts may share a folder. A
// file that is removed while another host reads it stays until that host closes it, and a missing
// one is compiled again.

// cacheFailed tells failures of the cache on disk from failures of the module.
func (r *Runtime) cacheFailed(err error) bool {
	var path *os.PathError
	var link *os.LinkError
	return strings.HasPrefix(err.Error(), "compilationcache:") || errors.As(err, &path) || errors.As(err, &link)
}

// emptyCache removes all entries of the cache: the engine does not say which of them is broken, and they can all be
// made again.
func (r *Runtime) emptyCache() {
	for _, entry := range r.cacheEntries() {
		_ = os.Remove(entry.path)
	}
}

// cacheEntry is one compiled or prepared module on disk.
type cacheEntry struct {
	path string
	size int64
	used time.Time
}

// entryName is the name of a compiled or prepared module, and of a note: a hash.
var entryName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// cacheEntries lists the compiled and the prepared modules on disk. The folder may hold other
// things, which are not touched. A file that vanishes meanwhile is left out.
func (r *Runtime) cacheEntries() (entries []cacheEntry) {
	folders, _ := os.ReadDir(r.cfg.CacheDir)
	for _, f := range folders {
		if strings.HasPrefix(f.Name(), "wazero-") || f.Name() == preparedDir {
			entries = append(entries, entriesIn(filepath.Join(r.cfg.CacheDir, f.Name()))...)
		}
	}
	return entries
}

// entriesIn lists the files of a folder that have the name of an entry.
func entriesIn(dir string) (entries []cacheEntry) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if !f.Type().IsRegular() || !entryName.MatchString(f.Name()) {
			continue
		}
		if info, err := f.Info(); err == nil {
			entries = append(entries, cacheEntry{filepath.Join(dir, f.Name()), info.Size(), lastUse(info)})
		}
	}
	return entries
}

// trimCache removes those modules that were not used for longest, until the others fit. The notes go with them, for
// they do not tell which: see subprocess.go.
func (r *Runtime) trimCache() {
	if r.cache == nil {
		return
	}
	victims := overflow(r.cacheEntries(), r.cfg.CacheSize)
	if len(victims) == 0 {
		return
	}
	victims = append(victims, entriesIn(filepath.Join(r.cfg.CacheDir, notesDir))...)
	for _, victim := range victims {
		if err := os.Remove(victim.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.cfg.Logger.Warn("the compilation cache could not be trimmed", "error", err)
			return
		}
		r.cfg.Logger.Debug("a file was removed from the compilation cache", "file", victim.path, "bytes", victim.size)
	}
}

// overflow chooses the entries to remove so that the others take at most limit bytes.
func overflow(entries []cacheEntry, limit int64) (victims []cacheEntry) {
	slices.SortFunc(entries, func(a, b cacheEntry) int { // the latest first
		return cmp.Or(b.used.Compare(a.used), strings.Compare(a.path, b.path))
	})
	var total int64
	for _, entry := range entries {
		if total+entry.size > limit {
			victims = append(victims, entry)
			continue
		}
		total += entry.size
	}
	return victims
}
