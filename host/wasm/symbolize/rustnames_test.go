package symbolize

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesOfRustFunctions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"_ZN6orders5count17h0123456789abcdefE":                                                "orders::count",
		"_ZN6orders6Orders7execute28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE":         "orders::Orders::execute",
		"_ZN6orders1_11__OrdersRun7execute28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE": "orders::Orders::execute",
		"_ZN6orders1_15__OrdersAttempt6charge17h0123456789abcdefE":                            "orders::Orders::charge",
		"_ZN51_$LT$orders..Item$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE":    "<orders::Item as core::fmt::Display>::fmt",
		"_ZN3a$b3c$uE": "a$b::c$u",
		"_ZN99nothing": "",
		"_ZN":          "",
		"main":         "main",

		"_RINvCs2IYjeuWfBb7_6orders3allRDNtNtCsdHhIpgkcIfN_4core3fmt7DisplayEL_FyEyEB2_":      "orders::all",
		"_RNCINvCs2IYjeuWfBb7_6orders3allRDNtNtCsdHhIpgkcIfN_4core3fmt7DisplayEL_FyEyE0B4_":   "orders::all",
		"_RINvMs2_NtCsdHhIpgkcIfN_4core3fmtNtB6_9Arguments3newKj2_Kj1_ECs2IYjeuWfBb7_6orders": "core::fmt::Arguments::new",
		"_RNvYFyEyINtNtNtCsdHhIpgkcIfN_4core3ops8function2FnTyEE4callCs2IYjeuWfBb7_6orders":   "<fn(u64) as core::ops::function::Fn>::call",
		"_RNvMNvCs2IYjeuWfBb7_6orders1__NtB2_11___OrdersRun7execute":                          "orders::Orders::execute",
		"_RNvMs0_Cs2IYjeuWfBb7_6ordersINtB5_6OrdersmE5countB5_":                               "orders::Orders::count",
		"_RNvMNtNtCsdHhIpgkcIfN_4core3ptr9const_ptrPu13is_aligned_toCs2IYjeuWfBb7_6orders":    "*const ()::is_aligned_to",
		"_RNvXCs2IYjeuWfBb7_6ordersTlReQShPxENtB2_4Wait4wait":                                 "<(i32, &str, &mut [u8], *const i64) as orders::Wait>::wait",
		"_RNvXs_Cs2IYjeuWfBb7_6ordersNtB4_4ItemNtNtCsdHhIpgkcIfN_4core3fmt7Display3fmt":       "<orders::Item as core::fmt::Display>::fmt",
		"_RNvCsfLfy6EI15iL_7___rustc12___rust_alloc":                                          "__rustc::__rust_alloc",
		"_R":       "",
		"_RNvC99a": "",
		"_RB_":     "",
		"_RNvB_1a": "",
	} {
		require.Equal(t, want, rustName(name), name)
	}
	require.Empty(t, rustName("_ZN9999"+strings.Repeat("a", 9999)+"E"))
}

// TestRustNamesThatGrow are short, and long when they are written out: then they are left.
func TestRustNamesThatGrow(t *testing.T) {
	t.Parallel()
	crate := "C3000_" + strings.Repeat("a", 3000)
	lifetimes := "IC1a" + strings.Repeat("L_", 200) + "E"
	for name, symbol := range map[string]func(n int) string{
		"references in a tuple": func(n int) string { return "_RM" + crate + "T" + strings.Repeat("B0_", n) + "E" },
		"a tuple, often wrapped": func(n int) string {
			return "_RM" + crate + strings.Repeat("R", 2*n) + "T" + strings.Repeat("B0_", n) + "E"
		},
		"references in a trait":   func(n int) string { return "_RM" + crate + "D" + strings.Repeat("B0_", n) + "EL_" },
		"references in arguments": func(n int) string { return "_RM" + crate + "F" + strings.Repeat("B0_", n) + "Eu" },
		"a reference, wrapped":    func(n int) string { return "_RM" + crate + strings.Repeat("S", n) + "B0_" },
		"lifetimes that repeat":   func(n int) string { return "_RMC1aT" + lifetimes + strings.Repeat("B4_", n) + "E" },
	} {
		require.NotEmpty(t, rustName(symbol(1)), name)
		require.Empty(t, rustName(symbol(60)), name)
	}
	require.Equal(t, "(a, a, a)", rustName("_RMC1aT"+strings.Repeat("B0_", 3)+"E"))
}

// TestFramesOfRust leaves out frames that are not the author's.
func TestFramesOfRust(t *testing.T) {
	t.Parallel()
	backtrace := strings.Join([]string{
		".$5()", ".memcpy(i32)", "._RNvCsfLfy6EI15iL_7___rustc12___rust_alloc(i32) i32",
		"._ZN6orders5count17h0123456789abcdefE(i32) i32",
		"._ZN6orders5count28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE(i32) i32",
		"._ZN4core3fmt5write17h0123456789abcdefE()",
		"._ZN67_$LT$alloc..boxed..Box$LT$F$GT$$u20$as$u20$core..future..Future$GT$4poll17h0123456789abcdefE()",
		"._ZN6orders1_11__OrdersRun7execute28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE()",
		"._ZN7cruster8workflow12run_workflow17h0123456789abcdefE()", ".cruster_resume(i32) i32",
	}, "\n\t")
	require.Equal(t, []string{"orders::count", "orders::Orders::execute"}, namedFrames(functionsOf(backtrace)))
	require.Equal(
		t, []string{"count", "run"},
		namedFrames([]string{"cruster:host.refuel", "$5", "count", "run", "cruster_resume"}), "in C",
	)
	require.Empty(t, namedFrames([]string{"cruster:host.refuel", "$5", "cruster_resume"}), "without names")
	for name, want := range map[string]string{
		"orders::count": "orders",
		"<orders::Item as core::fmt::Display>::fmt":      "orders",
		"<&mut orders::Item as core::fmt::Display>::fmt": "orders",
		"<dyn orders::Wait as core::any::Any>::type_id":  "orders",
		"<T as orders::Wait>::wait":                      "orders",
		"<(U,T) as core::fmt::Debug>::fmt":               "core",
		"<&[u8] as alloc::ffi::Spec>::new":               "alloc",
		"str::from_utf8":                                 "",
		"memcpy":                                         "",
		"":                                               "",
	} {
		require.Equal(t, want, crateOf(name), name)
	}
}

// FuzzRustNames reads names that lie about their content.
func FuzzRustNames(f *testing.F) {
	f.Add("_ZN6orders5count17h0123456789abcdefE")
	f.Add("_RNvXCs1234_6ordersNtB2_4ItemNtNtCs5678_4core3fmt7Display3fmt")
	f.Add("_RINvCs1234_6orders3allAhj3_TlReQShPxODNtB2_4WaitEL_FKCuEzE")
	f.Fuzz(func(t *testing.T, name string) {
		_ = isRustAuthors(rustName(name))
		_ = rustName("_R" + name)
	})
}
