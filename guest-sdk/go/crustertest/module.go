package crustertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Deploy adds a deployment to the test: the module that these packages make up, with those below them. Its workflows
// and entities run for real, and have their own names, keys and migrations; others reach them by the name of the
// deployment, "billing/Invoice".
//
//	crustertest.Run(t, shop.Order, req, crustertest.Deploy("billing", "example.com/shop/billing"))
//
// Packages named by no Deploy are the module of the deployment under test ([Deployment]). Without
// Deploy it holds all that the binary of the test registers.
func Deploy(name string, packages ...string) Option {
	return func(c *config) { c.deployed[name] = append(c.deployed[name], packages...) }
}

// module is the code of a deployment.
type module struct {
	deployment string
	*guest.Registry
}

// step names an activity of the module.
func (m *module) step(activity string) stepOf {
	a, ok := m.Activity(activity)
	if !ok {
		return stepOf{name: activity}
	}
	return stepOf{a.Package, activity}
}

// deploymentOf is the deployment that a package belongs to.
func (c *config) deploymentOf(pkg string) string {
	for name, packages := range c.deployed {
		if holds(packages, pkg) {
			return name
		}
	}
	return c.deployment
}

// holds tells whether a package is one of packages, or below one.
func holds(packages []string, pkg string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return pkg == p || strings.HasPrefix(pkg, p+"/") })
}

// modules makes the deployments of a test.
func (c *config) modules() (map[string]*module, error) {
	names := []string{c.deployment}
	for _, name := range slices.Sorted(maps.Keys(c.deployed)) {
		for _, p := range c.deployed[name] {
			if !slices.ContainsFunc(guest.Packages(), func(pkg string) bool { return holds([]string{p}, pkg) }) {
				return nil, fmt.Errorf(
					"crustertest.Deploy: no package %s has registered anything; these have: %s", p,
					strings.Join(guest.Packages(), ", "),
				)
			}
		}
		if name != c.deployment {
			names = append(names, name)
		}
	}
	all := map[string]*module{}
	for _, name := range names {
		r, err := guest.Module(func(pkg string) bool { return c.deploymentOf(pkg) == name })
		if err != nil {
			return nil, fmt.Errorf("%w: say with crustertest.Deploy which packages are a module", err)
		}
		all[name] = &module{name, r}
	}
	return all, nil
}

// module returns the module of a deployment, or the error of a host without one.
func (w *world) module(deployment, stub string) (*module, error) {
	m, ok := w.modules[deployment]
	if !ok {
		return nil, abi.Errorf(abi.CodeDeploymentNotFound, "there is no deployment %q in this test", deployment).
			WithHint("Add it with crustertest.Deploy, or replace it with crustertest.%s.", stub)
	}
	return m, nil
}
