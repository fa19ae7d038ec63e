package sqlite

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// files are the files of an open store: the database and its log.
//
// SQLite keeps its files open and never looks at their names again. If one is deleted, renamed or
// replaced, commits go on into a file that no later process finds: every commit acknowledged from
// then on is lost with the process. So the names are compared with the files before each
// transaction and again after each commit, before it is acknowledged. That takes a few
// microseconds; a commit waits for a flush. Once a file was found missing the store stays closed to
// all: the file at the path is another database by then.
type files struct {
	paths  []string
	opened []os.FileInfo
	gone   atomic.Pointer[abi.Error]
}

// watch remembers the files, which SQLite has opened.
func (f *files) watch(path string) error {
	for _, p := range []string{path, path + "-wal"} {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		f.paths, f.opened = append(f.paths, p), append(f.opened, info)
	}
	return nil
}

// check tells that the files are where they were when the store was opened, or fails with journal.ErrStoreGone, now and
// for good.
func (f *files) check() error {
	if err := f.lost(); err != nil {
		return err
	}
	for i, path := range f.paths {
		info, err := os.Stat(path)
		switch {
		case err == nil && os.SameFile(info, f.opened[i]):
			continue
		case err == nil:
			f.gone.CompareAndSwap(
				nil, abi.Errorf(abi.CodeStoreGone, "the file %s was replaced while the store was open", path),
			)
		default:
			f.gone.CompareAndSwap(
				nil, abi.Errorf(abi.CodeStoreGone, "the file %s is gone while the store is open: %v", path, err),
			)
		}
		return f.lost()
	}
	return nil
}

// lost is the last result of check, without looking again.
func (f *files) lost() error {
	if gone := f.gone.Load(); gone != nil {
		return fmt.Errorf("%w: %w", journal.ErrStoreGone, gone)
	}
	return nil
}
