package cli

import (
	"fmt"
	"strings"
)

// helpWidth is the width of the terminal that help is written for.
const helpWidth = 80

// precedence ends the help of every command.
const precedence = `
A flag wins over its [VARIABLE] in the environment, which wins over the default.
`

// usageTemplate is Cobra's, with the usages of flags and its last line cut to the width.
func usageTemplate(cobras string) string {
	narrow := strings.NewReplacer(
		".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth),
		"for more information about a command", "for more about a command")
	return narrow.Replace(cobras) + precedence
}

// exitHelp is the section on exit codes.
var exitHelp = func() string {
	const indent = "     "
	lines := []string{"Exit codes:"}
	for _, e := range exits {
		meaning := wrapped(e.meaning, helpWidth-len(indent))
		lines = append(lines, fmt.Sprintf("%3d  %s", e.code, strings.ReplaceAll(meaning, "\n", "\n"+indent)))
	}
	return strings.Join(lines, "\n")
}()

// wrapped breaks a text between its words into lines of at most width columns.
func wrapped(text string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
