package grpcserver

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

func (s *entityService) ListParkedMessages(
	ctx context.Context, req *crusterv1.ListParkedMessagesRequest,
) (*crusterv1.ListParkedMessagesResponse, error) {
	f, ref, err := parkedFilter(req)
	if err != nil {
		return nil, err
	}
	found, err := s.engine.Entities.Parked(ctx, f)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListParkedMessagesResponse{}
	for i := range found {
		if p := &found[i].Parked; p.Type == "" { // it is so damaged that it does not say
			p.Namespace, p.Type, p.Key = ref.Namespace, ref.Type, ref.Key
		}
		resp.Messages = append(resp.Messages, convert.ParkedMessage(&found[i]))
	}
	if len(found) == f.Limit {
		resp.NextPageToken = parkedToken(&found[len(found)-1].Parked)
	}
	return resp, nil
}

// parkedFilter returns the filter of a request, and the entity that it names, if any.
func parkedFilter(req *crusterv1.ListParkedMessagesRequest) (f journal.ParkedFilter, ref target.Ref, err error) {
	namespace, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return f, ref, err
	}
	if f.Limit, err = pageSize(req.GetPageSize()); err != nil {
		return f, ref, err
	}
	f.Namespace, f.Type = namespace, req.GetType()
	if req.GetEntity() != "" {
		if f.Type != "" {
			return f, ref, abi.Errorf(abi.CodeBadRequest, "the request names a type and an entity")
		}
		if ref, err = target.RefOf(namespace, req.GetEntity()); err != nil {
			return f, ref, err
		}
		f.Namespace, f.Entity = "", ref.ID()
	}
	f.After, err = parkedOfToken(namespace, req.GetPageToken())
	return f, ref, err
}

// parkedToken names the last message of a page. Names hold no zero byte.
func parkedToken(p *journal.Parked) string {
	return base64.RawURLEncoding.EncodeToString([]byte(
		p.Type + "\x00" + p.Key + "\x00" + strconv.FormatUint(p.Position, 10),
	))
}

// parkedOfToken is the message behind which the next page begins; nil for the first page.
func parkedOfToken(namespace, token string) (*journal.Parked, error) {
	if token == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	parts := strings.Split(string(text), "\x00")
	if err == nil && len(parts) == 3 {
		if position, perr := strconv.ParseUint(parts[2], 10, 63); perr == nil {
			return &journal.Parked{Namespace: namespace, Type: parts[0], Key: parts[1], Position: position}, nil
		}
	}
	return nil, abi.Errorf(abi.CodeBadRequest, "the page token %.40q is not one of this host", token)
}

func (s *entityService) RetryParkedMessages(
	ctx context.Context, req *crusterv1.RetryParkedMessagesRequest,
) (*crusterv1.RetryParkedMessagesResponse, error) {
	n, err := unpark(ctx, req, s.engine.Entities.RetryParked)
	if err != nil {
		return nil, err
	}
	return &crusterv1.RetryParkedMessagesResponse{Messages: n}, nil
}

func (s *entityService) DropParkedMessages(
	ctx context.Context, req *crusterv1.DropParkedMessagesRequest,
) (*crusterv1.DropParkedMessagesResponse, error) {
	n, err := unpark(ctx, req, s.engine.Entities.DropParked)
	if err != nil {
		return nil, err
	}
	return &crusterv1.DropParkedMessagesResponse{Messages: n}, nil
}

// unparkRequest names parked messages.
type unparkRequest interface {
	GetNamespace() string
	GetEntity() string
	GetPositions() []uint64
	GetAll() bool
}

// unpark does something to the messages that a request names. All of them have to be asked for.
func unpark(
	ctx context.Context, req unparkRequest,
	do func(ctx context.Context, namespace, entity string, positions []uint64) (int, error),
) (int32, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return 0, err
	}
	if req.GetAll() != (len(req.GetPositions()) == 0) {
		return 0, abi.Errorf(abi.CodeBadRequest, "the request names positions and all messages, or neither")
	}
	n, err := do(ctx, ns, req.GetEntity(), req.GetPositions())
	return int32(n), err
}
