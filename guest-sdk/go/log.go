package cruster

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
)

// logHandler writes slog records as one line of text: the message, then
// key=value for each attribute. The host adds time and execution.
type logHandler struct {
	to     recorder
	prefix string // put in front of attribute keys, from WithGroup
	attrs  string // already rendered, from WithAttrs
}

// recorder takes log records.
type recorder interface {
	Log(level int32, text string)
}

var _ slog.Handler = (*logHandler)(nil)

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, h.prefix, a)
		return true
	})
	h.to.Log(int32(r.Level), b.String())
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&b, h.prefix, a)
	}
	return &logHandler{to: h.to, prefix: h.prefix, attrs: b.String()}
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &logHandler{to: h.to, prefix: h.prefix + name + ".", attrs: h.attrs}
}

func writeAttr(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if a.Equal(slog.Attr{}) {
		return
	}
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, g := range v.Group() {
			writeAttr(b, prefix, g)
		}
		return
	}
	b.WriteByte(' ')
	b.WriteString(prefix)
	b.WriteString(a.Key)
	b.WriteByte('=')
	text := v.String()
	if text == "" || strings.ContainsAny(text, " \t\r\n\"=") {
		text = strconv.Quote(text)
	}
	b.WriteString(text)
}
