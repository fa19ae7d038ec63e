package convert

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// Deployment makes a message of a deployment. It names the configuration values without telling them: they may be
// secrets.
func Deployment(info *host.DeploymentInfo) *crusterv1.Deployment {
	d := &crusterv1.Deployment{
		Namespace:  info.Namespace,
		Name:       info.Name,
		Digest:     info.Digest,
		Version:    info.Version,
		UpdateTime: unixTimestamp(info.UpdatedAt),
		ConfigKeys: slices.Sorted(maps.Keys(info.Config)),
		AllowHttp:  info.AllowHTTP,
		Imports:    info.Imports,
	}
	if info.Manifest == nil {
		return d
	}
	d.Sdk = rpcerror.Text(info.Manifest.SDK)
	for _, w := range info.Manifest.Workflows {
		workflow := &crusterv1.WorkflowInfo{Name: w.Name, Key: w.Key, Input: Schema(w.Input), Output: Schema(w.Output)}
		for _, s := range w.Signals {
			workflow.Signals = append(workflow.Signals, &crusterv1.SignalInfo{Name: s.Name, Value: Schema(s.Value)})
		}
		workflow.AnyDeferred = w.Deferreds == nil
		for _, d := range w.Deferreds {
			workflow.Deferreds = append(workflow.Deferreds, &crusterv1.DeferredInfo{
				Name: d.Name, Value: Schema(d.Value), Dynamic: d.Dynamic,
			})
		}
		for _, q := range w.Queries {
			workflow.Queries = append(workflow.Queries, &crusterv1.QueryInfo{
				Name: q.Name, Input: Schema(q.Input), Output: Schema(q.Output),
			})
		}
		for _, u := range w.Updates {
			workflow.Updates = append(workflow.Updates, &crusterv1.UpdateInfo{
				Name: u.Name, Input: Schema(u.Input), Output: Schema(u.Output), Validated: u.Validated,
			})
		}
		for _, s := range w.State {
			workflow.State = append(workflow.State, &crusterv1.StateInfo{Name: s.Name, Value: Schema(s.Value)})
		}
		for _, a := range w.Attributes {
			workflow.Attributes = append(workflow.Attributes, &crusterv1.AttributeInfo{Name: a.Name, Type: a.Type})
		}
		d.Workflows = append(d.Workflows, workflow)
	}
	for i := range info.Manifest.Entities {
		d.Entities = append(d.Entities, entityInfo(&info.Manifest.Entities[i]))
	}
	for _, a := range info.Manifest.Activities {
		activity := &crusterv1.ActivityInfo{
			Name: a.Name, Input: Schema(a.Input), Output: Schema(a.Output), Retries: a.Retry.Retries,
		}
		if a.Timeout > 0 {
			activity.Timeout = durationpb.New(time.Duration(a.Timeout))
		}
		if a.Retry.Retries > 0 {
			activity.FirstPause, activity.Backoff = durationpb.New(a.Retry.Delay(1)), cmp.Or(
				a.Retry.Backoff, abi.BackoffExponential,
			)
		}
		d.Activities = append(d.Activities, activity)
	}
	return d
}

// Schema makes a message of a type; nil is the type that takes every value.
func Schema(s *abi.Schema) *crusterv1.Schema {
	if s == nil {
		return &crusterv1.Schema{Type: abi.TypeAny}
	}
	p := &crusterv1.Schema{Type: s.Type, Bits: int32(s.Bits), Nullable: s.Nullable}
	if s.Elem != nil {
		p.Elem = Schema(s.Elem)
	}
	for _, f := range s.Fields {
		p.Fields = append(p.Fields, &crusterv1.Field{Name: f.Name, Required: f.Required, Schema: Schema(f.Schema)})
	}
	return p
}
