package schedule

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Declared schedules
//
// A module may declare schedules. They are there while it is deployed, under names of the form "deployment/name", which
// no schedule has that people make. So a push touches no other schedule, and people cannot change these; they may
// pause, resume and trigger them.
//
// A deployment and its schedules are several commits. Before the deployment is changed, a row named
// "deployment/" says that its schedules have to be looked at; it goes when they are as the deployed
// module says. It is a row among the schedules that is due at once: a host that finds it, at its
// start or in a scan, does the remaining work.

// Declaration is a push of a deployment, as far as schedules are concerned. It is used by one
// goroutine.
type Declaration struct {
	r                     *Schedules
	namespace, deployment string
	declared              []journal.Schedule
	marker                *journal.Schedule // nil if there is nothing to do
	release               func()
}

// Declared reads a schedule of a module's manifest, and fills in defaults.
func Declared(namespace, deployment string, m *abi.Manifest, info *abi.ScheduleInfo) (journal.Schedule, error) {
	s := journal.Schedule{Namespace: namespace, Name: deployment + "/" + info.Name}
	fail := func(err error) (journal.Schedule, error) {
		coded := *abi.AsError(err)
		coded.Message = "schedule " + info.Name + ": " + coded.Message
		return s, &coded
	}
	if err := CheckName(info.Name); err != nil {
		return fail(err)
	}
	var err error
	s.Spec, err = normalize(journal.ScheduleSpec{
		Always:   info.Always,
		CatchUp:  info.CatchUp,
		Cron:     info.Cron,
		Every:    info.Every,
		Jitter:   info.Jitter,
		Overlap:  journal.Overlap(info.Overlap),
		Workflow: deployment + "/" + info.Workflow,
		Zone:     info.Zone,
	})
	if err != nil {
		return fail(err)
	}
	if err := checkInput(info.Input); err != nil {
		return fail(err)
	}
	for i := range m.Workflows {
		if w := &m.Workflows[i]; w.Name == info.Workflow {
			if s.Input, err = w.CheckRequest(info.Input); err != nil {
				return fail(err)
			}
			return s, nil
		}
	}
	return fail(abi.Errorf(abi.CodeBadManifest, "the module has no workflow %.80q", info.Workflow))
}

// Declare begins a push of a deployment. The caller releases it.
func (r *Schedules) Declare(namespace, deployment string) *Declaration {
	return &Declaration{r: r, namespace: namespace, deployment: deployment, release: func() {}}
}

// Begin makes durable that the schedules of the deployment have to be looked at, before it is
// changed. Until it is released no one else does.
func (d *Declaration) Begin(ctx context.Context, declared []journal.Schedule) error {
	marker := journal.Schedule{Namespace: d.namespace, Name: d.deployment + "/", WakeAt: journal.Now}
	release, err := d.r.acquire(ctx, marker.ID())
	if err != nil {
		return err
	}
	d.release = release
	before, err := d.r.declaredNames(ctx, d.namespace, d.deployment, true)
	if err != nil {
		return err
	}
	if len(declared)+len(before) == 0 {
		return nil
	}
	switch left, err := d.r.Store.Schedule(ctx, marker.ID()); {
	case err == nil:
		marker.Version = left.Version
	case !errors.Is(err, journal.ErrNotFound):
		return journal.Coded("look at the schedules of "+d.deployment, err)
	}
	marker.Version++
	if err := d.r.Store.SaveSchedule(ctx, marker, 2*MaxSchedules); err != nil {
		return journal.Coded("declare the schedules of "+d.deployment, err)
	}
	d.marker, d.declared = &marker, declared
	return nil
}

// Finish brings the schedules to the declarations of the deployed module.
func (d *Declaration) Finish(ctx context.Context) error {
	if d.marker == nil {
		return nil
	}
	if err := d.r.declare(ctx, d.marker, d.declared); err != nil {
		coded := *abi.AsError(journal.Coded("declare the schedules of "+d.deployment, err))
		coded.Message = "the module is deployed, and its schedules are not what it says yet: " + coded.Message
		return &coded
	}
	d.marker = nil
	return nil
}

// Release lets others look at the schedules of the deployment, which is needed if they differ from
// the declarations.
func (d *Declaration) Release() {
	d.release()
	if d.marker != nil {
		d.r.EnsureInMemory(d.marker.ID())
	}
}

// isMarker tells whether a row says that the schedules of a deployment have to be looked at.
func isMarker(name string) bool { return strings.HasSuffix(name, "/") }

// isDeclared tells whether a schedule is declared by a module.
func isDeclared(name string) bool { return strings.Contains(name, "/") }

// redeclare does the remaining work of a push.
func (r *Schedules) redeclare(ctx context.Context, marker *journal.Schedule) error {
	declared, err := r.Declared(ctx, marker.Namespace, strings.TrimSuffix(marker.Name, "/"))
	if err != nil {
		return err
	}
	return r.declare(ctx, marker, declared)
}

// declare makes, changes and deletes schedules of a deployment until they match the declarations,
// and then deletes the marker. It is idempotent: finished changes are skipped.
func (r *Schedules) declare(ctx context.Context, marker *journal.Schedule, declared []journal.Schedule) error {
	left := map[string]bool{}
	names, err := r.declaredNames(ctx, marker.Namespace, strings.TrimSuffix(marker.Name, "/"), false)
	if err != nil {
		return err
	}
	for _, name := range names {
		left[name] = true
	}
	for _, want := range declared {
		delete(left, want.Name)
	}
	// A failure holds up no other schedule: deletions make room for new ones.
	var failed error
	for name := range left {
		if err := r.delete(ctx, marker.Namespace, name); err != nil && abi.CodeOf(err) != abi.CodeScheduleNotFound {
			failed = cmp.Or(failed, err)
		}
	}
	for _, want := range declared {
		failed = cmp.Or(failed, r.declareOne(ctx, want))
	}
	if failed != nil {
		return failed
	}
	err = r.Store.DeleteSchedule(ctx, marker.ID(), marker.Version)
	if errors.Is(err, journal.ErrStale) {
		return nil // the answer of a deletion was lost
	}
	return err
}

func (r *Schedules) declareOne(ctx context.Context, want journal.Schedule) error {
	found, err := r.Store.Schedule(ctx, want.ID())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		_, err = r.create(ctx, want)
		return err
	case err != nil:
		return err
	case found.Spec == want.Spec && bytes.Equal(found.Input, want.Input):
		return nil
	}
	_, err = r.change(ctx, want.Namespace, want.Name, func(p *plan) error { return p.replace(want) })
	return err
}

// declaredNames lists the schedules that were declared for a deployment, with the marker if that is wanted.
func (r *Schedules) declaredNames(
	ctx context.Context, namespace, deployment string, withMarker bool,
) (names []string, err error) {
	prefix, after := deployment+"/", deployment+"." // the character before a slash
	for {
		page, err := r.Store.Schedules(ctx, namespace, after, listPage)
		if err != nil {
			return nil, journal.Coded("list the schedules of "+deployment, err)
		}
		for i := range page {
			name := page[i].Name
			if strings.HasPrefix(name, prefix) && (withMarker || !isMarker(name)) {
				names = append(names, name)
			}
			if name > prefix && !strings.HasPrefix(name, prefix) {
				return names, nil
			}
		}
		if len(page) < listPage {
			return names, nil
		}
		after = page[len(page)-1].Name
	}
}

// listPage is how many schedules are read at a time.
const listPage = 100
