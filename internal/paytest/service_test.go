package paytest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestService(t *testing.T) {
	t.Parallel()
	s := Start(t)
	post := func(path, key, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	charge := `{"order_id": "7", "amount_cents": 300}`
	require.Equal(t, http.StatusOK, post("", "a", charge))
	require.Equal(t, http.StatusOK, post("", "a", charge), "one key, one charge")
	s.Answer(func(Call) int { return http.StatusServiceUnavailable })
	require.Equal(t, http.StatusServiceUnavailable, post("", "b", charge), "the money moves, the answer is lost")
	taken, refunded := s.Balance("7")
	require.Equal(t, [2]int{600, 0}, [2]int{taken, refunded})

	s.Answer(func(Call) int { return http.StatusOK })
	require.Equal(t, http.StatusOK, post("/refunds", "c", `{"order_id": "7"}`))
	require.Equal(t, http.StatusBadRequest, post("/refunds", "", `{"order_id": "7"}`))
	require.Equal(t, http.StatusBadRequest, post("/refunds", "d", `{}`))
	require.Equal(t, http.StatusNotFound, post("/other", "e", `{"order_id": "7"}`))
	taken, refunded = s.Balance("7")
	require.Equal(t, [2]int{600, 600}, [2]int{taken, refunded})
	require.Len(t, s.Calls(), 6)
}
