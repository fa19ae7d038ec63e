//go:build !wasip1

package guest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// In a module the registry is the module's. The binary of a test may have the packages of several,
// with the same names in them, so there the registry also records the registering package, and each
// test names the packages of a module.
var registered struct {
	mu  sync.Mutex
	all []registration // guarded by mu
	own map[string]*Registry
}

// registration is a call of one of the functions that register something.
type registration struct {
	pkg string
	add func(*Registry)
}

// Register adds something for the package that calls the SDK, and returns its path. [Default] keeps
// the first, if two packages register the same.
func Register(add func(*Registry)) (pkg string) {
	pkg = registrant()
	registered.mu.Lock()
	defer registered.mu.Unlock()
	if registered.own == nil {
		registered.own = map[string]*Registry{}
	}
	if registered.own[pkg] == nil {
		registered.own[pkg] = &Registry{}
	}
	add(registered.own[pkg])
	registered.all = append(registered.all, registration{pkg, add})
	_ = try(Default, add)
	return pkg
}

// Packages lists the packages that have registered something.
func Packages() []string {
	registered.mu.Lock()
	defer registered.mu.Unlock()
	return slices.Sorted(maps.Keys(registered.own))
}

// Module holds the definitions registered by some packages. It is an error if two of them have
// registered the same.
func Module(in func(pkg string) bool) (*Registry, error) {
	registered.mu.Lock()
	defer registered.mu.Unlock()
	r := &Registry{}
	for _, one := range registered.all {
		if !in(one.pkg) {
			continue
		}
		if err := try(r, one.add); err != nil {
			return nil, fmt.Errorf("%w, by %s the second time", err, one.pkg)
		}
	}
	return r, nil
}

// try turns the panic of a registration into an error.
func try(r *Registry, add func(*Registry)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	add(r)
	return nil
}

// sdk is the path of the package of the SDK.
var sdk = strings.TrimSuffix(packageOf(callerOf(0)), "/internal/guest")

// registrant returns the package being initialised, or else the SDK's caller.
func registrant() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	caller := ""
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		pkg := packageOf(f.Function)
		if inSDK := pkg == sdk || strings.HasPrefix(pkg, sdk+"/internal/guest"); inSDK &&
			!strings.HasSuffix(f.File, "_test.go") {
			continue
		}
		if caller == "" {
			caller = pkg
		}
		if initialises(f.Function) {
			return pkg
		}
	}
	return caller
}

// initialises tells whether a function initialises its package: "a.b/c.init", and "a.b/c.init.0" of the code.
func initialises(function string) bool {
	return strings.HasSuffix(strings.TrimRight(function, ".0123456789"), ".init")
}

func callerOf(skip int) string {
	pc, _, _, _ := runtime.Caller(skip + 1)
	return runtime.FuncForPC(pc).Name()
}

// packageOf is the package of a function: "a.b/c" of "a.b/c.F[...].func1".
func packageOf(function string) string {
	function, _, _ = strings.Cut(function, "[")
	slash := strings.LastIndex(function, "/") + 1
	name, _, _ := strings.Cut(function[slash:], ".")
	return function[:slash] + strings.ReplaceAll(name, "%2e", ".")
}
