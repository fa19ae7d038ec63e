package execution

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

func TestAfterCrash(t *testing.T) {
	t.Parallel()
	trap := abi.Errorf(abi.CodeGuestTrap, "index out of range")
	final := abi.Errorf(abi.CodeGuestDeadlock, "all tasks wait")
	for name, c := range map[string]struct {
		err     *abi.Error
		trapped bool
		crashes int
		again   bool
		code    abi.Code
	}{
		"the first crash":            {trap, true, 1, true, ""},
		"the second":                 {trap, true, 2, true, ""},
		"the third":                  {trap, true, 3, false, abi.CodeCrashLoop},
		"a crash that cannot change": {final, true, 1, false, abi.CodeGuestDeadlock},
		"no crash of the guest": {
			abi.Errorf(abi.CodeNondeterminism, "differs"), false, 1, false, abi.CodeNondeterminism,
		},
		"a fault of the host": {abi.Errorf(abi.CodeInternal, "a panic"), false, 2, true, ""},
		"one that stays":      {abi.Errorf(abi.CodeInternal, "a panic"), false, 3, false, abi.CodeInternal},
	} {
		again, reason := afterCrash(c.err, c.trapped, c.crashes)
		require.Equal(t, c.again, again, name)
		if !again {
			require.Equal(t, c.code, reason.Code, name)
		}
	}
}
