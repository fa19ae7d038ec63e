package catalog

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/journal"
)

// Settings is how a push changes the settings of its deployment. Unnamed settings stay as they are:
// a push of new code must not take away a password that an operator has set.
type Settings struct {
	// Config are values that are set.
	Config map[string]string
	// UnsetConfig are names of values that are taken away.
	UnsetConfig []string
	// ReplaceConfig takes away all values that are not in Config.
	ReplaceConfig bool
	// AllowHTTP are hosts that activities may call from now on.
	AllowHTTP []string
	// RevokeHTTP are hosts that they may not call any more.
	RevokeHTTP []string
	// ReplaceHTTP takes away all grants that are not in AllowHTTP.
	ReplaceHTTP bool
	// Anyway has settings taken away although open executions may use them, and code deployed that
	// does not fit the states of entities or the requests of open executions to them.
	Anyway bool
}

// check validates a change by itself.
func (s *Settings) check() error {
	if err := checkConfig(s.Config); err != nil {
		return err
	}
	for _, name := range s.UnsetConfig {
		if _, set := s.Config[name]; set {
			return abi.Errorf(
				abi.CodeBadDeployment, "the configuration value %.80q is set and taken away at once", name,
			)
		}
	}
	granted := grantsOf(s.AllowHTTP)
	for _, host := range s.RevokeHTTP {
		if granted[egress.GrantID(host)] {
			return abi.Errorf(abi.CodeBadDeployment, "calls to %.80q are granted and revoked at once", host)
		}
	}
	_, err := egress.ParseGrants(s.AllowHTTP)
	return err
}

// apply returns the settings of a deployment after the change, and the removed ones. Settings
// removed by name must be there: a misspelt name would leave a grant in place.
func (s *Settings) apply(old *journal.Deployment) (config map[string]string, allow, gone []string, err error) {
	config, lost, err := s.applyConfig(old)
	if err != nil {
		return nil, nil, nil, err
	}
	allow, revoked, err := s.applyHTTP(old)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := checkConfig(config); err != nil {
		return nil, nil, nil, err
	}
	if _, err := egress.ParseGrants(allow); err != nil {
		return nil, nil, nil, err
	}
	return config, allow, append(lost, revoked...), nil
}

// applyConfig is apply for the configuration.
func (s *Settings) applyConfig(old *journal.Deployment) (config map[string]string, gone []string, err error) {
	config = map[string]string{}
	if !s.ReplaceConfig {
		maps.Copy(config, old.Config)
	}
	for _, name := range s.UnsetConfig {
		if _, there := old.Config[name]; !there {
			return nil, nil, abi.Errorf(
				abi.CodeBadDeployment, "%s has no configuration value %.80q to take away", old.Name, name,
			).
				WithHint(
					"Look at it with 'cruster-host module describe %s'. If this push was repeated, the first may have "+
						"taken effect.",
					old.Name,
				)
		}
		delete(config, name)
	}
	maps.Copy(config, s.Config)
	for _, name := range slices.Sorted(maps.Keys(old.Config)) {
		if _, there := config[name]; !there {
			gone = append(gone, "the configuration value "+name)
		}
	}
	return config, gone, nil
}

// applyHTTP is apply for the hosts that activities may call.
func (s *Settings) applyHTTP(old *journal.Deployment) (allow, gone []string, err error) {
	if !s.ReplaceHTTP {
		allow = slices.Clone(old.AllowHTTP)
	}
	before, revoked := grantsOf(old.AllowHTTP), grantsOf(s.RevokeHTTP)
	for _, host := range s.RevokeHTTP {
		if !before[egress.GrantID(host)] {
			return nil, nil, abi.Errorf(abi.CodeBadDeployment, "%s was not granted calls to %.80q", old.Name, host).
				WithHint(
					"It may call %s. If this push was repeated, the first may have taken effect.",
					cmp.Or(strings.Join(old.AllowHTTP, ", "), "no host"),
				)
		}
	}
	allow = slices.DeleteFunc(allow, func(a string) bool { return revoked[egress.GrantID(a)] })
	now := grantsOf(allow)
	for _, host := range s.AllowHTTP {
		if id := egress.GrantID(host); !now[id] {
			allow, now[id] = append(allow, host), true
		}
	}
	for _, host := range old.AllowHTTP {
		if !now[egress.GrantID(host)] {
			gone = append(gone, "calls to "+host)
		}
	}
	return allow, gone, nil
}

// grantsOf returns grants by their permissions, however they are spelt.
func grantsOf(grants []string) map[string]bool {
	all := map[string]bool{}
	for _, g := range grants {
		all[egress.GrantID(g)] = true
	}
	return all
}

// changed returns the deployment after a push, with a module. It is called while no other push
// changes the deployment.
func (c *Catalog) changed(
	ctx context.Context, req *PushRequest, m *abi.Manifest,
) (config map[string]string, allow []string, err error) {
	old, err := c.store.Deployment(ctx, req.Namespace, req.Name)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		old = &journal.Deployment{Namespace: req.Namespace, Name: req.Name}
	case err != nil:
		return nil, nil, journal.Coded("read the settings of "+req.Name, err)
	}
	if !req.Anyway {
		if err := c.CheckTypes(ctx, old, m, req.Uses); err != nil {
			return nil, nil, err
		}
	}
	config, allow, gone, err := req.apply(old)
	if err != nil || len(gone) == 0 || req.Anyway || req.InUse == nil {
		return config, allow, err
	}
	using, err := req.InUse(ctx)
	if err != nil || using == "" {
		return config, allow, err
	}
	return nil, nil, abi.Errorf(
		abi.CodeSettingsInUse, "the push would take away %s, which open executions may use, as %s",
		strings.Join(gone, ", "), using,
	)
}
