package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/devloop"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// watchFolders builds the modules of the sources and deploys them to the host, which listens where
// a.addr says, until ctx is done. data is the folder of its store; force deploys modules that a
// push would refuse without --force.
func (a *app) watchFolders(ctx context.Context, sources []devloop.Source, data string, force bool) error {
	data, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	if direct, err := filepath.EvalSymlinks(data); err == nil {
		data = direct
	}
	return a.withClient(func(c *client.Client) error {
		screen := &watchScreen{app: a, force: force}
		var loops sync.WaitGroup
		for _, s := range sources {
			loop := &devloop.Loop{
				Clock:   clockwork.NewRealClock(),
				Source:  s,
				Out:     filepath.Join(data, "built"),
				Ignored: []string{data},
				Report:  screen.report,
				Deploy: func(ctx context.Context, s devloop.Source, file string, binary []byte) error {
					return screen.deploy(ctx, c, s, file, binary)
				},
			}
			loops.Go(func() { loop.Run(ctx) })
		}
		loops.Wait()
		return nil
	})
}

// A watchScreen shows people the state of the sources. Each message is on the screen as a whole.
type watchScreen struct {
	app   *app
	force bool

	mu     sync.Mutex      // guards writes to the app's standard output
	hinted map[string]bool // the deployments that it was said of how to run them; guarded by mu
}

// first tells whether it is to be said how the deployment is run. It is called by say.
func (w *watchScreen) first(deployment string) bool {
	if w.hinted[deployment] {
		return false
	}
	if w.hinted == nil {
		w.hinted = map[string]bool{}
	}
	w.hinted[deployment] = true
	return true
}

// say prints an event: as a line of JSON, or as the text that table writes.
func (w *watchScreen) say(e view.Watched, table func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// The screen is for people; the loop goes on without it.
	if w.app.output == "table" {
		_ = table()
		return
	}
	_ = w.app.writeJSON(e, "")
}

func (w *watchScreen) line(name, format string, args ...any) error {
	_, err := fmt.Fprintf(w.app.stdout, "%s: %s\n", terminal.OneLine(name), fmt.Sprintf(format, args...))
	return err
}

func (w *watchScreen) report(e devloop.Event) {
	name := e.Source.Name
	v := view.Watched{Deployment: name, Event: e.What, File: e.File, Bytes: e.Size, Seconds: e.Took.Seconds()}
	var failed *devloop.BuildError
	if errors.As(e.Err, &failed) {
		v.Output = failed.Output
	}
	if e.Err != nil {
		v.Error = e.Err.Error()
	}
	w.say(v, func() error {
		switch e.What {
		case devloop.Building:
			return w.line(name, "building %s (%s)", e.Source.Folder, e.Source.Kind)
		case devloop.Built:
			return w.writeBuilt(e)
		case devloop.Unchanged:
			return w.line(
				name, "built in %s; it is the module that is deployed already", e.Took.Round(10*time.Millisecond),
			)
		}
		if _, err := fmt.Fprint(w.app.stdout, asLines(v.Output)); err != nil {
			return err
		}
		return w.line(name, "%s; what was deployed before stays", v.Error)
	})
}

// writeBuilt says how large the module is, and why a large one is large.
func (w *watchScreen) writeBuilt(e devloop.Event) error {
	module, err := readModule(e.File)
	size := view.SizeOf(module)
	if err != nil || size == nil || size.Hint == "" {
		return w.line(
			e.Source.Name, "built in %s, %s", e.Took.Round(10*time.Millisecond), terminal.Bytes(int64(e.Size)),
		)
	}
	return w.line(e.Source.Name, "built in %s, %s\n  %s", e.Took.Round(10*time.Millisecond), size, size.Hint)
}

