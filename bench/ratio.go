package main

// A ratio is how many times better each setup of Cruster is than the best peer in one metric: above 1 is better,
// whatever the direction of the metric.
type ratio struct {
	workload, metric string
	best             setup
	of               map[setup]float64
}

func (r ratio) text(s setup) string {
	if v, ok := r.of[s]; ok {
		return number(v) + "×"
	}
	return ""
}

// ratiosOf compares by the medians of the repetitions.
func ratiosOf(rows []*row, setups []setup) []ratio {
	var all []ratio
	for _, r := range rows {
		best, found := setup{}, false
		for _, s := range setups {
			v, ok := r.value(s)
			if s.System == crusters || !ok {
				continue
			}
			if old, _ := r.value(best); !found || (v > old) == r.HigherIsBetter {
				best, found = s, true
			}
		}
		if !found {
			continue
		}
		peer, _ := r.value(best)
		one := ratio{workload: r.Workload, metric: r.Metric, best: best, of: map[setup]float64{}}
		for _, s := range setups {
			v, ok := r.value(s)
			if s.System != crusters || !ok || v <= 0 || peer <= 0 {
				continue
			}
			if r.HigherIsBetter {
				one.of[s] = v / peer
			} else {
				one.of[s] = peer / v
			}
		}
		all = append(all, one)
	}
	return all
}
