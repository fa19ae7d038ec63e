package abi_test

import (
	"math"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
)

// newBodies makes an empty value of every type that crosses the boundary.
func newBodies() []any {
	return []any{
		new(abi.Activity), new(abi.ActivityInfo), new(abi.Answer), new(abi.AttributeInfo), new(abi.Call),
		new(abi.ConfigReply), new(abi.ConfigRequest),
		new(abi.Continue),
		new(abi.Deferred), new(abi.Delivery), new(abi.EntityCall), new(abi.EntityInfo), new(abi.EntityMessage),
		new(abi.Error), new(abi.ExecReply), new(abi.Field),
		new(abi.HTTPAll), new(abi.HTTPAllReply), new(abi.HTTPRequest), new(abi.HTTPResponse), new(abi.HTTPResult),
		new(abi.Header), new(abi.Interrupted), new(abi.Interruption), new(abi.TxRollback),
		new(abi.Invocation), new(abi.Lock), new(abi.Manifest), new(abi.Migration), new(abi.OperationInfo),
		new(abi.OperationReply), new(abi.Operations), new(abi.OperationsReply), new(abi.Outcome), new(abi.Patched),
		new(abi.Poll),
		new(abi.PollReply), new(abi.Progress), new(abi.Publish), new(abi.Published), new(abi.Query), new(abi.QueryInfo),
		new(abi.QueryReply),
		new(abi.Receive), new(abi.Resolve), new(abi.Resume), new(abi.Retry),
		new(abi.Interrupt), new(abi.SQL), new(abi.ScheduleInfo), new(abi.Schema), new(abi.Signal), new(abi.SignalInfo),
		new(abi.Sleep), new(abi.StateInfo),
		new(abi.Unlock), new(abi.Update), new(abi.UpdateInfo), new(abi.UpdateRequest), new(abi.WorkflowInfo),
	}
}

// A sample is one value of the golden vectors.
type sample struct {
	name  string
	value any
}

func bin(v any) []byte { return abi.MustMarshal(v) }

