package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// lockDir takes the lock of a data folder, or fails at once with journal.ErrInUse. It is a lock of the kernel on an
// open file, not the file's existence: a process that is killed leaves nothing to clean up.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "LOCK")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, errors.Join(
			abi.Errorf(abi.CodeStoreInUse, "another process uses the data folder %s", dir), journal.ErrInUse,
		)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// InUse tells whether a process has the store in a data folder open. It changes nothing, and holds the lock for
// a moment. A folder without a store is not in use.
func InUse(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "LOCK"))
	if err != nil {
		return false
	}
	defer f.Close() // which gives the lock back
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
