package deploy

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/journal"
)

// declaredBy are the schedules that a module declares.
func declaredBy(namespace, deployment string, m *abi.Manifest) (declared []journal.Schedule, err error) {
	names := map[string]bool{}
	for i := range m.Schedules {
		s, err := schedule.Declared(namespace, deployment, m, &m.Schedules[i])
		if err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, abi.Errorf(abi.CodeBadManifest, "the schedule %q is declared twice", m.Schedules[i].Name)
		}
		names[s.Name] = true
		declared = append(declared, s)
	}
	return declared, nil
}

// Declared lists the schedules that the deployed module of a deployment declares; none if it is not there.
func Declared(ctx context.Context, from *catalog.Catalog, namespace, name string) ([]journal.Schedule, error) {
	d, err := from.Deployment(ctx, namespace, name)
	if abi.CodeOf(err) == abi.CodeDeploymentNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := from.Module(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	return declaredBy(namespace, name, m.Manifest)
}
