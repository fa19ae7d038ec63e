package scaffold

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// Languages are the languages with templates.
var Languages = []string{"go", "rust"}

// A Request describes the project to make.
type Request struct {
	// Clone is the path of a clone of Cruster's source to take the SDK from; empty means the SDK of the release.
	Clone string
	// Language is one of Languages.
	Language string
	// Name is the name of the project and of its folder.
	Name string
	// Parent is the folder that the project's folder is made in. Defaults to the current folder.
	Parent string
	// Release is the version of this binary; empty if it is no release.
	Release string
}

// A Project is the output of `new`, and the data of its templates.
type Project struct {
	Name     string   `json:"name"`
	Language string   `json:"language"`
	Folder   string   `json:"folder"`
	Version  string   `json:"sdk_version"`
	SDK      string   `json:"sdk,omitempty"` // a clone to take the SDK from, as seen from the folder
	Files    []string `json:"files"`
	// GoDependencies are the clone's dependencies; nil without one.
	GoDependencies *goDependencies `json:"-"`

	unreleased bool
}

// New checks the request; it writes nothing.
func New(req Request) (*Project, error) {
	if err := checkName(req.Name); err != nil {
		return nil, err
	}
	switch {
	case req.Language == "":
		return nil, usage.Errorf("--lang is missing: choose %s", strings.Join(Languages, " or "))
	case !slices.Contains(Languages, req.Language):
		return nil, usage.Errorf("there is no language %q: choose %s", req.Language, strings.Join(Languages, " or "))
	}
	folder, err := filepath.Abs(filepath.Join(req.Parent, req.Name))
	if err != nil {
		return nil, fmt.Errorf("the current folder: %w", err)
	}
	p := &Project{
		Name:       req.Name,
		Language:   req.Language,
		Folder:     folder,
		Version:    sdkVersion(req.Release),
		unreleased: !releaseVersion.MatchString(req.Release),
	}
	if req.Clone != "" {
		if err := p.useClone(req.Clone); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// useClone makes the project depend on the SDK in a clone of the source.
func (p *Project) useClone(clone string) error {
	var err error
	if p.SDK, err = findSDK(clone, p.Folder, p.Language); err != nil {
		return err
	}
	if p.Language == "go" {
		p.GoDependencies, err = readGoDependencies(clone)
	}
	return err
}

// SDKText says for people where the project takes its SDK from.
func (p *Project) SDKText() string {
	if p.SDK != "" {
		return "that in " + p.SDK
	}
	if p.unreleased {
		return p.Version +
			", which is not released yet: to build the project now, write it with --sdk and a clone of the source"
	}
	return p.Version
}

// Table begins with the name of the project: the modules of a namespace share its tables.
func (p *Project) Table() string { return strings.ReplaceAll(p.Name, "-", "_") + "_visits" }

// Crate is the name of the project inside Rust code, and of the file that Cargo builds.
func (p *Project) Crate() string { return strings.ReplaceAll(p.Name, "-", "_") }

// Go is the version for go.mod.
func (p *Project) Go() string { return sdkGo }

// GoReplacement is the path of one of the clone's modules as go.mod takes it: paths begin with a
// slash or dots, and paths with special characters are quoted.
func (p *Project) GoReplacement(module string) string {
	at := path.Join(p.SDK, module)
	if !path.IsAbs(at) && !strings.HasPrefix(at, "../") && at != ".." {
		at = "./" + at
	}
	if strings.ContainsAny(at, " ,()[]{}") || strings.Contains(at, "//") {
		return strconv.Quote(at)
	}
	return at
}

// Cargo is the command that calls Cargo to build for Wasm: a clone has a script that prepares a toolchain which lacks
// the target.
func (p *Project) Cargo() string {
	if p.SDK != "" {
		return terminal.QuoteWord(path.Join(p.SDK, "scripts/rust.sh")) + " cargo"
	}
	return "cargo"
}
