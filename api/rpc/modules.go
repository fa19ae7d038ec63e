package rpc

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

const (
	// maxUploads bounds the modules that are held in memory while they arrive.
	maxUploads = 4
	// uploadTimeout is how long one may take to arrive, and stallTimeout how long
	// until its next piece does, so that callers who stall give their place to
	// others.
	uploadTimeout = 5 * time.Minute
	stallTimeout  = 20 * time.Second
)

type moduleService struct {
	crusterv1.UnimplementedModuleServiceServer
	server *Server
	slots  chan struct{}
	stall  time.Duration
}

var _ crusterv1.ModuleServiceServer = (*moduleService)(nil)

func (m *moduleService) Push(ctx context.Context, req *crusterv1.PushRequest) (*crusterv1.PushResponse, error) {
	if int64(len(req.GetBinary())) > m.server.cfg.MaxModuleSize {
		return nil, m.tooLarge()
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return m.push(ctx, req.GetMetadata(), req.GetBinary())
}

// enter waits for a place among the uploads.
func (m *moduleService) enter(ctx context.Context) (leave func(), err error) {
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, nil
	case <-ctx.Done():
		return nil, abi.Errorf(abi.CodeOverloaded, "%d uploads are under way already", maxUploads)
	}
}

func (m *moduleService) PushStream(stream grpc.ClientStreamingServer[crusterv1.PushStreamRequest, crusterv1.PushResponse]) error {
	ctx, cancel := context.WithTimeout(stream.Context(), uploadTimeout)
	defer cancel()
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	meta, binary, err := m.receive(ctx, stream)
	if err != nil {
		return err
	}
	resp, err := m.push(ctx, meta, binary)
	if err != nil {
		return err
	}
	return stream.SendAndClose(resp)
}

// receive collects an upload. The stream's own reads cannot be given up, so they
// happen beside: when the time is over, returning ends the stream and the read.
func (m *moduleService) receive(ctx context.Context, stream grpc.ClientStreamingServer[crusterv1.PushStreamRequest, crusterv1.PushResponse]) (*crusterv1.PushMetadata, []byte, error) {
	type upload struct {
		meta   *crusterv1.PushMetadata
		binary []byte
		err    error
	}
	done := make(chan upload, 1)
	stalled := make(chan struct{})
	clock := time.AfterFunc(m.stall, func() { close(stalled) })
	defer clock.Stop()
	go func() {
		// Once it has fired it is too late: Reset would close stalled twice.
		meta, binary, err := m.collect(stream, func() {
			if clock.Stop() {
				clock.Reset(m.stall)
			}
		})
		done <- upload{meta, binary, err}
	}()
	late := func(limit time.Duration) error {
		return abi.Errorf(abi.CodeDeadline, "the module did not arrive within %v", limit).WithHint("Push again over a faster connection.")
	}
	select {
	case u := <-done:
		return u.meta, u.binary, u.err
	case <-stalled:
		return nil, nil, late(m.stall)
	case <-ctx.Done():
		return nil, nil, late(uploadTimeout)
	}
}

// collect reads the pieces of an upload; progress is called after each.
func (m *moduleService) collect(stream grpc.ClientStreamingServer[crusterv1.PushStreamRequest, crusterv1.PushResponse], progress func()) (*crusterv1.PushMetadata, []byte, error) {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	meta := first.GetMetadata()
	if meta == nil {
		return nil, nil, abi.Errorf(abi.CodeBadRequest, "the first message of an upload must carry its metadata")
	}
	var binary []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return meta, binary, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if part.GetMetadata() != nil {
			return nil, nil, abi.Errorf(abi.CodeBadRequest, "only the first message of an upload may carry metadata")
		}
		if int64(len(binary)+len(part.GetChunk())) > m.server.cfg.MaxModuleSize {
			return nil, nil, m.tooLarge()
		}
		binary = append(binary, part.GetChunk()...)
		progress()
	}
}

func (m *moduleService) tooLarge() error {
	return abi.Errorf(abi.CodeModuleTooLarge, "the module has more than %d bytes", m.server.cfg.MaxModuleSize)
}

func (m *moduleService) push(ctx context.Context, meta *crusterv1.PushMetadata, binary []byte) (*crusterv1.PushResponse, error) {
	ns, err := namespaceOf(meta.GetNamespace())
	if err != nil {
		return nil, err
	}
	info, err := m.server.cfg.Engine.Push(ctx, host.PushRequest{
		Namespace: ns,
		Name:      meta.GetName(),
		Binary:    binary,
		Config:    meta.GetConfig(),
		AllowHTTP: meta.GetAllowHttp(),
	})
	if err != nil {
		return nil, err
	}
	return &crusterv1.PushResponse{Deployment: deploymentToProto(info)}, nil
}

func (m *moduleService) List(ctx context.Context, req *crusterv1.ListModulesRequest) (*crusterv1.ListModulesResponse, error) {
	ns, err := namespaceOf(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	infos, err := m.server.cfg.Engine.Deployments(ctx, ns)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListModulesResponse{}
	for i := range infos {
		resp.Deployments = append(resp.Deployments, deploymentToProto(&infos[i]))
	}
	return resp, nil
}

func (m *moduleService) Describe(ctx context.Context, req *crusterv1.DescribeModuleRequest) (*crusterv1.DescribeModuleResponse, error) {
	ns, err := namespaceOf(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	info, err := m.server.cfg.Engine.Deployment(ctx, ns, req.GetName())
	if err != nil {
		return nil, err
	}
	return &crusterv1.DescribeModuleResponse{Deployment: deploymentToProto(info)}, nil
}

func deploymentToProto(info *host.DeploymentInfo) *crusterv1.Deployment {
	d := &crusterv1.Deployment{
		Namespace:  info.Namespace,
		Name:       info.Name,
		Digest:     info.Digest,
		Version:    info.Version,
		UpdatedAt:  timestamp(info.UpdatedAt),
		ConfigKeys: slices.Sorted(maps.Keys(info.Config)),
		AllowHttp:  info.AllowHTTP,
		Imports:    info.Imports,
	}
	if info.Manifest == nil {
		return d
	}
	d.Sdk = rpcerror.Text(info.Manifest.SDK)
	for _, w := range info.Manifest.Workflows {
		d.Workflows = append(d.Workflows, &crusterv1.WorkflowInfo{Name: w.Name, Key: w.Key, Input: schemaToProto(w.Input), Output: schemaToProto(w.Output)})
	}
	for _, a := range info.Manifest.Activities {
		info := &crusterv1.ActivityInfo{Name: a.Name, Input: schemaToProto(a.Input), Output: schemaToProto(a.Output), Retries: a.Retry.Retries}
		if a.Timeout > 0 {
			info.Timeout = durationpb.New(time.Duration(a.Timeout))
		}
		d.Activities = append(d.Activities, info)
	}
	return d
}

func schemaToProto(s *abi.Schema) *crusterv1.Schema {
	if s == nil {
		return &crusterv1.Schema{Type: abi.TypeAny}
	}
	p := &crusterv1.Schema{Type: s.Type, Bits: int32(s.Bits), Nullable: s.Nullable}
	if s.Elem != nil {
		p.Elem = schemaToProto(s.Elem)
	}
	for _, f := range s.Fields {
		p.Fields = append(p.Fields, &crusterv1.Field{Name: f.Name, Required: f.Required, Schema: schemaToProto(f.Schema)})
	}
	return p
}
