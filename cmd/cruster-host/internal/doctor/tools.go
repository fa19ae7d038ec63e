package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

const (
	// leastGo and leastRust are the minimum versions of the SDKs.
	leastGo   = "1.26.0"
	leastRust = "1.85.0"

	target      = "wasm32-wasip1"
	installRust = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- --target " + target
)

func installGo() string {
	return fmt.Sprintf(
		"curl -fsSL https://go.dev/dl/go%s.%s-%s.tar.gz | sudo tar -C /usr/local -xz && export "+
			"PATH=/usr/local/go/bin:$PATH",
		leastGo, runtime.GOOS, runtime.GOARCH,
	)
}

func examineGo(ctx context.Context) Finding {
	return judgeGo(ask(ctx, "go", "env", "GOVERSION"))
}

// judgeGo makes a finding of the output of `go env GOVERSION`.
func judgeGo(text string, missing bool, err error) Finding {
	f := Finding{What: "Go", Status: Problem, Fix: installGo()}
	switch {
	case missing:
		f.Text = "not installed, or not in PATH: modules in Go cannot be built"
	case err != nil:
		f.Text = "go env fails: " + err.Error()
	case !atLeast(text, leastGo):
		f.Text = fmt.Sprintf("%s is older than %s, which the SDK asks for", text, leastGo)
	default:
		return Finding{What: "Go", Status: OK, Text: text}
	}
	return f
}

func examineRust(ctx context.Context) []Finding {
	compiler := judgeRust(ask(ctx, "rustc", "--version"))
	if _, missing, _ := ask(ctx, "cargo", "--version"); missing && compiler.Status == OK {
		compiler = Finding{What: "Rust", Status: Problem, Text: "rustc is there, and cargo is not", Fix: installRust}
	}
	if compiler.Status != OK {
		return []Finding{compiler}
	}
	sysroot, _, err := ask(ctx, "rustc", "--print", "sysroot")
	var found []string
	if err == nil {
		found, err = filepath.Glob(filepath.Join(sysroot, "lib", "rustlib", target, "lib", "libstd-*.rlib"))
	}
	_, noRustup, _ := ask(ctx, "rustup", "--version")
	return []Finding{compiler, judgeTarget(err == nil && len(found) > 0, noRustup)}
}

// judgeRust makes a finding of the output of `rustc --version`.
func judgeRust(text string, missing bool, err error) Finding {
	f := Finding{What: "Rust", Status: Problem, Fix: "rustup update stable"}
	switch {
	case missing:
		f.Text, f.Fix = "not installed, or not in PATH: modules in Rust cannot be built", installRust
	case err != nil:
		f.Text = "rustc fails: " + err.Error()
	case !atLeast(text, leastRust):
		f.Text = fmt.Sprintf("%s is older than %s, which the SDK asks for", text, leastRust)
	default:
		return Finding{What: "Rust", Status: OK, Text: text}
	}
	return f
}

// judgeTarget makes a finding of whether Rust has the standard library for modules.
func judgeTarget(there, noRustup bool) Finding {
	f := Finding{
		What:   "Rust target",
		Status: Problem,
		Text:   "Rust cannot build for " + target,
		Fix:    "rustup target add " + target,
	}
	switch {
	case there:
		return Finding{What: "Rust target", Status: OK, Text: target}
	case noRustup:
		f.Fix = installRust
	}
	return f
}

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)(?:\.(\d+))?`)

// atLeast tells whether the version in a text is the least one or a newer one. A text without a version, as of a
// compiler that was built from source, is new enough.
func atLeast(text, least string) bool {
	has, wants := versionNumber.FindStringSubmatch(text), strings.Split(least, ".")
	if has == nil {
		return true
	}
	for i, want := range wants {
		h, _ := strconv.Atoi(has[i+1]) // a part that is missing is 0
		w, _ := strconv.Atoi(want)
		if h != w {
			return h > w
		}
	}
	return true
}
