package host

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// module is a compiled module with its manifest.
type module struct {
	code     *wasm.Module
	manifest *abi.Manifest
}

func (m *module) workflow(name string) *abi.WorkflowInfo {
	i := slices.IndexFunc(m.manifest.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == name })
	if i < 0 {
		return nil
	}
	return &m.manifest.Workflows[i]
}

// deployment is a deployment as the engine uses it.
type deployment struct {
	journal.Deployment
	policy *egress.Policy
}

// modules finds compiled modules by digest and deployments by name. Both are
// caches over the store; the store decides.
type modules struct {
	runtime *wasm.Runtime
	store   journal.Store
	loading singleflight.Group

	mu          sync.Mutex
	byDigest    map[string]*module     // guarded by mu
	deployments map[string]*deployment // guarded by mu; key "namespace/name"
}

func newModules(runtime *wasm.Runtime, store journal.Store) *modules {
	return &modules{runtime: runtime, store: store, byDigest: map[string]*module{}, deployments: map[string]*deployment{}}
}

// get returns the module with the digest, compiled.
func (ms *modules) get(ctx context.Context, digest string) (*module, error) {
	ms.mu.Lock()
	m := ms.byDigest[digest]
	ms.mu.Unlock()
	if m != nil {
		return m, nil
	}
	v, err, _ := ms.loading.Do(digest, func() (any, error) {
		// The first of several callers must not take the others down with its own
		// deadline.
		ctx := context.WithoutCancel(ctx)
		stored, err := ms.store.Module(ctx, digest)
		if errors.Is(err, journal.ErrNotFound) {
			return nil, abi.Errorf(abi.CodeModuleNotFound, "module %.12s is not in the store", digest)
		}
		if err != nil {
			return nil, storeError("load module "+digest, err)
		}
		return ms.compile(ctx, stored.Binary)
	})
	if err != nil {
		return nil, err
	}
	return v.(*module), nil
}

// compile validates, compiles and describes a binary, once for all who ask at
// the same time. One that is refused is not kept in memory.
func (ms *modules) compile(ctx context.Context, binary []byte) (*module, error) {
	digest := wasm.Digest(binary)
	compiled := ms.loading.DoChan("compile "+digest, func() (any, error) {
		m, err := ms.describe(context.WithoutCancel(ctx), binary)
		if err != nil {
			ms.runtime.Forget(digest)
		}
		return m, err
	})
	select {
	case res := <-compiled:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*module), nil
	case <-ctx.Done():
		return nil, storeError("compile the module", ctx.Err())
	}
}

func (ms *modules) describe(ctx context.Context, binary []byte) (*module, error) {
	code, err := ms.runtime.Compile(ctx, binary)
	if err != nil {
		return nil, err
	}
	ms.mu.Lock()
	m := ms.byDigest[code.Digest()]
	ms.mu.Unlock()
	if m != nil {
		return m, nil
	}
	raw, err := code.Describe(ctx)
	if err != nil {
		return nil, err
	}
	manifest := &abi.Manifest{}
	if err := abi.DecodeBody(raw, manifest); err != nil {
		return nil, abi.Errorf(abi.CodeBadManifest, "the manifest does not decode: %v", err)
	}
	if err := checkManifest(manifest); err != nil {
		return nil, err
	}
	m = &module{code: code, manifest: manifest}
	ms.mu.Lock()
	ms.byDigest[code.Digest()] = m
	ms.mu.Unlock()
	return m, nil
}

// forgetUnlessStored drops a module from memory unless the store has it: nobody can
// ask for it then.
func (ms *modules) forgetUnlessStored(ctx context.Context, digest string) {
	if _, err := ms.store.Module(ctx, digest); !errors.Is(err, journal.ErrNotFound) {
		return
	}
	ms.mu.Lock()
	delete(ms.byDigest, digest)
	ms.mu.Unlock()
	ms.runtime.Forget(digest)
}

// deployment finds a deployment by name.
func (ms *modules) deployment(ctx context.Context, namespace, name string) (*deployment, error) {
	ms.mu.Lock()
	d := ms.deployments[namespace+"/"+name]
	ms.mu.Unlock()
	if d != nil {
		return d, nil
	}
	if !deploymentName.MatchString(name) {
		// Nobody could have pushed it: the store need not see what it may not even
		// be able to spell.
		return nil, abi.Errorf(abi.CodeDeploymentNotFound, "there is no deployment %.80q", name)
	}
	stored, err := ms.store.Deployment(ctx, namespace, name)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, abi.Errorf(abi.CodeDeploymentNotFound, "there is no deployment %q", name)
	}
	if err != nil {
		return nil, storeError("load deployment "+name, err)
	}
	return ms.remember(*stored)
}

