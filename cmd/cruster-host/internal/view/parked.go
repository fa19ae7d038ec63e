package view

import (
	"fmt"
	"io"
	"strconv"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Parked is the JSON of a message that could not be performed.
type Parked struct {
	Entity    string     `json:"entity"`
	Namespace string     `json:"namespace"`
	Position  uint64     `json:"position"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name"`
	Sender    string     `json:"sender,omitempty"`
	SentAt    *time.Time `json:"sent_at,omitempty"`
	ParkedAt  *time.Time `json:"parked_at,omitempty"`
	Attempts  int32      `json:"attempts"`
	Bytes     int64      `json:"bytes"`
	Code      string     `json:"code"`
	Reason    string     `json:"reason"`
	Hint      string     `json:"hint,omitempty"`
}

// ParkedOf is the shape of a parked message.
func ParkedOf(m *crusterv1.ParkedMessage) Parked {
	return Parked{
		Entity:    m.GetEntity(),
		Namespace: m.GetNamespace(),
		Position:  m.GetPosition(),
		Kind:      m.GetKind(),
		Name:      m.GetName(),
		Sender:    m.GetSender(),
		SentAt:    timeOf(m.GetSendTime()),
		ParkedAt:  timeOf(m.GetParkTime()),
		Attempts:  m.GetAttempts(),
		Bytes:     m.GetBytes(),
		Code:      m.GetReason().GetCode(),
		Reason:    m.GetReason().GetMessage(),
		Hint:      m.GetReason().GetHint(),
	}
}

// WriteParked writes a list of parked messages.
func WriteParked(w io.Writer, messages []*crusterv1.ParkedMessage) error {
	var rows [][]string
	for _, m := range messages {
		name := m.GetName()
		if m.GetKind() == "start" {
			name = "start " + name
		}
		rows = append(rows, []string{
			m.GetEntity(), strconv.FormatUint(m.GetPosition(), 10), name, timeText(m.GetParkTime()),
			strconv.Itoa(int(m.GetAttempts())),
			m.GetReason().GetCode() + ": " + m.GetReason().GetMessage(),
		})
	}
	return terminal.Table(w, []string{"ENTITY", "POSITION", "MESSAGE", "PARKED", "ATTEMPTS", "REASON"}, rows)
}

// Unparked is the JSON of the outcome of parked messages.
type Unparked struct {
	Done     string `json:"done"`
	Entity   string `json:"entity"`
	Messages int32  `json:"messages"`
}

// WriteUnparked writes the outcome of parked messages.
func WriteUnparked(w io.Writer, v Unparked) error {
	_, err := fmt.Fprintln(w, terminal.OneLine(fmt.Sprintf("%s: %d of %s", v.Done, v.Messages, v.Entity)))
	return err
}
