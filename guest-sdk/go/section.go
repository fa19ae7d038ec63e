package cruster

import (
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// EntityID names one entity with a state, for [Lock]. Get one from [StatefulEntity.ID], or from [RemoteEntityID] for an
// entity of another deployment.
type EntityID struct {
	entity string // "Name" or "deployment/Name"
	id     string
}

// ID names the entity with an id: 1 to 512 bytes of text.
func (e *StatefulEntity[S]) ID(id string) EntityID { return EntityID{entity: e.Name(), id: id} }

// RemoteEntityID names an entity with a state that this module does not contain; entity is
// "deployment/Name".
func RemoteEntityID(entity, id string) EntityID { return EntityID{entity: entity, id: id} }

// in is the name of the entity for a sender of a deployment.
func (e EntityID) in(deployment string) string {
	entity := e.entity
	if strings.Contains(e.id, "/") && !strings.Contains(entity, "/") {
		entity = deployment + "/" + entity // or the id would be taken for one with a deployment in front
	}
	return entity + "/" + e.id
}

// Section is a critical section: entities that only this run of the workflow can call. See [Lock].
type Section struct {
	over bool
}

// Lock begins a critical section over entities with a state, up to 32. From its return until
// [Section.Unlock], only this run calls them; calls by others, reads included, wait.
//
//	section, err := cruster.Lock(ctx, Accounts.ID(from), Accounts.ID(to))
//	if err != nil {
//		return err
//	}
//	balance, err := Balance.On(from).Call(ctx, cruster.None{})
//	if err == nil && balance >= amount {
//		…
//	}
//	return section.Unlock(ctx)
//
// A section needs no cleanup: it ends with the run at the latest, however that ends, also if its host does. And locks
// cannot deadlock: all runs take them in one order, and no call in a section waits for another one. Therefore a
// workflow in a section
//
//   - calls the entities that it has locked and no others (CR-6011)
//   - does not lock again, does not call workflows, and sends nothing to the entities that it
//     has locked (CR-6012): call them; start workflows ([Client.Start]) instead.
//
// Activities, timers, signals and messages to other entities are possible, but everyone else waits
// meanwhile: keep sections short. A section that waits for a signal or a promise waits for ever if
// its sender waits for the section: rule that out in your design.
func Lock(ctx Context, first EntityID, others ...EntityID) (*Section, error) {
	deployment := ctx.deployment()
	names := make([]string, 0, 1+len(others))
	for _, e := range append([]EntityID{first}, others...) {
		names = append(names, e.in(deployment))
	}
	p := ctx.scope.Issue(&opLock, guest.Label{Kind: "Lock"}, guest.EncodeBody(abi.Lock{Entities: names}))
	if _, err := (Future[None]{p: p}).Await(ctx); err != nil {
		return nil, err
	}
	return &Section{}, nil
}

// Unlock ends the section, and returns when that is durable. It also does so if the execution was asked to stop. A
// second call does nothing.
func (s *Section) Unlock(ctx Context) error {
	if s.over {
		return nil
	}
	s.over = true
	shielded := Shield(ctx)
	p := shielded.scope.Issue(&opUnlock, guest.Label{Kind: "Unlock"}, guest.EncodeBody(abi.Unlock{}))
	_, err := Future[None]{p: p}.Await(shielded)
	return err
}