// asLines ends a text with the end of a line.
func asLines(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// deploy sees which open executions the module fits, and deploys it also if it fits none: no execution goes on with it
// unless it is moved. The states of entities are another thing: see --force. A module that is deployed already is left
// alone.
func (w *watchScreen) deploy(
	ctx context.Context, c *client.Client, s devloop.Source, file string, binary []byte,
) error {
	digest := fmt.Sprintf("%x", sha256.Sum256(binary))
	// If the host does not say, the push does.
	before, err := c.Deployments().GetDeployment(
		ctx, &crusterv1.GetDeploymentRequest{Namespace: w.app.namespace, Name: s.Name},
	)
	if d := before.GetDeployment(); err == nil && d.GetDigest() == digest {
		w.say(
			view.Watched{
				Deployment: s.Name,
				Event:      devloop.Unchanged,
				File:       file,
				Version:    d.GetVersion(),
				Digest:     d.GetDigest(),
			},
			func() error {
				return view.WriteUnchanged(w.app.stdout, d, w.first(s.Name), w.app.addrFlagAnywhere())
			},
		)
		return nil
	}
	w.say(
		view.Watched{Deployment: s.Name, Event: "deploying", File: file},
		func() error { return w.line(s.Name, "deploying") },
	)
	summary, err := w.check(ctx, c, s.Name, digest, binary)
	var resp *crusterv1.PushResult
	if err == nil {
		resp, err = c.Push(ctx, client.PushRequest{Name: s.Name, Binary: binary, TakeAway: w.force})
	}
	if ctx.Err() != nil {
		return ctx.Err() // a newer build reports its outcome
	}
	if err != nil {
		w.say(view.Watched{Deployment: s.Name, Event: "refused", File: file, Error: err.Error()}, func() error {
			if err := w.line(s.Name, "not deployed; what was deployed before stays"); err != nil {
				return err
			}
			return view.WriteFailure(w.app.stdout, failureOf(err, w.app.addrFlagAnywhere()))
		})
		return err
	}
	d := resp.GetDeployment()
	w.say(
		view.Watched{
			Deployment: s.Name,
			Event:      "deployed",
			File:       file,
			Version:    d.GetVersion(),
			Digest:     d.GetDigest(),
			Check:      summary,
		},
		func() error {
			if err := view.WriteOpenAfterChange(w.app.stdout, summary, w.app.addrFlagAnywhere()); err != nil {
				return err
			}
			return view.WriteRedeployed(w.app.stdout, d, w.first(s.Name), w.app.addrFlagAnywhere())
		},
	)
	return nil
}

// check is nil if nothing is open. Executions that are paused because a turn ran for too long are
// not tried: on the same loop they would have each save wait for that long again. The host has
// them last, so the check ends before them.
func (w *watchScreen) check(
	ctx context.Context, c *client.Client, name, digest string, binary []byte,
) (*view.Check, error) {
	summary := view.NewCheck(name)
	summary.Digest = digest
	others, err := w.skipSlow(ctx, c, summary)
	if abi.CodeOf(err) == abi.CodeDeploymentNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if others {
		for r, err := range c.Check(ctx, client.CheckRequest{Name: name, Binary: binary}) {
			if abi.CodeOf(err) == abi.CodeDeploymentNotFound {
				break
			}
			if abi.CodeOf(err) == abi.CodeStateLost {
				summary.Types = abi.AsError(err).Message // the push says it, unless it is forced
				break
			}
			if err != nil {
				return nil, err
			}
			summary.Add(r)
			if int(r.GetDone())+summary.Skipped >= int(r.GetTotal()) {
				break
			}
		}
	}
	if summary.Open() == 0 {
		return nil, nil
	}
	return summary, nil
}

// skipSlow has the check skip the executions that are paused because a turn ran for too long, and
// tells whether others are open.
func (w *watchScreen) skipSlow(ctx context.Context, c *client.Client, summary *view.Check) (others bool, err error) {
	for _, state := range []crusterv1.State{crusterv1.State_STATE_PAUSED, crusterv1.State_STATE_RUNNING} {
		req := &crusterv1.ListExecutionsRequest{
			Namespace: w.app.namespace, Workflow: summary.Deployment + "/", State: state, PageSize: pageLimit,
		}
		for more := true; more; more = req.GetPageToken() != "" {
			page, err := c.Workflows().ListExecutions(ctx, req)
			if err != nil {
				return false, err
			}
			for _, e := range page.GetExecutions() {
				if state == crusterv1.State_STATE_PAUSED && rpcerror.FromProto(e.GetError()).RanTooLong() {
					summary.Skip(e.GetName())
					continue
				}
				others = true
			}
			if req.PageToken = page.GetNextPageToken(); others && state == crusterv1.State_STATE_RUNNING {
				return true, nil
			}
		}
	}
	return others, nil
}
