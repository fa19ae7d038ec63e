package catalog

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"golang.org/x/sync/singleflight"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/egress"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Store is the part of a store that the catalog uses: see [journal.Store].
type Store interface {
	Deploy(
		ctx context.Context, m journal.Module, d journal.Deployment, migrations []abi.Migration,
	) (journal.Deployment, error)
	Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error)
	Deployments(ctx context.Context, namespace string) ([]journal.Deployment, error)
	Module(ctx context.Context, digest string) (*journal.Module, error)
	Digests(ctx context.Context, prefix string, limit int) ([]string, error)
}

// Module is a compiled module with its manifest.
type Module struct {
	Code     *wasm.Module
	Manifest *abi.Manifest

	// recalled says that the manifest is the one in the store: see recall.
	recalled bool
}

// Deployment is a deployment with its HTTP grants parsed.
type Deployment struct {
	journal.Deployment
	Policy *egress.Policy
}

// Catalog finds compiled modules by digest and deployments by name.
type Catalog struct {
	// DefaultNamespace is the namespace of messages that name none.
	DefaultNamespace string
	// Fault, if set, is told of the points that a push passes.
	Fault faultpoint.Injector
	// Memory, if set, is the budget of compilations.
	Memory *budget.Budget
	// Shared says that others use the runtime too: modules they may use are not dropped from its
	// memory.
	Shared bool

	runtime *wasm.Runtime
	store   Store
	loading singleflight.Group

	mu           sync.Mutex
	byDigest     map[string]*Module      // guarded by mu
	descriptions map[string]*description // guarded by mu; by digest, of modules that were not compiled when asked for
	deployments  map[string]*Deployment  // guarded by mu; key "namespace/name"
	forgotten    uint64                  // counts invalidations of deployments; guarded by mu
}

// New makes a catalog with empty caches.
func New(runtime *wasm.Runtime, store Store) *Catalog {
	return &Catalog{
		runtime:      runtime,
		store:        store,
		byDigest:     map[string]*Module{},
		descriptions: map[string]*description{},
		deployments:  map[string]*Deployment{},
	}
}

// Module returns the module with the digest, compiled.
func (c *Catalog) Module(ctx context.Context, digest string) (*Module, error) {
	if m := c.cached(digest); m != nil {
		return m, nil
	}
	v, err, _ := c.loading.Do(digest, func() (any, error) {
		// The first of several callers must not take the others down with its own deadline.
		ctx := context.WithoutCancel(ctx)
		stored, err := c.stored(ctx, digest)
		if err != nil {
			return nil, err
		}
		// Not for a module that is compiled: to compute the digest of a large binary takes longer than all else then.
		if !c.runtime.IsCompiled(digest) {
			if actual := wasm.Digest(stored.Binary); actual != digest {
				return nil, abi.Errorf(
					abi.CodeHostFault, "what is stored as the module %.12s is damaged: its digest is %.12s", digest,
					actual,
				).
					WithHint(
						"Push the same file again: it takes the place of what is stored. Then resume the execution.",
					)
			}
		}
		m, err := c.compile(ctx, digest, stored.Binary)
		if err != nil {
			return c.recall(ctx, stored, err)
		}
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*Module), nil
}

// stored is the module with the digest as the store has it.
func (c *Catalog) stored(ctx context.Context, digest string) (*journal.Module, error) {
	stored, err := c.store.Module(ctx, digest)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, abi.Errorf(abi.CodeModuleNotFound, "module %.12s is not in the store", digest)
	}
	if err != nil {
		return nil, journal.Coded("load module "+digest, err)
	}
	return stored, nil
}

// digestDigits is how many digits a whole digest has.
const digestDigits = 64

// Digest completes a digest prefix to the digest of the only stored module with it. A whole digest
// is taken as it is.
func (c *Catalog) Digest(ctx context.Context, prefix string) (string, error) {
	if len(prefix) >= digestDigits {
		return prefix, nil
	}
	found, err := c.store.Digests(ctx, prefix, 2)
	switch {
	case err != nil:
		return "", journal.Coded("find module "+prefix, err)
	case len(found) == 0:
		return "", NoModule(prefix)
	case len(found) > 1:
		return "", abi.Errorf(abi.CodeBadRequest, "the digests of several modules begin with %.64q", prefix).
			WithHint("Write more digits of the digest; '-o json' shows it whole.")
	default:
		return found[0], nil
	}
}

// NoModule is the error of a digest, or a beginning of one, that no module has.
func NoModule(digest string) error {
	return abi.Errorf(abi.CodeModuleNotFound, "there is no module %.64q", digest).
		WithHint("'cruster-host module list' shows the digests of deployments, and 'cruster-host workflow describe' " +
			"that of an execution.")
}

