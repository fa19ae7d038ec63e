package rpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
)

// deploymentEngine is what the module service uses of an engine.
type deploymentEngine interface {
	Push(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error)
	Deployments(ctx context.Context, namespace string) ([]host.DeploymentInfo, error)
	Deployment(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error)
	// Check tells which open executions of a deployment fit a module.
	Check(ctx context.Context, req host.CheckRequest, report func(result host.CheckResult, done, total int) error) error
	// UploadMemory is what one upload takes its memory out of.
	UploadMemory() host.Permit
	rolloutEngine
}

// maxChecks bounds the checks that go on at a time. Each holds a module in memory
// and replays journals for as long as there are open executions, so they have
// places of their own: a push does not wait for them.
const maxChecks = 2

type moduleService struct {
	crusterv1.UnimplementedModuleServiceServer
	engine   deploymentEngine
	lifetime *lifetime
	uploads  *uploads
	checks   *uploads
}

var _ crusterv1.ModuleServiceServer = (*moduleService)(nil)

func (m *moduleService) Push(ctx context.Context, req *crusterv1.PushRequest) (*crusterv1.PushResponse, error) {
	if int64(len(req.GetBinary())) > m.uploads.maxSize {
		return nil, m.uploads.tooLarge()
	}
	arrival, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	memory, leave, err := m.uploads.enter(arrival)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := admit(memory, len(req.GetBinary())); err != nil {
		return nil, err
	}
	return m.push(ctx, req.GetMetadata(), req.GetBinary())
}

func (m *moduleService) PushStream(stream grpc.ClientStreamingServer[crusterv1.PushStreamRequest, crusterv1.PushResponse]) error {
	arrival, cancel := context.WithTimeout(stream.Context(), uploadTimeout)
	defer cancel()
	memory, leave, err := m.uploads.enter(arrival)
	if err != nil {
		return err
	}
	defer leave()
	meta, binary, err := receive(arrival, m.uploads, memory, stream)
	if err != nil {
		return err
	}
	resp, err := m.push(stream.Context(), meta, binary)
	if err != nil {
		return err
	}
	return stream.SendAndClose(resp)
}

func (m *moduleService) push(ctx context.Context, meta *crusterv1.PushMetadata, binary []byte) (*crusterv1.PushResponse, error) {
	ns, err := convert.Namespace(meta.GetNamespace())
	if err != nil {
		return nil, err
	}
	if err := convert.DeploymentName(meta.GetName()); err != nil {
		return nil, err
	}
	if meta.GetCheck() {
		if err := m.requireFit(ctx, ns, meta.GetName(), binary); err != nil {
			return nil, err
		}
	}
	info, err := m.deploy(ctx, host.PushRequest{
		Namespace: ns,
		Name:      meta.GetName(),
		Binary:    binary,
		Config:    meta.GetConfig(),
		AllowHTTP: meta.GetAllowHttp(),
	})
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.PushResponse{Deployment: convert.Deployment(info)}
	if meta.GetMoveOpen() {
		if err := m.moveOpen(ctx, ns, info, resp); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

func (m *moduleService) deploy(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	return m.engine.Push(ctx, req)
}

func (m *moduleService) List(ctx context.Context, req *crusterv1.ListModulesRequest) (*crusterv1.ListModulesResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	infos, err := m.engine.Deployments(ctx, ns)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListModulesResponse{}
	for i := range infos {
		resp.Deployments = append(resp.Deployments, convert.Deployment(&infos[i]))
	}
	return resp, nil
}

func (m *moduleService) Describe(ctx context.Context, req *crusterv1.DescribeModuleRequest) (*crusterv1.DescribeModuleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	info, err := m.engine.Deployment(ctx, ns, req.GetName())
	if err != nil {
		return nil, err
	}
	return &crusterv1.DescribeModuleResponse{Deployment: convert.Deployment(info)}, nil
}
