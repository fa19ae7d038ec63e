package cli

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

type fakeModules struct {
	crusterv1.UnimplementedDeploymentServiceServer
	host *fakeHost
}

func shopDeployment() *crusterv1.Deployment {
	return &crusterv1.Deployment{
		Namespace: "default", Name: "shop", Digest: "0123456789abcdef", Version: 2, UpdateTime: timestamppb.New(noon),
		Workflows: []*crusterv1.WorkflowInfo{{
			Name: "Buy",
			Key:  "request",
			Input: &crusterv1.Schema{Type: "struct", Fields: []*crusterv1.Field{
				{Name: "price", Required: true, Schema: &crusterv1.Schema{Type: "float"}},
			}},
		}},
	}
}

func (m *fakeModules) UploadModule(
	stream grpc.ClientStreamingServer[crusterv1.UploadModuleRequest, crusterv1.UploadModuleResponse],
) error {
	size := 0
	var options *crusterv1.PushMetadata
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			m.host.note("DeploymentService/UploadModule %d bytes", size)
			return m.answerPush(options, stream)
		}
		if err != nil {
			return err
		}
		if meta := part.GetMetadata(); meta != nil {
			m.host.note("DeploymentService/UploadModule %s", pushText(meta))
			options = meta
		}
		size += len(part.GetChunk())
	}
}

// answerPush refuses a push that must fit, and moves three executions of five.
func (m *fakeModules) answerPush(
	options *crusterv1.PushMetadata,
	stream grpc.ClientStreamingServer[crusterv1.UploadModuleRequest, crusterv1.UploadModuleResponse],
) error {
	resp := &crusterv1.PushResult{Deployment: shopDeployment()}
	if options.GetCheck() {
		m.host.note("DeploymentService/UploadModule must fit")
		return unfit("shop/Buy/running")
	}
	if options.GetMoveOpen() {
		m.host.note("DeploymentService/UploadModule moves what is open")
		resp.Moved, resp.Unmoved, resp.FirstUnmoved = 3, 2, unmoved("running")
	}
	return stream.SendAndClose(&crusterv1.UploadModuleResponse{Result: resp})
}

