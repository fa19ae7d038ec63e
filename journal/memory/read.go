package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Load implements journal.Store.
func (s *Store) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return alone(ctx, s, func() (*journal.Execution, error) {
		e, ok := s.executions[id]
		if !ok {
			return nil, journal.ErrNotFound
		}
		row := cloneExecution(e.row)
		return &row, nil
	})
}

// Brief implements journal.Store.
func (s *Store) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return brief(s.Load(ctx, id))
}

// BriefRun implements journal.Store.
func (s *Store) BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return brief(s.FindRun(ctx, id, run))
}

func brief(row *journal.Execution, err error) (*journal.Execution, error) {
	if err != nil {
		return nil, err
	}
	return row.Brief(), nil
}

// Entries implements journal.Store.
func (s *Store) Entries(
	ctx context.Context, run journal.RunKey, after uint64, limit journal.PageLimit,
) (entries []journal.Entry, more bool, err error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	e := s.runLocked(run)
	if e == nil {
		return nil, false, nil
	}
	room := limit.Room()
	for _, seq := range slices.Sorted(maps.Keys(e.entries)) {
		if seq <= after {
			continue
		}
		if !room.Take(len(e.entries[seq])) {
			return entries, true, nil
		}
		var entry journal.Entry
		if err := abi.Unmarshal(e.entries[seq], &entry); err != nil {
			return nil, false, fmt.Errorf("memory: entry %d of run %s: %w", seq, run.Run, err)
		}
		entries = append(entries, entry)
	}
	return entries, false, nil
}

// Hibernated implements journal.Store.
func (s *Store) Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error) {
	return alone(ctx, s, func() (*journal.Hibernated, error) {
		if e := s.runLocked(run); e != nil && e.saved != nil {
			return &journal.Hibernated{Seq: e.saved.Seq, Body: bytes.Clone(e.saved.Body)}, nil
		}
		return nil, journal.ErrNotFound
	})
}

// Callee implements journal.Store.
func (s *Store) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	return alone(ctx, s, func() (*journal.Execution, error) {
		for e := range s.allLocked() {
			if p := e.row.Parent; !p.IsZero() && p.Run == step.Run && p.Step == step.Step {
				row := cloneExecution(e.row)
				return row.Brief(), nil
			}
		}
		caller := s.runLocked(journal.KeyOf(step.ID, step.Run))
		if caller == nil {
			return nil, journal.ErrNotFound
		}
		link, ok := caller.links[step.Step]
		if !ok {
			return nil, journal.ErrNotFound
		}
		for e := range s.allLocked() {
			if e.row.ID == link.Callee && e.row.Chain == link.Chain {
				row := cloneExecution(e.row)
				return row.Brief(), nil
			}
		}
		return nil, journal.ErrSwept
	})
}

// Due implements journal.Store.
func (s *Store) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return list(ctx, s, s.executions, func(id journal.ID, e *execution) (journal.Wake, bool) {
		return journal.Wake{ID: id, At: e.row.WakeAt},
			e.row.State == journal.Running && e.row.WakeAt <= until &&
				compareTimes(e.row.WakeAt, after.At, id, after.ID) > 0
	}, compareWakes, limit)
}

// List implements journal.Store.
func (s *Store) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	return alone(ctx, s, func() (journal.Page, error) {
		limit, after, err := f.Bounds()
		if err != nil {
			return journal.Page{}, err
		}
		var rows []journal.Execution
		for id, e := range s.executions {
			r := &e.row
			switch {
			case f.Namespace != "" && r.Namespace != f.Namespace,
				f.State != "" && r.State != f.State,
				strings.HasSuffix(f.Workflow, "/") && !strings.HasPrefix(r.Workflow, f.Workflow),
				f.Workflow != "" && !strings.HasSuffix(f.Workflow, "/") && r.Workflow != f.Workflow,
				f.After != "" && compareTimes(r.CreatedAt, after.At, id, after.ID) >= 0,
				!e.meets(f.Where):
				continue
			}
			rows = append(rows, journal.Listed(cloneExecution(*r)))
		}
		slices.SortFunc(rows, func(a, b journal.Execution) int {
			return -compareTimes(a.CreatedAt, b.CreatedAt, a.ID, b.ID)
		})
		return journal.PageOf(rows, limit), nil
	})
}

// Module implements journal.Store.
func (s *Store) Module(ctx context.Context, digest string) (*journal.Module, error) {
	return find(ctx, s, s.modules, digest, func(m journal.Module) journal.Module {
		m.Binary, m.Manifest = bytes.Clone(m.Binary), bytes.Clone(m.Manifest)
		return m
	})
}

// Digests implements journal.Store.
func (s *Store) Digests(ctx context.Context, prefix string, limit int) ([]string, error) {
	return list(
		ctx, s, s.modules,
		func(digest string, _ journal.Module) (string, bool) { return digest, strings.HasPrefix(digest, prefix) },
		strings.Compare, limit,
	)
}

// Deployment implements journal.Store.
func (s *Store) Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error) {
	return find(ctx, s, s.deployed, deploymentKey{namespace, name}, cloneDeployment)
}

// Deployments implements journal.Store.
func (s *Store) Deployments(ctx context.Context, namespace string) ([]journal.Deployment, error) {
	return list(ctx, s, s.deployed, func(key deploymentKey, d journal.Deployment) (journal.Deployment, bool) {
		return cloneDeployment(d), key.namespace == namespace
	}, func(a, b journal.Deployment) int { return strings.Compare(a.Name, b.Name) }, math.MaxInt)
}

func cloneExecution(e journal.Execution) journal.Execution {
	e.Input, e.Value, e.Error = bytes.Clone(e.Input), bytes.Clone(e.Value), cloneError(e.Error)
	if e.Interrupt != nil {
		i := *e.Interrupt
		e.Interrupt = &i
	}
	return e
}

func cloneDeployment(d journal.Deployment) journal.Deployment {
	d.Config, d.AllowHTTP = maps.Clone(d.Config), slices.Clone(d.AllowHTTP)
	return d
}

func cloneError(e *abi.Error) *abi.Error {
	if e == nil {
		return nil
	}
	c := *e
	c.Details = bytes.Clone(e.Details)
	return &c
}
