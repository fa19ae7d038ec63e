package devloop

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxFiles bounds a folder that is looked at several times a second.
	maxFiles = 20_000
	// maxContent is the size up to which a file is compared by its content; a larger one by its size and its time.
	maxContent = 8 << 20
)

// A file is a file that a build may read.
type file struct {
	path     string // below the folder
	size     int64
	modified time.Time
}

// A tree is the files of a folder, in the order of their paths.
type tree []file

// scan lists the files of a folder that a build may read. It does not read them.
func scan(folder string, ignored []string) (tree, error) {
	var files tree
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) && path != folder {
			return nil // it was deleted since its folder was read
		}
		if err != nil {
			return err
		}
		switch {
		case path == folder:
			return nil
		case d.IsDir() && (isNoise(d.Name()) || slices.Contains(ignored, path) || isCache(path)):
			return fs.SkipDir
		case d.IsDir() || isNoise(d.Name()) || filepath.Ext(path) == ".wasm":
			return nil
		}
		info, err := os.Stat(path) // the target of a link
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		if len(files) == maxFiles {
			return fmt.Errorf("%s has more than %d files: watch the folder of the module alone", folder, maxFiles)
		}
		files = append(files, file{path: strings.TrimPrefix(path, folder), size: info.Size(), modified: info.ModTime()})
		return nil
	})
	return files, err
}

// isNoise tells names that editors, version control and package managers write.
func isNoise(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "#") || strings.HasSuffix(name, "~") ||
		name == "node_modules"
}

// isCache tells folders that tools fill: they say so by a file, as Cargo does in target.
func isCache(folder string) bool {
	_, err := os.Lstat(filepath.Join(folder, "CACHEDIR.TAG"))
	return err == nil
}

func (t tree) equal(other tree) bool {
	return slices.EqualFunc(t, other, func(a, b file) bool {
		return a.path == b.path && a.size == b.size && a.modified.Equal(b.modified)
	})
}

// A content is the hash of all that a build may read.
type content [sha256.Size]byte

// read hashes the files. A file that is gone by now counts as empty: the next scan sees it.
func (t tree) read(folder string) content {
	all := sha256.New()
	for _, f := range t {
		own := sha256.New()
		if f.size > maxContent {
			fmt.Fprint(own, f.modified.UnixNano())
		} else if opened, err := os.Open(filepath.Join(folder, f.path)); err == nil {
			// a file that cannot be read is the compiler's to complain about
			_, _ = io.Copy(own, io.LimitReader(opened, maxContent+1))
			opened.Close()
		}
		fmt.Fprintf(all, "%q %d %x\n", f.path, f.size, own.Sum(nil))
	}
	return content(all.Sum(nil))
}
