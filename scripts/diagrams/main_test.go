package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSequences(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ diagram, want string }{
		{"participant A as a caller\nparticipant B\nA->>B: call\nB-->>A: answer", ""},
		{"participant A\nalt warm\nA->>A: go on\nelse\nNote over A: cold\nend", ""},
		{"participant A\nparticipant B\npar one\nA->>B: x\nand two\nA->>B: y\nend", ""},
		{"participant A\nA->>A: a line with `->>` and: colons", ""},
		{"participant A\n%% a comment\n\nA->>A: think", ""},
		{"participant A\nA->>B: call", "4: B is not declared"},
		{"participant A\nparticipant B\nA->>A: think", "5: nothing is sent to or by B"},
		{"participant A\nparticipant A\nA->>A: think", "4: A is declared twice"},
		{"participant A\nloop again\nA->>A: think", "5: loop has no end"},
		{"participant A\nA->>A: think\nend", "5: not a line of a sequence diagram: end"},
		{"participant A\nloop again\nA->>A: think\nelse\nend", "6: else divides no block"},
		{"participant A\nA->>A think", "4: not a line of a sequence diagram: A->>A think"},
		{"participant A\nparticipant B\nA->>B: call\nNote over A,C: is not there", "6: C is not declared"},
		{"participant A\nalt a\nalt b\nA->>A: think\nend", "7: alt has no end"},
	} {
		found := problems("```mermaid\nsequenceDiagram\n" + tc.diagram + "\n```\n")
		if tc.want == "" {
			require.Empty(t, found, tc.diagram)
			continue
		}
		require.Contains(t, found, tc.want, tc.diagram)
	}
	require.Equal(t, []string{"2: a diagram begins with sequenceDiagram; other kinds are not checked"},
		problems("```mermaid\nflowchart LR\n```\n"))
}

func TestDrawings(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("─", widest+1)
	require.Equal(
		t, []string{"2: the drawing is 101 columns wide, of at most 100"}, problems("```text\n"+wide+"\n```\n"),
	)
	require.Empty(t, problems("```text\n"+strings.Repeat("x", widest+1)+"\n```\n"), "it is no drawing")
	require.Empty(t, problems("```sh\n"+wide+"\n```\n"), "it is a command")
	require.Empty(t, problems(wide), "it is in no block")
}
