package execution

import "github.com/cruster/cruster/host/execution/request"

// Operator has executions do as an operator asks. Their runs perform each request between two turns.
type Operator struct {
	messages *request.Sender
	runs     asker
}
