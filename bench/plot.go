package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of a plot, in pixels.
const (
	plotWidth = 760
	barHeight = 20
	barGap    = 8
	labelRoom = 190
	valueRoom = 110
)

// plotOf draws one metric as horizontal bars, one a setup, on a scale from zero. It is empty if no setup has the
// metric.
func plotOf(r *row, setups []setup) string {
	var bars []setup
	top := 0.0
	for _, s := range setups {
		if v, ok := r.value(s); ok {
			bars = append(bars, s)
			top = max(top, v)
		}
	}
	if len(bars) == 0 || top <= 0 {
		return ""
	}
	better := "less is better"
	if r.HigherIsBetter {
		better = "more is better"
	}
	height := 40 + len(bars)*(barHeight+barGap)
	var out strings.Builder
	fmt.Fprintf(
		&out,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n",
		plotWidth, height, plotWidth, height,
	)
	fmt.Fprintf(
		&out, `<rect width="100%%" height="100%%" fill="white"/><text x="8" y="20" font-weight="bold">%s</text>`+"\n",
		html.EscapeString(fmt.Sprintf("%s %s, %s (%s)", r.Workload, r.Metric, r.Unit, better)),
	)
	for i, s := range bars {
		v, _ := r.value(s)
		y := 34 + i*(barHeight+barGap)
		width := max(1, v/top*(plotWidth-labelRoom-valueRoom))
		fmt.Fprintf(
			&out,
			`<text x="%d" y="%d" text-anchor="end">%s</text><rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text x="%.1f" y="%d">%s</text>`+"\n",
			labelRoom-8, y+15, html.EscapeString(s.String()), labelRoom, y, width, barHeight, colour(s),
			float64(labelRoom)+width+6, y+15, number(v),
		)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func colour(s setup) string {
	if s.System == crusters {
		return "#1f6f8b"
	}
	return "#b9b9b9"
}
