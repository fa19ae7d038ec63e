package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// size is a number of bytes, written as 64MiB, 32M, 4GiB or plain.
type size int64

var units = []struct {
	suffix string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}}

func (s *size) Set(text string) error {
	factor := int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, factor = rest, u.factor
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/factor {
		return fmt.Errorf("%q is not a size; write it like 64MiB", text)
	}
	*s = size(n * factor)
	return nil
}

func (s *size) String() string {
	for _, u := range []int{2, 1, 0} {
		if n, f := int64(*s), units[u].factor; n >= f && n%f == 0 {
			return strconv.FormatInt(n/f, 10) + units[u].suffix
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

func (s *size) Type() string { return "size" }
