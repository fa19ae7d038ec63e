package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// makeFolder makes a folder and its parents, so that they are there after a power cut: a name is durable once the
// folder that it is in was flushed. SQLite does so for the files in the folder.
func makeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := makeFolder(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
