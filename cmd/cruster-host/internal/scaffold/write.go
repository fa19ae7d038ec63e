package scaffold

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// Write writes the project into its folder, whole or not at all.
func (p *Project) Write() error {
	files, err := p.Render()
	if err != nil {
		return err
	}
	if err := p.refuseExisting(); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(p.Folder), "."+p.Name+"-")
	if err != nil {
		return usage.Inputf("cannot write the project: %w", err)
	}
	defer os.RemoveAll(draft) // gone already if all went well
	for _, file := range files {
		if err := file.write(draft); err != nil {
			return usage.Inputf("cannot write the project: %w", err)
		}
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return usage.Inputf("cannot write the project: %w", err)
	}
	// Rename does not replace a folder, even if one was made in the meantime.
	if err := os.Rename(draft, p.Folder); err != nil {
		return usage.Inputf("cannot write the project: %w", err)
	}
	for _, file := range files {
		p.Files = append(p.Files, file.Name)
	}
	return nil
}

func (p *Project) refuseExisting() error {
	switch _, err := os.Lstat(p.Folder); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage.Inputf("cannot write the project: %w", err)
	default:
		return usage.Inputf("%s exists: nothing was written", p.Folder)
	}
}

func (f File) write(folder string) error {
	target := filepath.Join(folder, filepath.FromSlash(f.Name))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return os.WriteFile(target, f.Content, 0o644)
}