// recall takes the manifest of a module that does not describe itself any more, for the reason err, from the store. It
// may need more memory for that than this host allows by now; executions that run on it have the limit of their start,
// and go on.
func (c *Catalog) recall(ctx context.Context, stored *journal.Module, err error) (*Module, error) {
	var trap *wasm.Trap
	manifest := &abi.Manifest{}
	if !errors.As(err, &trap) || abi.DecodeBody(stored.Manifest, manifest) != nil || checkManifest(manifest) != nil {
		return nil, err
	}
	release, err := c.admit(ctx, stored.Binary)
	if err != nil {
		return nil, err
	}
	defer release()
	code, err := c.runtime.CompileAs(ctx, stored.Digest, stored.Binary)
	if err != nil {
		return nil, err
	}
	m := &Module{Code: code, Manifest: manifest, recalled: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byDigest[code.Digest()] = m
	delete(c.descriptions, code.Digest())
	return m, nil
}

func (c *Catalog) cached(digest string) *Module {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byDigest[digest]
}

// compile validates, compiles and describes a binary, once for all callers that ask at the same time. A refused
// binary is not kept in memory.
func (c *Catalog) compile(ctx context.Context, digest string, binary []byte) (*Module, error) {
	compiled := c.loading.DoChan("compile "+digest, func() (any, error) {
		if m := c.cached(digest); m != nil && !m.recalled {
			return m, nil
		}
		release, err := c.admit(context.WithoutCancel(ctx), binary)
		if err != nil {
			return nil, err
		}
		defer release()
		m, err := c.describe(context.WithoutCancel(ctx), digest, binary)
		if err != nil && c.cached(digest) == nil {
			c.forget(digest)
		}
		return m, err
	})
	select {
	case res := <-compiled:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*Module), nil
	case <-ctx.Done():
		return nil, journal.Coded("compile the module", ctx.Err())
	}
}

func (c *Catalog) describe(ctx context.Context, digest string, binary []byte) (*Module, error) {
	code, err := c.runtime.CompileAs(ctx, digest, binary)
	if err != nil {
		return nil, err
	}
	if m := c.cached(code.Digest()); m != nil && !m.recalled {
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
	m := &Module{Code: code, Manifest: manifest}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byDigest[code.Digest()] = m
	delete(c.descriptions, code.Digest())
	return m, nil
}

// Borrow compiles a binary that need not be deployed, but could be. Release drops it from memory again, unless the
// store has it.
func (c *Catalog) Borrow(ctx context.Context, binary []byte) (m *Module, release func(), err error) {
	if err := c.accept(binary); err != nil {
		return nil, nil, err
	}
	m, err = c.compile(ctx, wasm.Digest(binary), binary)
	if err != nil {
		return nil, nil, err
	}
	return m, func() { c.forgetUnlessStored(context.WithoutCancel(ctx), m.Code.Digest()) }, nil
}

// forgetUnlessStored drops a module from memory unless the store has it: no deployment can name it then.
func (c *Catalog) forgetUnlessStored(ctx context.Context, digest string) {
	if _, err := c.store.Module(ctx, digest); !errors.Is(err, journal.ErrNotFound) {
		return
	}
	c.mu.Lock()
	delete(c.byDigest, digest)
	c.mu.Unlock()
	c.forget(digest)
}

func (c *Catalog) forget(digest string) {
	if !c.Shared {
		c.runtime.Forget(digest)
	}
}

var deploymentName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

// Deployment finds a deployment by name.
func (c *Catalog) Deployment(ctx context.Context, namespace, name string) (*Deployment, error) {
	c.mu.Lock()
	d, forgotten := c.deployments[namespace+"/"+name], c.forgotten
	c.mu.Unlock()
	if d != nil {
		return d, nil
	}
	if !deploymentName.MatchString(name) {
		// It cannot have been pushed. The store need not see a name that it may not even be able to
		// spell.
		return nil, c.noDeployment(ctx, namespace, name)
	}
	stored, err := c.store.Deployment(ctx, namespace, name)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, c.noDeployment(ctx, namespace, name)
	}
	if err != nil {
		return nil, journal.Coded("load deployment "+name, err)
	}
	return c.remember(*stored, forgotten)
}

// noDeployment says that there is no deployment of that name, where, and which one was probably meant.
func (c *Catalog) noDeployment(ctx context.Context, namespace, name string) error {
	where := ""
	if namespace != c.DefaultNamespace {
		where = fmt.Sprintf(" in namespace %.80q", namespace)
	}
	var names []string
	// Without the names there is nothing to suggest; the answer is the same.
	all, err := c.store.Deployments(ctx, namespace)
	if where != "" && err == nil && len(all) == 0 {
		where += ": nothing is deployed there" // namespaces are tenants: a mistyped one is not told of the others
	}
	for i := range all {
		names = append(names, all[i].Name)
	}
	return abi.Errorf(
		abi.CodeDeploymentNotFound, "there is no deployment %.80q%s%s", name, where, abi.DidYouMean(name, names),
	)
}

// ForgetDeployments drops all deployments from memory: each is read again when it is needed. Reads
// in flight are not kept.
func (c *Catalog) ForgetDeployments() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.deployments)
	c.forgotten++
}

// remember caches a deployment, unless a later version is cached already, or deployments read at
// that time are forgotten by now.
func (c *Catalog) remember(stored journal.Deployment, forgotten uint64) (*Deployment, error) {
	policy, err := egress.ParseGrants(stored.AllowHTTP)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := stored.Namespace + "/" + stored.Name
	if d := c.deployments[key]; d != nil && d.Version > stored.Version {
		return d, nil
	}
	d := &Deployment{Deployment: stored, Policy: policy}
	if c.forgotten == forgotten {
		c.deployments[key] = d
	}
	return d, nil
}