// Check finds an execution that fits and two that do not; none of the deployment idle. The deployment none does not
// exist. The types of hotel and motel do not fit.
func (m *fakeModules) CheckModule(
	stream grpc.BidiStreamingServer[crusterv1.CheckModuleRequest, crusterv1.CheckModuleResponse],
) error {
	size, name := 0, ""
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name += part.GetMetadata().GetName()
		size += len(part.GetChunk())
	}
	m.host.note("DeploymentService/CheckModule %s, %d bytes", name, size)
	switch name {
	case "idle":
		return nil
	case "hotel":
		return refused(abi.CodeStateLost, "hotel/Rooms does not fit its states")
	case "none":
		return refused(abi.CodeDeploymentNotFound, "there is no deployment %q", name)
	case "mixed":
		fits := &crusterv1.CheckModuleResponse{
			Done:      1,
			Total:     2,
			Execution: &crusterv1.Execution{Name: "mixed/Buy/running", Workflow: "mixed/Buy"},
			Fits:      true,
		}
		if err := stream.Send(fits); err != nil {
			return err
		}
		<-stream.Context().Done() // the other one loops
		return stream.Context().Err()
	}
	for i, key := range []string{"completed", "paused", "running"} {
		e, err := execution("shop/Buy/" + key)
		if err != nil {
			return err
		}
		resp := &crusterv1.CheckModuleResponse{Done: uint32(i + 1), Total: 3, Execution: e, Fits: true}
		if i > 0 && name != "fine" {
			resp.Fits, resp.Reason, resp.Diff = false, "the code leaves out what has run", payDiff()
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
	if name == "motel" {
		return refused(abi.CodeStateLost, "motel/Rooms does not fit its states")
	}
	return nil
}

func payDiff() *crusterv1.Diff {
	return &crusterv1.Diff{
		Before: 1, Rows: []*crusterv1.DiffRow{{Journal: "activity pay", Note: "the code leaves out what has run"}},
	}
}

// unfit is the error of a module that does not fit.
func unfit(execution string) error {
	cause := abi.Errorf(abi.CodeDoesNotFit, "the module does not fit %s\n  both sides", execution)
	return rpcerror.WithDiff(rpcerror.Status(cause, 0), payDiff()).Err()
}

func unmoved(key string) *crusterv1.MoveResult {
	e, _ := execution("shop/Buy/" + key)
	return &crusterv1.MoveResult{
		Execution:  e,
		FromDigest: e.GetDigest(),
		Error:      &crusterv1.Error{Code: "CR-2031", Message: "the module does not fit\n  both sides"},
		Diff:       payDiff(),
	}
}

// pausedThere is the outcome for an execution paused on the module it is to be moved to.
func pausedThere() *crusterv1.MoveResult {
	e, _ := execution("shop/Buy/paused")
	return &crusterv1.MoveResult{
		Execution:  e,
		FromDigest: e.GetDigest(),
		Error:      &crusterv1.Error{Code: "CR-2015", Message: "it is there already", Hint: "Resume it."},
	}
}

// emptyNamespace is a namespace without deployments.
const emptyNamespace = "empty"

// wordyNamespace has a workflow with a name for everything that can be sent to one, and entities.
const wordyNamespace = "wordy"

func (*fakeModules) ListDeployments(
	_ context.Context, req *crusterv1.ListDeploymentsRequest,
) (*crusterv1.ListDeploymentsResponse, error) {
	if req.GetNamespace() == wordyNamespace {
		d := shopDeployment()
		w := d.GetWorkflows()[0]
		w.Deferreds = []*crusterv1.DeferredInfo{{Name: "approved"}, {Name: "vote-", Dynamic: true}}
		w.Signals, w.Queries = []*crusterv1.SignalInfo{
			{Name: "paid"}, {Name: "packed"},
		}, []*crusterv1.QueryInfo{{Name: "price"}}
		w.Updates, w.State = []*crusterv1.UpdateInfo{{Name: "reprice"}}, []*crusterv1.StateInfo{{Name: "cart"}}
		bank := &crusterv1.Deployment{Namespace: wordyNamespace, Name: "bank", Entities: []*crusterv1.EntityInfo{
			{
				Name:       "Account",
				Operations: []*crusterv1.OperationInfo{{Name: "balance"}, {Name: "deposit"}, {Name: "withdraw"}},
			},
			{Name: "AccountBook"},
		}}
		return &crusterv1.ListDeploymentsResponse{Deployments: []*crusterv1.Deployment{bank, d}}, nil
	}
	if req.GetNamespace() == emptyNamespace {
		return &crusterv1.ListDeploymentsResponse{}, nil
	}
	return &crusterv1.ListDeploymentsResponse{Deployments: []*crusterv1.Deployment{shopDeployment()}}, nil
}

func (*fakeModules) GetDeployment(
	_ context.Context, req *crusterv1.GetDeploymentRequest,
) (*crusterv1.GetDeploymentResponse, error) {
	if req.GetName() == "same" { // its module is the text "module"
		d := shopDeployment()
		d.Name, d.Digest = "same", fmt.Sprintf("%x", sha256.Sum256([]byte("module")))
		return &crusterv1.GetDeploymentResponse{Deployment: d}, nil
	}
	if req.GetName() != "shop" {
		return nil, refused(abi.CodeDeploymentNotFound, "there is no deployment %q", req.GetName())
	}
	return &crusterv1.GetDeploymentResponse{Deployment: shopDeployment()}, nil
}

// pushText describes the request of a push.
func pushText(m *crusterv1.PushMetadata) string {
	text := fmt.Sprintf("name %s, config %v, allow %v", m.GetName(), m.GetConfig(), m.GetAllowHttp())
	if len(m.GetUnsetConfig())+len(m.GetRevokeHttp()) > 0 || m.GetReplaceConfig() || m.GetReplaceHttp() ||
		m.GetTakeAway() {
		text += fmt.Sprintf(", unset %v, replace %t, revoke %v, replace %t, anyway %t",
			m.GetUnsetConfig(), m.GetReplaceConfig(), m.GetRevokeHttp(), m.GetReplaceHttp(), m.GetTakeAway())
	}
	return text
}
