package abi

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// DecodeOp decodes the body of a durable import and checks it against the rules of the contract. The body comes from a
// guest: nothing in it is trusted. It is returned as a pointer to its type, such as *[Sleep].
//
// The host and the test kit of the Go SDK both call DecodeOp, so they refuse the same bodies.
func DecodeOp(kind string, body []byte) (any, *Error) {
	switch kind {
	case OpSleep:
		return decodeOp(body, func(b *Sleep) *Error { return checkLabel(b.Name) })
	case OpActivity:
		return decodeOp(body, checkActivity)
	case OpDeferred:
		return decodeOp(body, func(b *Deferred) *Error { return CheckName(kind, b.Name) })
	case OpResolve:
		return decodeOp(body, checkResolve)
	case OpCall, OpSend:
		return decodeOp(body, func(b *Call) *Error {
			return firstError(checkReference(b.Workflow), CheckPayload("the input", b.Input), checkOnCancel(b.OnCancel))
		})
	case OpPoll:
		return decodeOp(body, func(b *Poll) *Error { return checkReference(b.Execution) })
	case OpReceive:
		return decodeOp(body, func(b *Receive) *Error { return CheckName(kind, b.Name) })
	case OpSignal:
		return decodeOp(body, func(b *Signal) *Error {
			return firstError(CheckName(kind, b.Name), checkReference(b.Execution), CheckPayload("the value", b.Value))
		})
	case OpEntityCall, OpEntitySend:
		return decodeOp(body, func(b *EntityMessage) *Error {
			return firstError(checkEntity(b.Entity), CheckName(kind, b.Operation), CheckPayload("the input", b.Input))
		})
	case OpLock:
		return decodeOp(body, checkLock)
	case OpUnlock:
		return decodeOp(body, func(*Unlock) *Error { return nil })
	case OpUpdate:
		return decodeOp(body, func(*Update) *Error { return nil })
	case OpAnswer:
		return decodeOp(body, checkAnswer)
	case OpPublish:
		return decodeOp(body, checkPublish)
	case OpPatched:
		return decodeOp(body, func(b *Patched) *Error { return CheckName(kind, b.ID) })
	case OpInterrupt:
		return decodeOp(body, checkInterrupt)
	case OpInterrupted:
		return decodeOp(body, func(*Interrupted) *Error { return nil })
	}
	return nil, Errorf(CodeBadBody, "%q is not a kind of op", kind)
}

func decodeOp[T any](body []byte, check func(*T) *Error) (any, *Error) {
	b := new(T)
	if err := DecodeBody(body, b); err != nil {
		return nil, AsError(err)
	}
	if err := check(b); err != nil {
		return nil, err
	}
	return b, nil
}

func firstError(errs ...*Error) *Error {
	for _, e := range errs {
		if e != nil {
			return e
		}
	}
	return nil
}

func checkActivity(b *Activity) *Error {
	return firstError(
		CheckName(OpActivity, b.Name), checkRetry(b.Retry), CheckPayload("the input", b.Input), checkOpKey(b.Key),
	)
}

func checkOnCancel(policy string) *Error {
	switch policy {
	case "", OnCancelAbandon, OnCancelCancel, OnCancelTerminate:
		return nil
	}
	return Errorf(CodeBadBody, "%.40q does not say what becomes of a workflow that is given up", policy).
		WithHint("Use %q, %q or %q.", OnCancelCancel, OnCancelTerminate, OnCancelAbandon)
}

func checkInterrupt(b *Interrupt) *Error {
	if len(b.Reason) > MaxReason || !utf8.ValidString(b.Reason) {
		return Errorf(CodeBadBody, "the reason %.40q… is longer than %d bytes, or not UTF-8", b.Reason, MaxReason)
	}
	return checkReference(b.Execution)
}

