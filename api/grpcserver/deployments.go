package grpcserver

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
)

// maxChecks bounds the checks that go on at a time. Each holds a module in memory and replays journals for as long as
// there are open executions, so they have places of their own: a push does not wait for them.
const maxChecks = 2

type deploymentService struct {
	crusterv1.UnimplementedDeploymentServiceServer
	engine   *Engine
	lifetime *lifetime
	uploads  *uploads
	// messages are the uploads in one message. Their progress cannot be seen, so they have places
	// of their own: a stalled one does not block chunked uploads.
	messages *uploads
	checks   *uploads
}

var _ crusterv1.DeploymentServiceServer = (*deploymentService)(nil)

// deploymentsDesc is the service with PushModule as a stream of one message in either direction, which is the same to a
// caller. The transport reads the message of a call before it calls a handler, and would hold a module in memory for
// every call that waits for a place.
func deploymentsDesc() *grpc.ServiceDesc {
	desc := crusterv1.DeploymentService_ServiceDesc
	desc.Methods = slices.DeleteFunc(slices.Clone(desc.Methods), func(m grpc.MethodDesc) bool {
		return m.MethodName == "PushModule"
	})
	desc.Streams = append(slices.Clone(desc.Streams), grpc.StreamDesc{
		StreamName: "PushModule", ClientStreams: true,
		Handler: func(srv any, stream grpc.ServerStream) error { return srv.(*deploymentService).pushMessage(stream) },
	})
	return &desc
}

// pushMessage is PushModule: it has its place before it reads the message.
func (m *deploymentService) pushMessage(stream grpc.ServerStream) error {
	arrival, cancel := context.WithTimeout(stream.Context(), uploadTimeout)
	defer cancel()
	memory, leave, err := m.messages.enter(arrival)
	if err != nil {
		return err
	}
	defer leave()
	req, err := receiveMessage(m.messages, stream)
	if err != nil {
		return err
	}
	if err := admit(memory, len(req.GetBinary())); err != nil {
		return err
	}
	result, err := m.push(stream.Context(), req.GetMetadata(), req.GetBinary())
	if err != nil {
		return err
	}
	return stream.SendMsg(&crusterv1.PushModuleResponse{Result: result})
}

func (m *deploymentService) UploadModule(
	stream grpc.ClientStreamingServer[crusterv1.UploadModuleRequest, crusterv1.UploadModuleResponse],
) error {
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
	result, err := m.push(stream.Context(), meta, binary)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&crusterv1.UploadModuleResponse{Result: result})
}

func (m *deploymentService) push(
	ctx context.Context, meta *crusterv1.PushMetadata, binary []byte,
) (*crusterv1.PushResult, error) {
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
		Settings: host.Settings{
			Config: meta.GetConfig(), UnsetConfig: meta.GetUnsetConfig(), ReplaceConfig: meta.GetReplaceConfig(),
			AllowHTTP: meta.GetAllowHttp(), RevokeHTTP: meta.GetRevokeHttp(), ReplaceHTTP: meta.GetReplaceHttp(),
			Anyway: meta.GetTakeAway(),
		},
	})
	if err != nil {
		return nil, err
	}
	result := &crusterv1.PushResult{Deployment: convert.Deployment(info)}
	if meta.GetMoveOpen() {
		if err := m.moveOpen(ctx, ns, info, result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (m *deploymentService) deploy(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	return m.engine.Deployments.Push(ctx, req)
}

func (m *deploymentService) ListDeployments(
	ctx context.Context, req *crusterv1.ListDeploymentsRequest,
) (*crusterv1.ListDeploymentsResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	infos, err := m.engine.Deployments.List(ctx, ns)
	if err != nil {
		return nil, err
	}
	result := &crusterv1.ListDeploymentsResponse{}
	for i := range infos {
		result.Deployments = append(result.Deployments, convert.Deployment(&infos[i]))
	}
	return result, nil
}

func (m *deploymentService) GetDeployment(
	ctx context.Context, req *crusterv1.GetDeploymentRequest,
) (*crusterv1.GetDeploymentResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	info, err := m.engine.Deployments.Describe(ctx, ns, req.GetName())
	if err != nil {
		return nil, err
	}
	return &crusterv1.GetDeploymentResponse{Deployment: convert.Deployment(info)}, nil
}
