package main

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// The templates of projects, a folder for each language. They end in .tmpl, so
// that no tool takes them for parts of this tree, and a "dot-" begins the names
// of hidden files.
//
//go:embed templates
var projectTemplates embed.FS

// A project is what `new` writes, and what its templates see.
type project struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Folder   string   `json:"folder"`
	Version  string   `json:"sdk_version"`
	SDK      string   `json:"sdk,omitempty"` // a clone to take the SDK from, as seen from the folder
	Files    []string `json:"files"`
	// GoDependencies are those of the clone; nil without one.
	GoDependencies *goDependencies `json:"-"`
}

const (
	// unreleasedSDK is the version of the SDKs while there is no release.
	unreleasedSDK = "0.1.0"
	// projectGo is the version of Go that the SDK asks for.
	projectGo = "1.26.0"
)

var releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// sdkVersion is the version of the SDKs that belong to this binary.
func sdkVersion() string {
	if releaseVersion.MatchString(release) {
		return strings.TrimPrefix(release, "v")
	}
	return unreleasedSDK
}

// sdkFile is a file that a clone has if it has the SDK of a language.
var sdkFile = map[string]string{"go": "guest-sdk/go/go.mod", "rust": "guest-sdk/rust/cruster/Cargo.toml"}

// findSDK checks the clone that --sdk names, and returns its path as the project
// has to write it: as absolute or relative as it was given.
func findSDK(sdk, folder, language string) (string, error) {
	// The path goes into a go.mod, a Cargo.toml and a README: what is special in
	// any of them is refused.
	if strings.ContainsFunc(sdk, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune("\"\\`'", r) }) {
		return "", inputf("--sdk: a path with quotes, backslashes or control characters cannot be written into a project: %q", sdk)
	}
	at, err := filepath.Abs(sdk)
	if err != nil {
		return "", inputf("--sdk: %w", err)
	}
	if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(sdkFile[language]))); err != nil {
		return "", inputf("--sdk: %s is no clone of Cruster: it has no %s", sdk, sdkFile[language])
	}
	if filepath.IsAbs(sdk) {
		return filepath.ToSlash(at), nil
	}
	relative, err := filepath.Rel(folder, at)
	if err != nil {
		return "", inputf("--sdk: %w", err)
	}
	return filepath.ToSlash(relative), nil
}

// useClone makes the project depend on the SDK in a clone of the source.
func (p *project) useClone(clone string) error {
	var err error
	if p.SDK, err = findSDK(clone, p.Folder, p.Language); err != nil {
		return err
	}
	if p.Language == "go" {
		p.GoDependencies, err = readGoDependencies(clone)
	}
	return err
}

func (p *project) sdkLine() string {
	if p.SDK != "" {
		return "that in " + p.SDK
	}
	if !releaseVersion.MatchString(release) {
		return p.Version + ", which is not released yet: to build the project now, write it with --sdk and a clone of the source"
	}
	return p.Version
}

// Table begins with the name of the project: the modules of a host share its
// tables.
func (p *project) Table() string { return strings.ReplaceAll(p.Name, "-", "_") + "_visits" }

// Crate is the name of the project inside Rust code, and of the file that Cargo
// builds.
func (p *project) Crate() string { return strings.ReplaceAll(p.Name, "-", "_") }

// Go is the version for go.mod.
func (p *project) Go() string { return projectGo }

// GoReplacement is the path of one of the clone's modules as go.mod takes it:
// paths begin with a slash or dots, and those with special characters are quoted.
func (p *project) GoReplacement(module string) string {
	at := path.Join(p.SDK, module)
	if !path.IsAbs(at) && !strings.HasPrefix(at, "../") && at != ".." {
		at = "./" + at
	}
	if strings.ContainsAny(at, " ,()[]{}") || strings.Contains(at, "//") {
		return strconv.Quote(at)
	}
	return at
}

// Cargo is the command that calls Cargo to build for Wasm: a clone has a script
// that makes up for a toolchain that is not prepared for it.
func (p *project) Cargo() string {
	if p.SDK != "" {
		return quoteShell(path.Join(p.SDK, "scripts/rust.sh")) + " cargo"
	}
	return "cargo"
}

// write writes the project, whole or not at all.
func (p *project) write() error {
	if err := p.refuseExisting(); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(p.Folder), "."+p.Name+"-")
	if err != nil {
		return inputf("cannot write the project: %w", err)
	}
	defer os.RemoveAll(draft) // gone already if all went well
	if err := p.render(draft); err != nil {
		return err
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return inputf("cannot write the project: %w", err)
	}
	// It does not replace a folder, even if one has come to be since.
	if err := os.Rename(draft, p.Folder); err != nil {
		return inputf("cannot write the project: %w", err)
	}
	return nil
}

func (p *project) refuseExisting() error {
	switch _, err := os.Lstat(p.Folder); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return inputf("cannot write the project: %w", err)
	default:
		return inputf("%s exists: nothing was written", p.Folder)
	}
}

// render writes all files below a folder.
func (p *project) render(into string) error {
	root := path.Join("templates", p.Language)
	if p.GoDependencies != nil {
		if err := p.writeFile(into, "go.sum", p.GoDependencies.sums); err != nil {
			return err
		}
	}
	return fs.WalkDir(projectTemplates, root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := projectTemplates.ReadFile(file)
		if err != nil {
			return err
		}
		parsed, err := template.New(file).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := parsed.Execute(&out, p); err != nil {
			return err
		}
		return p.writeFile(into, projectFile(strings.TrimPrefix(file, root+"/")), out.Bytes())
	})
}

func (p *project) writeFile(into, name string, content []byte) error {
	p.Files = append(p.Files, name)
	target := filepath.Join(into, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return inputf("cannot write the project: %w", err)
	}
	if err := os.WriteFile(target, content, 0o644); err != nil {
		return inputf("cannot write the project: %w", err)
	}
	return nil
}

// projectFile is the name of the file that a template becomes.
func projectFile(name string) string {
	dir, base := path.Split(strings.TrimSuffix(name, ".tmpl"))
	if hidden, ok := strings.CutPrefix(base, "dot-"); ok {
		base = "." + hidden
	}
	return dir + base
}
