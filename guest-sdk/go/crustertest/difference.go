package crustertest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
)

// difference is the first place at which a replay does something else. Both sides are rendered by
// the same functions, so that a visible difference is a real one.
type difference struct {
	recorded, now string
	// where names the first part of a value that differs, if both sides ask for the same.
	where string
	// moved says that the history has now's op a little later.
	moved bool
}

// context is how many events before the difference are shown.
const context = 3

// differ records the first difference.
func (r *replayer) differ(d difference) {
	if r.problem != nil {
		return
	}
	events := r.history.Events
	if d.recorded == "" {
		d.recorded = renderEnd(r.history.Outcome)
		if r.next < len(events) {
			d.recorded = renderEvent(events[r.next])
		}
	}
	var text strings.Builder
	fmt.Fprintf(
		&text, "%s is not deterministic: the replay differs at event %d (- recorded, + now)\n", r.history.Execution,
		r.next+1,
	)
	for _, e := range events[max(r.next-context, 0):r.next] {
		fmt.Fprintf(&text, "    %s\n", renderEvent(e))
	}
	fmt.Fprintf(&text, "  - %s\n  + %s\n", d.recorded, d.now)
	if d.where != "" {
		fmt.Fprintf(&text, "  they differ in %s\n", d.where)
	}
	r.problem = abi.Errorf(abi.CodeNondeterminism, "%s%s", text.String(), d.advice())
}

// advice returns a hint at the likely cause. In a test the order of a map and the choice of a
// select differ from run to run; on a host they follow the run.
func (d *difference) advice() string {
	if d.moved {
		return "The same comes in another order: does the code range over a map, or select among channels? Sort the " +
			"keys first (slices.Sorted(maps.Keys(m)))."
	}
	return "Look for what differs from run to run: the order of a map, the choice of a select, random numbers that " +
		"are not from cruster.Rand, variables of a package."
}

// differOp records that the workflow asked for something else.
func (r *replayer) differOp(now Event) {
	d := difference{now: renderEvent(now)}
	for i, e := range r.history.Events[min(r.next, len(r.history.Events)):] {
		if e.Type == Delivered {
			break
		}
		same := e.Type == now.Type && e.Kind == now.Kind && e.Name == now.Name
		if i == 0 && same && e.Type == Issued {
			d.where = firstDifference("", bodyOf(e), bodyOf(now))
		}
		if i > 0 && same && sameValue(e.Body, now.Body) {
			d.moved = true
		}
	}
	r.differ(d)
}

// renderEvent renders an event with its request.
func renderEvent(e Event) string {
	text := e.String()
	if e.Type != Issued {
		return text
	}
	body := bodyOf(e)
	if fields, ok := body.(map[string]any); ok {
		// the first is in the name, and the others are long
		for _, known := range []string{"duration", "retry", "timeout"} {
			delete(fields, known)
		}
		if len(fields) == 0 {
			return text
		}
	}
	return text + " " + show(body)
}

// renderEnd is how a run ended.
func renderEnd(o abi.Outcome) string {
	switch {
	case o.Error != nil && o.Error.Code == abi.CodeGuestDeadlock:
		return "waits for good"
	case o.Error != nil:
		return "ended with the error " + o.Error.Error()
	case o.Continue != nil:
		return "continued as new with " + showEncoded(o.Continue.Input)
	}
	return "ended with " + showEncoded(o.Value)
}

// bodyOf returns the request of an op, without its name and without unset fields. Values of the
// application are decoded.
func bodyOf(e Event) any {
	var fields map[string]any
	if abi.Unmarshal(e.Body, &fields) != nil {
		return e.Body
	}
	for name, v := range fields {
		inner, isBytes := v.([]byte)
		switch {
		case isBytes:
			fields[name] = decoded(inner)
		case v == nil, v == "", v == false, fmt.Sprint(v) == e.Name, fmt.Sprint(v) == "0":
			delete(fields, name)
		}
	}
	return fields
}

func decoded(b []byte) any {
	var v any
	if abi.Unmarshal(b, &v) != nil {
		return b
	}
	return v
}

func showEncoded(b []byte) string { return show(decoded(b)) }

// show renders a value for people to read: the same value always alike.
func show(v any) string {
	const most = 400
	text := showWhole(v)
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func showWhole(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, name+": "+showWhole(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = showWhole(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return strconv.Quote(v)
	case []byte:
		return fmt.Sprintf("0x%x", v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// firstDifference names the first part in which two values differ, with the content of each there.
func firstDifference(path string, a, b any) string {
	if one, ok := a.(map[string]any); ok {
		if two, ok := b.(map[string]any); ok {
			return differenceOfMaps(path, one, two)
		}
	}
	if one, ok := a.([]any); ok {
		if two, ok := b.([]any); ok && len(one) == len(two) {
			for i := range one {
				if found := firstDifference(fmt.Sprintf("%s[%d]", path, i), one[i], two[i]); found != "" {
					return found
				}
			}
			return ""
		}
	}
	if showWhole(a) == showWhole(b) {
		return ""
	}
	return fmt.Sprintf("%s: %s recorded, %s now", strings.TrimPrefix(path, "."), show(a), show(b))
}

func differenceOfMaps(path string, one, two map[string]any) string {
	names := maps.Clone(one)
	maps.Copy(names, two)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, inOne := one[name]
		b, inTwo := two[name]
		at := path + "." + name
		switch {
		case !inOne:
			return fmt.Sprintf("%s: nothing recorded, %s now", strings.TrimPrefix(at, "."), show(b))
		case !inTwo:
			return fmt.Sprintf("%s: %s recorded, nothing now", strings.TrimPrefix(at, "."), show(a))
		}
		if found := firstDifference(at, a, b); found != "" {
			return found
		}
	}
	return ""
}
