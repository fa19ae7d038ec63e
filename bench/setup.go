package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
)

const (
	sqlite   = "sqlite"
	postgres = "postgres"
	crusters = "cruster"
)

// A setup is a system with a store and, for Cruster, the language of its guests.
type setup struct {
	System   string `json:"system"`
	Language string `json:"language"`
	Store    string `json:"store"`
}

func (s setup) String() string { return s.System + " " + s.Language + " " + s.Store }

// peerSetups are the peers and the stores that they are measured on; bench/peers/README.md says why it is these.
var peerSetups = []setup{
	{"dbos", "go", postgres},
	{"go-workflows", "go", sqlite},
	{"restate", "go", "rocksdb"},
}

func peerNames() []string {
	names := make([]string, 0, len(peerSetups))
	for _, s := range peerSetups {
		names = append(names, s.System)
	}
	return names
}

// setups are all that the plan measures, Cruster and peers by turns.
func (p *plan) setups() ([]setup, error) {
	var ours, theirs []setup
	for _, store := range p.stores {
		if store != sqlite && store != postgres {
			return nil, fmt.Errorf("there is no store %q: %s or %s", store, sqlite, postgres)
		}
		for _, language := range p.languages {
			ours = append(ours, setup{crusters, language, store})
		}
	}
	for _, name := range p.peers {
		i := slices.IndexFunc(peerSetups, func(s setup) bool { return s.System == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no peer %q", name)
		}
		theirs = append(theirs, peerSetups[i])
	}
	var all []setup
	for len(ours)+len(theirs) > 0 {
		if len(ours) > 0 {
			all, ours = append(all, ours[0]), ours[1:]
		}
		if len(theirs) > 0 {
			all, theirs = append(all, theirs[0]), theirs[1:]
		}
	}
	return all, nil
}

// guest is the file of a guest in the language of the setup.
func (p *plan) guest(name string, s setup) string {
	if s.Language == "rust" {
		name += "-rust"
	}
	return filepath.Join(p.guests, name+".wasm")
}

// open starts the system of a setup on a new store; the settings are for a host.
func (p *plan) open(ctx context.Context, s setup, settings []string) (target, error) {
	dir, dsn, err := p.bed.store(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	if s.System == crusters {
		return openCruster(ctx, p, s, dir, dsn, settings)
	}
	return openAdapter(ctx, filepath.Join(p.adapters, s.System), dir, dsn)
}
