package client

import (
	"context"
	"errors"
	"io"
	"iter"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// chunk is the size of the pieces a module is uploaded in.
const chunk = 256 << 10

// PushRequest is a module to deploy.
type PushRequest struct {
	// AllowHTTP lists hosts that activities may call, besides those allowed already.
	AllowHTTP []string
	// Binary is the Wasm module.
	Binary []byte
	// Check refuses the module, with a [*Misfit], if it does not fit an open execution of the deployment.
	Check bool
	// Config holds values that activities read. Values of the deployment that are not named here stay as they
	// are.
	Config map[string]string
	// MoveOpen moves the open executions of the deployment that fit to the module. The answer
	// counts them, and the executions that stay where they are.
	MoveOpen bool
	// Name of the deployment.
	Name string
	// ReplaceConfig takes away all values that are not in Config.
	ReplaceConfig bool
	// ReplaceHTTP takes away all grants that are not in AllowHTTP.
	ReplaceHTTP bool
	// RevokeHTTP lists hosts that activities may not call any more.
	RevokeHTTP []string
	// Sent, if set, is called with the number of bytes that were sent so far. Once all are, the host compiles the
	// module.
	Sent func(bytes int)
	// TakeAway takes settings away also if the deployment has open executions, which may use them,
	// and deploys code that does not fit the states of entities that there are, or the messages and
	// reads of open executions. Without it such a push is refused with CR-1013, or CR-1014.
	TakeAway bool
	// UnsetConfig names values that are taken away.
	UnsetConfig []string
}

// Push uploads a module and points a deployment at it. Open executions stay on the module that they are on, unless
// MoveOpen is set.
func (c *Client) Push(ctx context.Context, req PushRequest) (*crusterv1.PushResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream if it is left half-way
	stream, err := c.Deployments().UploadModule(ctx)
	if err != nil {
		return nil, rpcerror.From(err)
	}
	meta := &crusterv1.PushMetadata{
		Namespace: c.namespace, Name: req.Name, Check: req.Check, MoveOpen: req.MoveOpen,
		Config: req.Config, UnsetConfig: req.UnsetConfig, ReplaceConfig: req.ReplaceConfig,
		AllowHttp: req.AllowHTTP, RevokeHttp: req.RevokeHTTP, ReplaceHttp: req.ReplaceHTTP, TakeAway: req.TakeAway,
	}
	err = stream.Send(&crusterv1.UploadModuleRequest{Part: &crusterv1.UploadModuleRequest_Metadata{Metadata: meta}})
	if err == nil {
		err = inPieces(req.Binary, req.Sent, func(piece []byte) error {
			return stream.Send(&crusterv1.UploadModuleRequest{Part: &crusterv1.UploadModuleRequest_Chunk{Chunk: piece}})
		})
	}
	if err != nil && !answered(err) {
		return nil, rpcerror.From(err)
	}
	resp, err := stream.CloseAndRecv()
	if err != nil {
		return nil, rpcerror.From(err)
	}
	return resp.GetResult(), nil
}

// CheckRequest is a module that the open executions of a deployment may be moved to.
type CheckRequest struct {
	// Binary is the Wasm module. It need not be deployed.
	Binary []byte
	// Name of the deployment.
	Name string
	// Sent, if set, is called as [PushRequest]'s Sent is.
	Sent func(bytes int)
}

// Check has the host replay every open execution of a deployment on a module, and yields for one
// after the other whether the module fits. It changes nothing. An error is the last it yields. With
// [abi.CodeStateLost] the results before it are complete, and a push would be refused because of
// the types of entities.
func (c *Client) Check(ctx context.Context, req CheckRequest) iter.Seq2[*crusterv1.CheckModuleResponse, error] {
	return func(yield func(*crusterv1.CheckModuleResponse, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel() // ends the stream if the loop is left
		stream, err := c.Deployments().CheckModule(ctx)
		if err != nil {
			yield(nil, rpcerror.From(err))
			return
		}
		meta := &crusterv1.CheckModuleMetadata{Namespace: c.namespace, Name: req.Name}
		err = stream.Send(&crusterv1.CheckModuleRequest{Part: &crusterv1.CheckModuleRequest_Metadata{Metadata: meta}})
		if err == nil {
			err = inPieces(req.Binary, req.Sent, func(piece []byte) error {
				return stream.Send(
					&crusterv1.CheckModuleRequest{Part: &crusterv1.CheckModuleRequest_Chunk{Chunk: piece}},
				)
			})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		if err != nil && !answered(err) {
			yield(nil, rpcerror.From(err))
			return
		}
		receiveAll(stream.Recv, yield)
	}
}

// inPieces sends a module in pieces, and tells sent how far it is.
func inPieces(binary []byte, sent func(bytes int), send func(piece []byte) error) error {
	for at := 0; at < len(binary); {
		n := min(len(binary)-at, chunk)
		if err := send(binary[at : at+n]); err != nil {
			return err
		}
		at += n
		if sent != nil {
			sent(at)
		}
	}
	return nil
}

// answered tells that the host has answered before all was sent: the answer says why.
func answered(err error) bool { return errors.Is(err, io.EOF) }

// receiveAll yields the messages of a stream, and at last the error that ended it, if one did.
func receiveAll[M any](receive func() (*M, error), yield func(*M, error) bool) {
	for {
		m, err := receive()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(nil, rpcerror.From(err))
			return
		}
		if !yield(m, nil) {
			return
		}
	}
}