// samples covers every body type, and the corners of every kind of value.
func samples() []sample {
	declined := &abi.Error{
		Code: abi.CodeActivityFailed, Details: bin(map[string]any{"decline_code": "51"}), Hint: "Ask for another card.",
		Message: "card declined", Retryable: false, Type: "card_declined",
	}
	retry := abi.Retry{Backoff: abi.BackoffExponential, Base: int64(time.Second), Jitter: 0.2, Retries: 3}
	order := &abi.Schema{Type: abi.TypeStruct, Fields: []abi.Field{
		{
			Name:     "items",
			Required: true,
			Schema:   &abi.Schema{Type: abi.TypeList, Elem: &abi.Schema{Type: abi.TypeString}},
		},
		{Name: "note", Schema: &abi.Schema{Type: abi.TypeString, Nullable: true}},
		{Name: "total", Required: true, Schema: &abi.Schema{Type: abi.TypeInt, Bits: 64}},
	}}
	at := int64(1_767_225_600_000_000_000) // 2026-01-01T00:00:00Z

	return []sample{
		{"value/nil", nil},
		{"value/true", true},
		{"value/int-0", 0},
		{"value/int-127", 127},
		{"value/int-128", 128},
		{"value/int-65536", 65536},
		{"value/int-max-int64", int64(math.MaxInt64)},
		{"value/int-max-uint64", uint64(math.MaxUint64)},
		{"value/int-minus-1", -1},
		{"value/int-minus-33", -33},
		{"value/int-min-int64", int64(math.MinInt64)},
		{"value/float64-1", 1.0},
		{"value/float64-negative-zero", math.Copysign(0, -1)},
		{"value/float64-nan", math.NaN()},
		{"value/float64-inf", math.Inf(1)},
		{"value/float64-smallest", math.SmallestNonzeroFloat64},
		{"value/float32-0.1", float32(0.1)},
		{"value/string-empty", ""},
		{"value/string-unicode", "Grüße, 世界 🚀 e\u0301"},
		{"value/string-32-bytes", strings.Repeat("x", 32)},
		{"value/bytes-empty", []byte{}},
		{"value/bytes-nil", []byte(nil)},
		{"value/list-empty", []any{}},
		{"value/list-mixed", []any{nil, true, 1, -1, 1.5, "a", []byte{0}, []any{}}},
		{"value/map-empty", map[string]any{}},
		{"value/map-sorted-by-text", map[string]any{"b": 1, "aa": 2, "": 3, "ä": 4, "B": 5}},
		{"value/time-seconds", time.Unix(1_767_225_600, 0).UTC()},
		{"value/time-nanoseconds", time.Unix(1_767_225_600, 123_456_789).UTC()},
		{"value/time-before-1970", time.Unix(-1, 0).UTC()},

		{"Invocation/zero", abi.Invocation{}},
		{"Invocation/workflow", abi.Invocation{
			Body: bin(map[string]any{"order_id": "42"}), Execution: "orders/ProcessOrder/42",
			Kind: abi.InvokeWorkflow, Name: "ProcessOrder", Namespace: "default", Seed: []byte{0, 0xff, 7}, Time: at,
		}},
		{"Invocation/activity", abi.Invocation{
			Attempt:        2,
			Body:           bin([]any{"apple"}),
			Deadline:       at + 60_000_000_000,
			Execution:      "orders/ProcessOrder/42",
			IdempotencyKey: "4f0c",
			Kind:           abi.InvokeActivity,
			Name:           "Payments.Charge",
			Namespace:      "default",
			Time:           at,
		}},
		{
			"Invocation/key",
			abi.Invocation{Body: bin("x"), Kind: abi.InvokeKey, Name: "ProcessOrder", Namespace: "default", Time: at},
		},
		{"Invocation/call", abi.Invocation{
			Body:           bin(abi.EntityCall{Input: bin("en"), Operation: "greet"}),
			Execution:      "shop/Gateway/eu/1",
			IdempotencyKey: "4f0c",
			Kind:           abi.InvokeCall,
			Name:           "Gateway",
			Namespace:      "default",
			Time:           at,
		}},
		{"Invocation/continued", abi.Invocation{
			Body:      bin(7),
			Execution: "orders/Billing/42",
			Kind:      abi.InvokeWorkflow,
			Name:      "Billing",
			Namespace: "default",
			Seed:      []byte{1},
			Time:      at,
			Unread:    []string{"cancelled", "paid"},
		}},
		{"Resume/empty", abi.Resume{Deliveries: []abi.Delivery{}, Time: at}},
		{"Resume/long", abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: bin(7)}}, Entries: 123_456, Time: at}},
		{
			"Resume/two",
			abi.Resume{Deliveries: []abi.Delivery{{Op: 2, Value: bin(7)}, {Error: declined, Op: 3}}, Time: at + 1},
		},
		{"Query/status", abi.Query{Input: bin("long"), Name: "status"}},
		{"Query/update", abi.Query{Input: bin("Ada"), Name: "rename", Update: true}},
		{"Delivery/nil-value", abi.Delivery{Op: 1, Value: abi.Nil}},
		{"Delivery/largest-op", abi.Delivery{Op: math.MaxUint32, Value: abi.Nil}},
		{"Outcome/value", abi.Outcome{Value: bin("ok")}},
		{"Outcome/error", abi.Outcome{Error: declined}},
		{"Outcome/continue", abi.Outcome{Continue: &abi.Continue{Input: bin(7)}}},
		{"Continue/unread", abi.Continue{Input: abi.Nil, Unread: []string{"paid"}}},
		{"Error/zero", abi.Error{}},
		{"Error/full", *declined},
		{"Error/empty-details", abi.Error{Code: abi.CodeInterrupted, Details: []byte{}, Message: "gestoppt: größer"}},

		{"Sleep/hour", abi.Sleep{Duration: int64(time.Hour), Name: "cooling off"}},
		{"Sleep/negative", abi.Sleep{Duration: -1}},
		{"Retry/zero", abi.Retry{}},
		{"Retry/constant", abi.Retry{Backoff: abi.BackoffConstant, Base: 1, Jitter: 1, Retries: math.MaxUint32}},
		{
			"Activity/full",
			abi.Activity{
				Input: bin([]any{1}), Key: "order-42", Name: "reserve", Retry: retry, Timeout: int64(30 * time.Second),
			},
		},
		{"Activity/no-key", abi.Activity{Input: abi.Nil, Name: "reserve"}},
		{"Deferred/approved", abi.Deferred{Name: "approved"}},
		{"Resolve/value", abi.Resolve{Name: "approved", Value: bin(true)}},
		{
			"Resolve/reject-elsewhere",
			abi.Resolve{Error: declined, Execution: "orders/ProcessOrder/41", Name: "approved"},
		},
		{"Call/derived", abi.Call{Input: bin("x"), Workflow: "NotifyCustomer"}},
		{"Call/raw-key", abi.Call{Input: abi.Nil, Key: "42", KeyMode: abi.KeyRaw, Workflow: "mail/Send"}},
		{"Call/hashed-key", abi.Call{Input: abi.Nil, Key: "42", KeyMode: abi.KeyHashed, Workflow: "mail/Send"}},
		{"Patched/fraud-check", abi.Patched{ID: "fraud-check"}},
		{"Receive/paid", abi.Receive{Name: "paid"}},
		{"Call/cancel", abi.Call{Input: abi.Nil, OnCancel: abi.OnCancelCancel, Workflow: "Ship"}},
		{"Interrupt/reason", abi.Interrupt{Execution: "orders/ProcessOrder/41", Reason: "größer"}},
		{"Signal/paid", abi.Signal{Execution: "orders/ProcessOrder/41", Name: "paid", Value: bin(300)}},
		{"Poll/other", abi.Poll{Execution: "orders/ProcessOrder/41"}},
		{"PollReply/running", abi.PollReply{State: "running"}},
		{"PollReply/completed", abi.PollReply{Outcome: &abi.Outcome{Value: bin(1)}, State: "completed"}},
		{
			"EntityMessage/other-deployment",
			abi.EntityMessage{Entity: "bank/Account/ada", Input: bin(300), Operation: "deposit"},
		},
		{"Lock/two", abi.Lock{Entities: []string{"Account/ada", "bank/Account/bob"}}},
		{"Unlock/body", abi.Unlock{}},
		{"Update/body", abi.Update{}},
		{"UpdateRequest/rename", abi.UpdateRequest{ID: "00ff", Input: bin("Ada"), Name: "rename"}},
		{"Answer/value", abi.Answer{ID: "00ff", Value: bin("Ada")}},
		{"Answer/error", abi.Answer{Error: declined, ID: "00ff"}},
		{"Publish/empty", abi.Publish{}},
		{"Publish/full", abi.Publish{
			Attributes: []abi.Published{{Name: "amount", Value: bin(12.5)}, {Name: "customer", Value: bin("ada")}},
			Progress:   &abi.Progress{Done: 3, Note: "packing", Total: 7}, State: []abi.Published{{Name: "stage"}},
		}},
		{"Published/value", abi.Published{Name: "stage", Value: bin("packing")}},
		{"Published/cleared", abi.Published{Name: "stage"}},
		{"Progress/unknown-total", abi.Progress{Done: math.MaxUint64}},
		{"EntityCall/deposit", abi.EntityCall{Input: bin(300), Operation: "deposit"}},
		{
			"Operations/first",
			abi.Operations{
				Operations: []abi.EntityCall{
					{Input: bin(300), Operation: "deposit"}, {Input: abi.Nil, Operation: "close"},
				},
			},
		},
		{"Operations/later", abi.Operations{
			Operations: []abi.EntityCall{{Input: bin(300), Operation: "deposit"}},
			State:      bin(map[string]any{"cents": 200}),
			Version:    2,
		}},
		{"OperationReply/value", abi.OperationReply{
			Sent:    []abi.EntityMessage{{Entity: "bank/Branch/berlin", Input: bin(300), Operation: "noted"}},
			Started: []abi.Call{{Input: bin("ada"), Key: "ada", KeyMode: abi.KeyRaw, Workflow: "Audit"}},
			Value:   bin(500),
		}},
		{"OperationReply/error", abi.OperationReply{Error: declined}},
		{"OperationsReply/two", abi.OperationsReply{
			Replies: []abi.OperationReply{{Value: bin(500)}, {Error: declined}},
			State:   bin(map[string]any{"cents": 500}),
			Version: 2,
		}},
		{"OperationsReply/destroyed", abi.OperationsReply{Replies: []abi.OperationReply{{Value: abi.Nil}}}},
		{"Interrupted/body", abi.Interrupted{}},
		{"TxRollback/body", abi.TxRollback{}},
		{"Interruption/reason", abi.Interruption{Reason: "out of stock"}},

		{
			"SQL/args",
			abi.SQL{
				Args:  bin([]any{"42", 1, nil, 1.5, []byte{1}, true}),
				Query: "INSERT INTO orders VALUES ($1, $2, $3, $4, $5, $6)",
			},
		},
		{"SQL/no-args", abi.SQL{Args: bin([]any{}), Query: "SELECT 1"}},
		{"ExecReply/one", abi.ExecReply{RowsAffected: 1}},
		{
			"QueryReply/rows",
			abi.QueryReply{Columns: []string{"id", "at"}, Rows: [][]any{{int64(1), time.Unix(1, 0).UTC()}, {nil, nil}}},
		},
		{"QueryReply/none", abi.QueryReply{Columns: []string{"id"}, Rows: [][]any{}}},
		{"Header/one", abi.Header{Name: "Content-Type", Value: "application/json"}},
		{"HTTPRequest/post", abi.HTTPRequest{
			Body: []byte(`{"amount":300}`), Headers: []abi.Header{{Name: "Content-Type", Value: "application/json"}},
			Method: "POST", Timeout: int64(5 * time.Second), URL: "https://payments.example.com/charges",
		}},
		{"HTTPResponse/no-content", abi.HTTPResponse{Headers: []abi.Header{}, Status: 204}},
		{"HTTPAll/two", abi.HTTPAll{Requests: abi.HTTPRequests{
			{Headers: []abi.Header{}, Method: "GET", URL: "https://one.example.com"},
			{
				Body:    []byte("x"),
				Headers: []abi.Header{{Name: "A", Value: "b"}},
				Method:  "PUT",
				Timeout: 1,
				URL:     "https://two.example.com",
			},
		}}},
		{
			"HTTPResult/response",
			abi.HTTPResult{Response: &abi.HTTPResponse{Body: []byte("x"), Headers: []abi.Header{}, Status: 200}},
		},
		{"HTTPResult/error", abi.HTTPResult{Error: abi.Errorf(abi.CodeHTTPFailed, "no answer")}},
		{"HTTPAllReply/both", abi.HTTPAllReply{Results: []abi.HTTPResult{
			{Response: &abi.HTTPResponse{Headers: []abi.Header{}, Status: 204}},
			{Error: abi.Errorf(abi.CodeHTTPFailed, "no answer")},
		}}},
		{"ConfigRequest/name", abi.ConfigRequest{Name: "payments_url"}},
		{"ConfigReply/missing", abi.ConfigReply{}},
		{"ConfigReply/found", abi.ConfigReply{Found: true, Value: "https://payments.example.com"}},

		{"Schema/any", abi.Schema{Type: abi.TypeAny}},
		{"Schema/struct", *order},
		{"Schema/map", abi.Schema{Type: abi.TypeMap, Elem: &abi.Schema{Type: abi.TypeFloat, Bits: 32}}},
		{"Field/optional", abi.Field{Name: "note", Schema: &abi.Schema{Type: abi.TypeTime}}},
		{
			"WorkflowInfo/order",
			abi.WorkflowInfo{Input: order, Key: abi.KeyFromFunctionRaw, Name: "ProcessOrder", Output: nil},
		},
		{
			"WorkflowInfo/signals",
			abi.WorkflowInfo{Key: abi.KeyFromRequest, Name: "ProcessOrder", Signals: []abi.SignalInfo{
				{Name: "cancelled"}, {Name: "paid", Value: &abi.Schema{Type: abi.TypeInt, Bits: 64}},
			}},
		},
		{
			"WorkflowInfo/deferreds",
			abi.WorkflowInfo{Key: abi.KeyFromRequest, Name: "ProcessOrder", Deferreds: []abi.DeferredInfo{
				{Dynamic: true, Name: "approve-", Value: &abi.Schema{Type: abi.TypeBool}}, {Name: "paid"},
			}},
		},
		{
			"WorkflowInfo/no-deferreds",
			abi.WorkflowInfo{Key: abi.KeyFromRequest, Name: "ProcessOrder", Deferreds: []abi.DeferredInfo{}},
		},
		{"WorkflowInfo/messages", abi.WorkflowInfo{
			Attributes: []abi.AttributeInfo{{Name: "customer", Type: abi.AttributeText}},
			Key:        abi.KeyFromRequest,
			Name:       "ProcessOrder",
			State:      []abi.StateInfo{{Name: "stage"}},
			Updates:    []abi.UpdateInfo{{Name: "rename", Validated: true}},
		}},
		{"AttributeInfo/since", abi.AttributeInfo{Name: "since", Type: abi.AttributeTime}},
		{"StateInfo/order", abi.StateInfo{Name: "order", Value: order}},
		{
			"UpdateInfo/rename",
			abi.UpdateInfo{Input: &abi.Schema{Type: abi.TypeString}, Name: "rename", Output: order, Validated: true},
		},
		{"ScheduleInfo/nightly", abi.ScheduleInfo{
			CatchUp:  int64(time.Hour),
			Cron:     "0 3 * * *",
			Input:    bin(map[string]any{}),
			Jitter:   int64(time.Minute),
			Name:     "nightly",
			Overlap:  "queue",
			Workflow: "Billing",
			Zone:     "Europe/Zurich",
		}},
		{"ScheduleInfo/always", abi.ScheduleInfo{Always: true, Name: "sweeper", Workflow: "Sweep"}},
		{"ScheduleInfo/every", abi.ScheduleInfo{Every: int64(time.Minute), Name: "beat", Workflow: "Beat"}},
		{"QueryInfo/status", abi.QueryInfo{Name: "status", Output: order}},
		{"DeferredInfo/dynamic", abi.DeferredInfo{Dynamic: true, Name: "approve-", Value: order}},
		{"SignalInfo/paid", abi.SignalInfo{Name: "paid", Value: order}},
		{
			"OperationInfo/read-only",
			abi.OperationInfo{Name: "balance", Output: &abi.Schema{Type: abi.TypeInt, Bits: 64}, ReadOnly: true},
		},
		{"OperationInfo/persisted", abi.OperationInfo{Input: order, Name: "submit", Persisted: true}},
		{"EntityInfo/state", abi.EntityInfo{
			Concurrency: 4, IdleTime: int64(time.Minute), Mailbox: 50, Name: "Account",
			Operations: []abi.OperationInfo{
				{Name: "balance", ReadOnly: true}, {Input: &abi.Schema{Type: abi.TypeInt, Bits: 64}, Name: "deposit"},
			},
			ShardGroup: "ledger", State: order, StateVersion: 2,
		}},
		{"EntityInfo/no-state", abi.EntityInfo{Name: "Gateway", Operations: []abi.OperationInfo{{Name: "greet"}}}},
		{"ActivityInfo/reserve", abi.ActivityInfo{Name: "reserve", Retry: retry, Timeout: int64(time.Minute)}},
		{
			"Migration/first",
			abi.Migration{Name: "orders", SQL: "CREATE TABLE orders (id TEXT PRIMARY KEY)", Version: 1},
		},
		{"Manifest/empty", abi.Manifest{SDK: "go/0.1.0"}},
		{
			"Manifest/entities",
			abi.Manifest{
				Entities: []abi.EntityInfo{{Name: "Gateway", Operations: []abi.OperationInfo{{Name: "greet"}}}},
				SDK:      "go/0.1.0",
			},
		},
		{"Manifest/orders", abi.Manifest{
			Activities: []abi.ActivityInfo{{Name: "reserve"}},
			Migrations: []abi.Migration{{Dialect: abi.DialectSQLite, Name: "orders", SQL: "SELECT 1", Version: 1}},
			SDK:        "go/0.1.0",
			Workflows:  []abi.WorkflowInfo{{Input: order, Key: abi.KeyFromRequest, Name: "ProcessOrder"}},
		}},
	}
}
