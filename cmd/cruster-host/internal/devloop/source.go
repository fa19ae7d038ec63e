package devloop

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// Kinds of folders, by their build tool.
const (
	KindGo     = "go"
	KindRust   = "rust"
	KindScript = "script"
)

// A Source is a folder with the source of a module.
type Source struct {
	// Folder is its path, absolute and without links.
	Folder string
	// Kind is its build tool.
	Kind string
	// Name is the deployment's name.
	Name string
}

// ParseSource understands DIR and NAME=DIR. Without a name the deployment has the folder's.
func ParseSource(text string) (Source, error) {
	name, dir, named := strings.Cut(text, "=")
	if !named {
		name, dir = "", text
	}
	folder, err := filepath.Abs(dir)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return Source{}, usage.Inputf("--watch %s: %w", text, err)
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return Source{}, usage.Inputf("--watch %s: it is not a folder", text)
	}
	if name == "" {
		name = filepath.Base(folder)
	}
	if err := abi.CheckName("deployment", name); err != nil || strings.Contains(name, "/") {
		return Source{}, usage.Errorf("--watch %s: %q cannot be the name of a deployment: write NAME=DIR", text, name)
	}
	kind, err := kindOf(folder)
	if err != nil {
		return Source{}, usage.Inputf("--watch %s: %w", text, err)
	}
	return Source{Folder: folder, Kind: kind, Name: name}, nil
}

// ParseSources understands several, whose names must differ.
func ParseSources(texts []string) ([]Source, error) {
	var all []Source
	seen := map[string]bool{}
	for _, text := range texts {
		s, err := ParseSource(text)
		if err != nil {
			return nil, err
		}
		if seen[s.Name] {
			return nil, usage.Errorf(
				"--watch %s: there are two folders for the deployment %q: write NAME=DIR", text, s.Name,
			)
		}
		seen[s.Name] = true
		all = append(all, s)
	}
	return all, nil
}

// kindOf finds the build tool of a folder. A script comes first: a project that has one says with
// it that the usual command is not enough.
func kindOf(folder string) (string, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	kinds := map[string]bool{}
	for _, f := range files {
		switch {
		case f.Name() == "build.sh":
			kinds[KindScript] = true
		case f.Name() == "Cargo.toml":
			kinds[KindRust] = true
		case filepath.Ext(f.Name()) == ".go":
			kinds[KindGo] = true
		}
	}
	for _, kind := range []string{KindScript, KindRust, KindGo} {
		if kinds[kind] {
			return kind, nil
		}
	}
	return "", errors.New("it has no Go files, no Cargo.toml and no build.sh")
}
