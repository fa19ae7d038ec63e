package grpcserver

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/payload"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

type entityService struct {
	crusterv1.UnimplementedEntityServiceServer
	around   *interceptors
	engine   *Engine
	lifetime *lifetime
	streams  callStreams
}

var _ crusterv1.EntityServiceServer = (*entityService)(nil)

func (s *entityService) CallEntity(
	ctx context.Context, req *crusterv1.CallEntityRequest,
) (*crusterv1.CallEntityResponse, error) {
	ctx, cancel := s.lifetime.bound(ctx)
	defer cancel()
	return s.perform(ctx, req)
}

// perform performs a call that ends with the lifetime.
func (s *entityService) perform(
	ctx context.Context, req *crusterv1.CallEntityRequest,
) (*crusterv1.CallEntityResponse, error) {
	as, err := convert.AnswerEncoding(req.GetEncoding(), req.GetOperation().GetInput())
	if err != nil {
		return nil, err
	}
	call, err := s.decode(ctx, req.GetOperation())
	if err != nil {
		return nil, err
	}
	ctx, end := ahead(ctx)
	defer end()
	outcome, err := s.engine.Entities.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	if outcome.Error != nil {
		return &crusterv1.CallEntityResponse{Error: rpcerror.ToProto(outcome.Error)}, nil
	}
	result, err := convert.EncodePayload(outcome.Value, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.CallEntityResponse{Result: result}, nil
}

func (s *entityService) SendToEntity(
	ctx context.Context, req *crusterv1.SendToEntityRequest,
) (*crusterv1.SendToEntityResponse, error) {
	call, err := s.decode(ctx, req.GetOperation())
	if err != nil {
		return nil, err
	}
	ctx, end := ahead(ctx)
	defer end()
	if err := s.engine.Entities.Send(ctx, call); err != nil {
		return nil, err
	}
	return &crusterv1.SendToEntityResponse{}, nil
}

// decode reads an operation.
func (s *entityService) decode(ctx context.Context, o *crusterv1.Operation) (req host.EntityRequest, err error) {
	req = host.EntityRequest{
		Entity: o.GetEntity(), Operation: o.GetName(), RequestID: o.GetRequestId(), Again: o.GetAgain(),
	}
	if req.Namespace, err = convert.Namespace(o.GetNamespace()); err != nil {
		return req, err
	}
	req.Input, err = convert.DecodeTyped(o.GetInput(), func() (*abi.Schema, error) {
		entityType, _, ok := journal.ParseName(req.Entity)
		if !ok {
			return nil, abi.Errorf(abi.CodeEntityName, "%.200q does not name an entity", req.Entity)
		}
		info, err := s.engine.Entities.Operation(ctx, req.Namespace, entityType, req.Operation)
		if err != nil {
			return nil, err
		}
		return info.Input, nil
	})
	return req, explainInput(o, err)
}

// explainInput says of an input that does not fit which operation it was for.
func explainInput(o *crusterv1.Operation, err error) error {
	var misfit *abi.Error
	if !errors.As(err, &misfit) || misfit.Code != abi.CodeBadInput {
		return err
	}
	about := abi.Errorf(abi.CodeOperationInput, "the input of %.100q: %s", o.GetName(), misfit.Message)
	if misfit.Hint == payload.HintOnQuotes {
		about.Hint = misfit.Hint
	}
	return about
}

func (s *entityService) GetEntity(
	ctx context.Context, req *crusterv1.GetEntityRequest,
) (*crusterv1.GetEntityResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	as, err := convert.AnswerEncoding(req.GetEncoding(), nil)
	if err != nil {
		return nil, err
	}
	row, err := s.engine.Entities.State(ctx, ns, req.GetEntity())
	if err != nil {
		return nil, err
	}
	state, err := convert.EncodePayload(row.State, as)
	if err != nil {
		return nil, err
	}
	parked, err := s.engine.Entities.CountParked(ctx, ns, req.GetEntity())
	if err != nil {
		return nil, err
	}
	return &crusterv1.GetEntityResponse{Entity: convert.Entity(row), State: state, Parked: int32(parked)}, nil
}

func (s *entityService) ListEntities(
	ctx context.Context, req *crusterv1.ListEntitiesRequest,
) (*crusterv1.ListEntitiesResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	after, err := entityOfToken(ns, req.GetPageToken())
	if err != nil {
		return nil, err
	}
	found, err := s.engine.Entities.List(ctx, journal.EntityFilter{
		Namespace: ns, Type: req.GetType(), After: after, Limit: size,
	})
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListEntitiesResponse{}
	for i := range found {
		resp.Entities = append(resp.Entities, convert.Entity(&found[i]))
	}
	if len(found) == size {
		resp.NextPageToken = entityToken(&found[size-1])
	}
	return resp, nil
}

// entityToken names the last entity of a page. A name of a type holds no zero byte.
func entityToken(e *journal.Entity) string {
	return base64.RawURLEncoding.EncodeToString([]byte(e.Type + "\x00" + e.Key))
}

// entityOfToken is the entity behind which the next page begins; nil for the first page.
func entityOfToken(namespace, token string) (*journal.Entity, error) {
	if token == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	entityType, key, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok {
		return nil, abi.Errorf(abi.CodeBadRequest, "the page token %.40q is not one of this host", token)
	}
	return &journal.Entity{Namespace: namespace, Type: entityType, Key: key}, nil
}

func (s *entityService) DestroyEntity(
	ctx context.Context, req *crusterv1.DestroyEntityRequest,
) (*crusterv1.DestroyEntityResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	if err := s.engine.Entities.Destroy(ctx, ns, req.GetEntity(), req.GetRequestId()); err != nil {
		return nil, err
	}
	return &crusterv1.DestroyEntityResponse{}, nil
}
