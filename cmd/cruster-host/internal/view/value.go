package view

import (
	"bytes"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// payloadJSON takes a payload, which was asked for as JSON, as it is.
func payloadJSON(p *crusterv1.Payload) json.RawMessage {
	if p.GetJson() == "" {
		return nil
	}
	return json.RawMessage(p.GetJson())
}

// Pretty indents JSON for people.
func Pretty(raw json.RawMessage) string {
	var buf bytes.Buffer
	if len(raw) == 0 || json.Indent(&buf, raw, "", "  ") != nil {
		return string(raw)
	}
	return buf.String()
}

// timeOf is the form of a time in JSON; nil if there is none.
func timeOf(t *timestamppb.Timestamp) *time.Time {
	if t == nil {
		return nil
	}
	at := t.AsTime()
	return &at
}

// timeText is a time for people; empty if there is none.
func timeText(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02 15:04:05.000Z")
}

func shortDigest(d string) string {
	if len(d) > 12 {
		return d[:12]
	}
	return d
}
