package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

const (
	// unreleasedSDK is the version of the SDKs while there is no release.
	unreleasedSDK = "0.1.0"
	// sdkGo is the version of Go that the SDK asks for.
	sdkGo = "1.26.0"
)

var releaseVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)

// sdkVersion is the version of the SDKs that were released with a binary; release is the version of the binary, empty
// if it is no release.
func sdkVersion(release string) string {
	if releaseVersion.MatchString(release) {
		return strings.TrimPrefix(release, "v")
	}
	return unreleasedSDK
}

// sdkFile is a file that a clone has if it has the SDK of a language.
var sdkFile = map[string]string{"go": "guest-sdk/go/go.mod", "rust": "guest-sdk/rust/cruster/Cargo.toml"}

// findSDK checks the clone that --sdk names, and returns its path as the project has to write it: as absolute or
// relative as it was given.
func findSDK(sdk, folder, language string) (string, error) {
	// The path goes into a go.mod, a Cargo.toml and a README: a character special in any of them is
	// refused.
	if strings.ContainsFunc(sdk, func(r rune) bool {
		return r < ' ' || r == 0x7f || strings.ContainsRune("\"\\`'", r)
	}) {
		return "", usage.Inputf(
			"--sdk: a path with quotes, backslashes or control characters cannot be written into a project: %q", sdk,
		)
	}
	at, err := filepath.Abs(sdk)
	if err != nil {
		return "", usage.Inputf("--sdk: %w", err)
	}
	if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(sdkFile[language]))); err != nil {
		return "", usage.Inputf("--sdk: %s is not a clone of Cruster: it has no %s", sdk, sdkFile[language])
	}
	if filepath.IsAbs(sdk) {
		return filepath.ToSlash(at), nil
	}
	relative, err := filepath.Rel(folder, at)
	if err != nil {
		return "", usage.Inputf("--sdk: %w", err)
	}
	return filepath.ToSlash(relative), nil
}
