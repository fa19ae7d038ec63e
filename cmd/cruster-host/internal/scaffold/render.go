package scaffold

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

// The templates of projects, a folder for each language. They end in .tmpl, so that no tool takes them for parts of
// this tree, and a "dot-" begins the names of hidden files.
//
//go:embed templates
var templates embed.FS

// A File is one file of a project.
type File struct {
	// Name is its path inside the project, with slashes.
	Name string
	// Content is the file's content.
	Content []byte
}

// Render returns the files of the project. It writes nothing.
func (p *Project) Render() ([]File, error) {
	var files []File
	if p.GoDependencies != nil {
		files = append(files, File{Name: "go.sum", Content: p.GoDependencies.sums})
	}
	root := path.Join("templates", p.Language)
	err := fs.WalkDir(templates, root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := p.fill(name)
		if err != nil {
			return err
		}
		files = append(files, File{Name: fileName(strings.TrimPrefix(name, root+"/")), Content: content})
		return nil
	})
	return files, err
}

// fill fills in one template.
func (p *Project) fill(name string) ([]byte, error) {
	text, err := templates.ReadFile(name)
	if err != nil {
		return nil, err
	}
	parsed, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, p); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// fileName is the name of the file that a template becomes.
func fileName(name string) string {
	dir, base := path.Split(strings.TrimSuffix(name, ".tmpl"))
	if hidden, ok := strings.CutPrefix(base, "dot-"); ok {
		base = "." + hidden
	}
	return dir + base
}
