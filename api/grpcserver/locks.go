package grpcserver

import (
	"context"
	"encoding/hex"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/journal"
)

func (s *entityService) ListEntityLocks(
	ctx context.Context, req *crusterv1.ListEntityLocksRequest,
) (*crusterv1.ListEntityLocksResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	f := journal.LockFilter{Namespace: ns, Limit: size}
	if f.After, err = lockOfToken(req.GetPageToken()); err != nil {
		return nil, err
	}
	locks, after, more, err := s.engine.Entities.Locks(ctx, f)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListEntityLocksResponse{}
	for i := range locks {
		resp.Locks = append(resp.Locks, convert.EntityLock(&locks[i]))
	}
	if more {
		resp.NextPageToken = after.String()
	}
	return resp, nil
}

// lockOfToken is the entity behind which the next page begins; zero for the first page.
func lockOfToken(token string) (after journal.ID, err error) {
	if token == "" {
		return after, nil
	}
	id, err := hex.DecodeString(token)
	if err != nil || len(id) != len(after) {
		return after, abi.Errorf(abi.CodeBadRequest, "the page token %.40q is not one of this host", token)
	}
	return journal.ID(id), nil
}

func (s *entityService) UnlockEntity(
	ctx context.Context, req *crusterv1.UnlockEntityRequest,
) (*crusterv1.UnlockEntityResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	holder, err := s.engine.Entities.Unlock(ctx, ns, req.GetEntity())
	if err != nil {
		return nil, err
	}
	return &crusterv1.UnlockEntityResponse{Holder: rpcerror.Text(holder)}, nil
}