func checkResolve(b *Resolve) *Error {
	if err := firstError(CheckName(OpResolve, b.Name), checkReference(b.Execution)); err != nil || b.Error != nil {
		return err
	}
	return CheckPayload("the value", b.Value)
}

// CheckKey refuses a string that is not a valid idempotency key of a workflow.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey || !utf8.ValidString(key) {
		return Errorf(CodeBadKey, "the key %.40q is empty, longer than %d bytes or not UTF-8", key, MaxKey)
	}
	if strings.ContainsFunc(key, unicode.IsControl) {
		return Errorf(CodeBadKey, "the key %.40q has a control character", key)
	}
	return nil
}

// CheckName refuses an invalid name; kind says the purpose of the name.
func CheckName(kind, name string) *Error {
	if name == "" {
		return Errorf(CodeBadBody, "%s: the name is empty", kind)
	}
	return checkLabel(name)
}

// checkLabel checks a name that may be empty.
func checkLabel(name string) *Error {
	if !isText(name, MaxName) {
		return Errorf(
			CodeBadBody, "the name %.40q is longer than %d bytes, not UTF-8, or has a control character", name, MaxName,
		)
	}
	return nil
}

// maxReference bounds the name of another workflow or execution, in bytes. No real name is that long.
const maxReference = 1024

// checkReference checks the name of another workflow or execution. The journal keeps the name even if it does not
// exist, so its size is bounded here.
func checkReference(name string) *Error {
	if !isText(name, maxReference) {
		return Errorf(
			CodeBadBody,
			"%.40q is not a valid name of a workflow or execution: it is longer than %d bytes, not UTF-8, or has a "+
				"control character",
			name, maxReference,
		)
	}
	return nil
}

// checkEntity checks the form of the name of an entity, as checkReference checks a workflow's.
// [SplitEntity] finds its parts.
func checkEntity(name string) *Error {
	if !isText(name, maxReference) {
		return Errorf(
			CodeBadBody,
			"%.40q is not a valid name of an entity: it is longer than %d bytes, not UTF-8, or has a control character",
			name, maxReference,
		)
	}
	return nil
}

func checkOpKey(key string) *Error {
	if !isText(key, MaxKey) {
		return Errorf(
			CodeBadBody, "the key %.40q… is longer than %d bytes, not UTF-8, or has a control character", key, MaxKey,
		)
	}
	return nil
}

func isText(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// CheckPublishedText checks the text of an attribute or the note of a progress; the argument what names it in
// the error, which has the code.
func CheckPublishedText(code Code, what, text string) *Error {
	switch {
	case len(text) > MaxAttribute:
		return Errorf(code, "%s has %d bytes, the limit is %d", what, len(text), MaxAttribute)
	case !isText(text, MaxAttribute):
		return Errorf(code, "%s is not UTF-8, or has a control character", what)
	}
	return nil
}

// CheckPayload checks that value is at most [MaxPayload] bytes and exactly one msgpack value; the argument what names
// it in the error.
func CheckPayload(what string, value []byte) *Error {
	if len(value) > MaxPayload {
		return Errorf(CodePayloadTooLarge, "%s has %d bytes, the limit is %d", what, len(value), MaxPayload)
	}
	if _, err := Canonical(value); err != nil {
		return Errorf(CodeBadBody, "%s is not one msgpack value: %v", what, err)
	}
	return nil
}

func checkRetry(r Retry) *Error {
	switch {
	case r.Backoff != "" && r.Backoff != BackoffExponential && r.Backoff != BackoffConstant:
		return Errorf(CodeBadBody, "%q is not a backoff strategy", r.Backoff).
			WithHint("Use %q or %q.", BackoffExponential, BackoffConstant)
	case r.Base < 0:
		return Errorf(CodeBadBody, "the base of the backoff is negative")
	case !(r.Jitter >= 0 && r.Jitter <= 1):
		return Errorf(CodeBadBody, "the jitter %v is not between 0 and 1", r.Jitter)
	}
	return nil
}
