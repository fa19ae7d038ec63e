package abi

import "slices"

// UpdateInfo describes an update of a workflow: a request that changes it and is answered.
type UpdateInfo struct {
	Input  *Schema `msgpack:"input"`
	Name   string  `msgpack:"name"`
	Output *Schema `msgpack:"output"`
	// Validated says that the workflow can tell beforehand whether it would refuse one: see [Query.Update].
	Validated bool `msgpack:"validated"`
}

// Update is the body of [OpUpdate]: wait for the next update of the workflow. It is delivered with an [UpdateRequest].
// Each goes to one op, in the order in which they were sent.
type Update struct{}

// UpdateRequest is an update that is to be answered.
type UpdateRequest struct {
	// ID names the update in its [Answer].
	ID    string `msgpack:"id"`
	Input []byte `msgpack:"input"`
	Name  string `msgpack:"name"`
}

// Answer is the body of [OpAnswer]: answer an update. It is delivered with nil once the answer is durable. An id that
// has been answered, or that no update has, is no error.
type Answer struct {
	// Error refuses the update, or says why it failed; nil answers it with Value.
	Error *Error `msgpack:"error"`
	ID    string `msgpack:"id"`
	Value []byte `msgpack:"value"`
}

// Update finds an update that the workflow takes.
func (w *WorkflowInfo) Update(name string) (*UpdateInfo, error) {
	if i := slices.IndexFunc(w.Updates, func(u UpdateInfo) bool { return u.Name == name }); i >= 0 {
		return &w.Updates[i], nil
	}
	names := make([]string, len(w.Updates))
	for i, u := range w.Updates {
		names[i] = u.Name
	}
	return nil, undeclared(CodeUnknownUpdate, w.Name, "update", name, names)
}

// CheckInput checks the input of an update, as [WorkflowInfo.CheckRequest] checks a request.
func (u *UpdateInfo) CheckInput(input []byte) ([]byte, error) {
	return checkValue("the input", u.Input, orAbsent(u.Input, input))
}

func checkAnswer(b *Answer) *Error {
	if err := CheckName(OpAnswer, b.ID); err != nil || b.Error != nil {
		return err
	}
	return CheckPayload("the value", b.Value)
}
