package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSDKPathsStayAsGiven(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	top := filepath.Join("..", "..", "..", "..") // the source of this test
	found, err := findSDK(top, filepath.Join(here, "p"), "go")
	require.NoError(t, err)
	require.Equal(t, "../../../../..", found)
	require.Equal(t, "../../../../../abi", (&Project{SDK: found}).GoReplacement("abi"))
	require.Equal(t, "./sdk/guest-sdk/go", (&Project{SDK: "sdk"}).GoReplacement("guest-sdk/go"))

	for _, bad := range []string{t.TempDir(), "/nowhere", "a\nb", `a"b`, "a`b"} {
		_, err := findSDK(bad, here, "go")
		require.True(t, isMistake(err), "%q", bad)
	}
}

// Projects ask for the versions of the SDKs in this tree.
func TestProjectVersionsAreThoseOfTheSDKs(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"go.mod":              `(?m)^go ` + regexp.QuoteMeta(sdkGo) + `$`,
		"guest-sdk/go/go.mod": `(?m)^go ` + regexp.QuoteMeta(sdkGo) + `$`,
		"abi/go.mod":          `(?m)^go ` + regexp.QuoteMeta(sdkGo) + `$`,
		"Cargo.toml":          `(?m)^version = "` + regexp.QuoteMeta(unreleasedSDK) + `"$`,
	} {
		require.Regexp(t, pattern, read(t, "..", "..", "..", "..", file))
	}
}

func TestSDKVersions(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]string{
		"":                 unreleasedSDK,
		"v1.2.3":           "1.2.3",
		"v1.2.3-4-gabcdef": unreleasedSDK,
		"(devel)":          unreleasedSDK,
	} {
		require.Equal(t, want, sdkVersion(release), release)
	}
}
