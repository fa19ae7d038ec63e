package kill9_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

// renewEvery is after how many updates a workflow goes on as a new run, if it does.
const renewEvery = 20

// TestUpdatesAreHandledOnce kills hosts while clients send updates with request ids to one workflow. Their
// handlers call an activity, every second one with SQL, and number the requests. In the end every request
// has one number, which a repeat gets as well, and no number is missing: each was handled once, and
// answered once. CRUSTER_KILLS says how often each host is killed.
func TestUpdatesAreHandledOnce(t *testing.T) {
	t.Parallel()
	seed := harness.Seed(t)
	for language, below := range map[string]string{"go": "", "rust": "/rust"} {
		for name, renew := range map[string]int{"one run": 0, "renewed": renewEvery} {
			t.Run(language+"/sqlite/"+name, func(t *testing.T) {
				t.Parallel()
				streamUpdates(t, seed, below, renew, harness.NewProcess(t, "sqlite:"+t.TempDir()))
			})
			t.Run(language+"/postgres/"+name, func(t *testing.T) {
				t.Parallel()
				streamUpdates(t, seed, below, renew, harness.NewProcess(t, pgtest.DSN(t), "--schema", pgtest.Schema(t)))
			})
		}
	}
}

func streamUpdates(t *testing.T, seed uint64, below string, renew int, p *harness.Process) {
	p.Start()
	c := dial(t, p)
	_, err := c.Push(t.Context(), client.PushRequest{
		Name: "tickets", Binary: harness.Module(t, "tests/guests/tickets"+below),
	})
	require.NoError(t, err)
	run, err := client.Workflow[object, int64](c, "tickets/Tickets").Start(t.Context(), object{
		"last": 0, "name": "w", "renew": renew,
	})
	require.NoError(t, err)

	s := startStream(t, p, run.Execution())
	moments := harness.Random(t, seed, "kills")
	for range killsOr(t, 5) {
		s.awaitAnswers()
		time.Sleep(time.Duration(moments.IntN(40)) * time.Millisecond) // a random moment
		p.Kill()
		p.Start()
	}
	s.stop()

	require.Empty(t, s.failures)
	withSQL, numbers := 0, []int64{}
	for _, d := range s.drawn {
		again, err := d.call(t.Context(), c, run.Execution())
		require.NoError(t, err)
		require.Equal(t, d.number, again, "%s is repeated", d.id)
		numbers = append(numbers, d.number)
		withSQL += map[bool]int{true: 1}[d.sql]
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		require.EqualValues(t, i+1, number, "a request was handled twice, or two have one number")
	}
	last, there, err := client.Published[int64]("last").Of(t.Context(), c, run.Execution())
	require.NoError(t, err)
	require.True(t, there)
	require.EqualValues(t, len(s.drawn), last)
	noted, err := client.Workflow[string, []int64](c, "tickets/Noted").Execute(t.Context(), "at the end")
	require.NoError(t, err)
	require.Equal(t, []int64{int64(withSQL), int64(withSQL)}, noted, "rows and requests")
	t.Logf("%d requests, %d with SQL", len(s.drawn), withSQL)
}

// killsOr is how often a host is killed.
func killsOr(t *testing.T, otherwise int) int {
	text := os.Getenv("CRUSTER_KILLS")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "CRUSTER_KILLS")
	return n
}

// draw is an update, with its answer.
type draw struct {
	id     string
	sql    bool
	number int64
}

func (d *draw) call(ctx context.Context, c *client.Client, execution string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, harness.Patience)
	defer cancel()
	return client.Update[object, int64]("draw").WithRequestID(d.id).Call(ctx, c, execution, object{
		"id": d.id, "sql": d.sql,
	})
}

// stream is a group of clients that send updates, one after the other.
type stream struct {
	stopped  atomic.Bool
	wait     sync.WaitGroup
	news     []chan struct{} // of each client: receives after an answer
	mu       sync.Mutex
	drawn    []*draw // guarded by mu, like failures
	failures []error
}

func startStream(t *testing.T, p *harness.Process, execution string) *stream {
	s := &stream{}
	for i := range clients {
		c, news := dial(t, p), make(chan struct{}, 1)
		s.news = append(s.news, news)
		s.wait.Go(func() {
			defer close(news)
			for n := 0; !s.stopped.Load(); n++ {
				d := &draw{id: fmt.Sprintf("c%d-%d", i, n), sql: n%2 == 0}
				var err error
				if d.number, err = d.call(context.Background(), c, execution); err != nil {
					s.mu.Lock()
					s.failures = append(s.failures, fmt.Errorf("%s: %w", d.id, err))
					s.mu.Unlock()
					return
				}
				s.mu.Lock()
				s.drawn = append(s.drawn, d)
				s.mu.Unlock()
				select {
				case news <- struct{}{}:
				default:
				}
			}
		})
	}
	return s
}

// awaitAnswers waits until each client was answered an update that it sent after this was called. So no
// activity is under way that an earlier host had begun: three of them in a row would pause the execution.
func (s *stream) awaitAnswers() {
	for _, news := range s.news {
		select { // an answer of before
		case <-news:
		default:
		}
	}
	for range 2 { // the first may be to an update of before
		for _, news := range s.news {
			<-news
		}
	}
}

func (s *stream) stop() {
	s.stopped.Store(true)
	s.wait.Wait()
}