func (ms *modules) remember(stored journal.Deployment) (*deployment, error) {
	policy, err := egress.ParseGrants(stored.AllowHTTP)
	if err != nil {
		return nil, err
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	k := stored.Namespace + "/" + stored.Name
	if d := ms.deployments[k]; d != nil && d.Version > stored.Version {
		return d, nil
	}
	d := &deployment{Deployment: stored, policy: policy}
	ms.deployments[k] = d
	return d, nil
}

// PushRequest uploads a module and points a deployment at it.
type PushRequest struct {
	Namespace string
	Name      string
	Binary    []byte
	Config    map[string]string
	AllowHTTP []string
}

// DeploymentInfo is a deployment with what its module says of itself.
type DeploymentInfo struct {
	journal.Deployment
	Manifest *abi.Manifest
	Imports  []string
}

var (
	deploymentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	itemName       = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)
)

// Push validates, compiles and deploys a module. If anything about it is not
// acceptable nothing is stored.
func (e *Engine) Push(ctx context.Context, req PushRequest) (*DeploymentInfo, error) {
	if err := e.accepting(); err != nil {
		return nil, err
	}
	if !deploymentName.MatchString(req.Name) {
		return nil, abi.Errorf(abi.CodeBadDeployment, "%.80q is no name for a deployment", req.Name)
	}
	if err := checkConfig(req.Config); err != nil {
		return nil, err
	}
	if _, err := egress.ParseGrants(req.AllowHTTP); err != nil {
		return nil, err
	}
	m, err := e.modules.compile(ctx, req.Binary)
	if err != nil {
		return nil, err
	}
	now := e.now().UnixNano()
	stored, err := e.store.Deploy(ctx,
		journal.Module{Digest: m.code.Digest(), Binary: req.Binary, Manifest: abi.MustMarshal(m.manifest), CreatedAt: now},
		journal.Deployment{Namespace: namespaceOf(req.Namespace), Name: req.Name, Digest: m.code.Digest(), Config: req.Config, AllowHTTP: req.AllowHTTP, UpdatedAt: now},
		m.manifest.Migrations)
	if err != nil {
		e.modules.forgetUnlessStored(ctx, m.code.Digest())
		return nil, storeError("deploy "+req.Name, err)
	}
	if _, err := e.modules.remember(stored); err != nil {
		return nil, err
	}
	e.log.Info("deployed", "deployment", stored.Name, "version", stored.Version, "digest", stored.Digest)
	return &DeploymentInfo{Deployment: stored, Manifest: m.manifest, Imports: m.code.Imports()}, nil
}

// Deployments lists the deployments of a namespace.
func (e *Engine) Deployments(ctx context.Context, namespace string) ([]DeploymentInfo, error) {
	all, err := e.store.Deployments(ctx, namespaceOf(namespace))
	if err != nil {
		return nil, storeError("list deployments", err)
	}
	infos := make([]DeploymentInfo, 0, len(all))
	for _, d := range all {
		m, err := e.modules.get(ctx, d.Digest)
		if err != nil {
			return nil, err
		}
		infos = append(infos, DeploymentInfo{Deployment: d, Manifest: m.manifest, Imports: m.code.Imports()})
	}
	return infos, nil
}

// Deployment describes one deployment.
func (e *Engine) Deployment(ctx context.Context, namespace, name string) (*DeploymentInfo, error) {
	d, err := e.modules.deployment(ctx, namespaceOf(namespace), name)
	if err != nil {
		return nil, err
	}
	m, err := e.modules.get(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	return &DeploymentInfo{Deployment: d.Deployment, Manifest: m.manifest, Imports: m.code.Imports()}, nil
}

func checkConfig(config map[string]string) error {
	if len(config) > 1000 {
		return abi.Errorf(abi.CodeBadDeployment, "%d configuration values are too many; 1000 is the limit", len(config))
	}
	for k, v := range config {
		if !itemName.MatchString(k) || len(k) > abi.MaxName {
			return abi.Errorf(abi.CodeBadDeployment, "%.80q is no name for a configuration value", k)
		}
		if len(v) > 64<<10 {
			return abi.Errorf(abi.CodeBadDeployment, "the configuration value %q has %d bytes; 65536 is the limit", k, len(v))
		}
	}
	return nil
}
