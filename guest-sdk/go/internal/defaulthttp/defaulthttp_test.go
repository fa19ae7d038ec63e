package defaulthttp

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New(string(a)) }

// A transport that another package has taken over before stays as it is.
func TestTakenAlready(t *testing.T) {
	t.Parallel()
	get := func(of *http.Transport, url string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		_, err = of.RoundTrip(req) //nolint:bodyclose // there is none
		return err
	}
	free := &http.Transport{}
	takeOver(free, answers("ours"))
	require.EqualError(t, get(free, "http://a/"), "ours")
	require.EqualError(t, get(free, "https://a/"), "ours")

	for _, scheme := range []string{"http", "https"} {
		taken := &http.Transport{}
		taken.RegisterProtocol(scheme, answers("theirs"))
		takeOver(taken, answers("ours"))
		require.EqualError(t, get(taken, scheme+"://a/"), "theirs")
		if scheme == "https" {
			require.Nil(t, taken.Protocols)
		}
	}
}
