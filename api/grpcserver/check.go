package grpcserver

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
)

func (m *deploymentService) CheckModule(
	stream grpc.BidiStreamingServer[crusterv1.CheckModuleRequest, crusterv1.CheckModuleResponse],
) error {
	arrival, cancelArrival := context.WithTimeout(stream.Context(), uploadTimeout)
	defer cancelArrival()
	memory, leave, err := m.checks.enter(arrival)
	if err != nil {
		return err
	}
	defer leave()
	meta, binary, err := receive(arrival, m.checks, memory, stream)
	if err != nil {
		return err
	}
	ns, err := convert.Namespace(meta.GetNamespace())
	if err != nil {
		return err
	}
	if err := convert.DeploymentName(meta.GetName()); err != nil {
		return err
	}
	ctx, cancel := m.lifetime.bound(stream.Context())
	defer cancel()
	return m.engine.Deployments.Check(
		ctx,
		host.CheckRequest{Namespace: ns, Name: meta.GetName(), Binary: binary, Types: true},
		func(r host.CheckResult, done, total int) error {
			resp, err := convert.CheckResponse(r, done, total)
			if err != nil {
				return err
			}
			return stream.Send(resp)
		},
	)
}

// requireFit refuses a module that does not fit all open executions of a deployment. A deployment that does not exist
// yet has none. Its types are for the push to compare.
func (m *deploymentService) requireFit(ctx context.Context, namespace, name string, binary []byte) error {
	ctx, cancel := m.lifetime.bound(ctx)
	defer cancel()
	var first *host.CheckResult
	var checked, differ int
	err := m.engine.Deployments.Check(
		ctx,
		host.CheckRequest{Namespace: namespace, Name: name, Binary: binary},
		func(r host.CheckResult, _, _ int) error {
			checked++
			if r.Fits {
				return nil
			}
			if differ++; first == nil {
				first = &r
			}
			return nil
		},
	)
	switch {
	case abi.CodeOf(err) == abi.CodeDeploymentNotFound:
		return nil
	case err != nil:
		return err
	case differ == 0:
		return nil
	}
	cause := abi.Errorf(
		abi.CodeDoesNotFit,
		"the module does not fit %d of %d open executions of %s, so it was not deployed; the first is %s: %s",
		differ, checked, name, first.Execution.Name(), first.Reason,
	).
		WithHint(
			"'cruster-host module check FILE --name %s' shows all. Without --check a push leaves open executions on "+
				"the module that they are on.",
			name,
		)
	if first.Diff != nil {
		cause.Message += "\n" + first.Diff.String()
	}
	return &host.Misfit{Cause: cause, Diff: first.Diff}
}
