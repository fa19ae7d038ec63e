package guestsql

import (
	"fmt"
	"reflect"
	"strings"

	"zombiezen.com/go/sqlite"
)

// cost is how much work an instruction or a call of a function does without looking whether it is interrupted, for each
// byte of the longest value it may be given. One is about a nanosecond.
type cost int64

// The costs of functions. They are measured upper bounds: TestFunctionsAtTheirWorst runs each function on the values
// that it is slowest with.
const (
	number  cost = 2    // looks at a number, or at nothing
	linear  cost = 16   // walks over its arguments once
	compare cost = 128  // the same with many arguments, or with a set of characters
	parse   cost = 512  // reads JSON and looks a few things up in it
	edit    cost = 1024 // changes JSON at many places, or formats
	build   cost = 4096 // makes a text of many arguments, which may be far longer than they are
)

// maxArgs bounds the arguments of a call.
const maxArgs = 50

// allowed are the functions that modules may call. TestEveryFunctionIsJudged keeps the list complete: each function of
// SQLite is here or among the refused.
var allowed = func() map[string]cost {
	all := map[string]cost{}
	for price, names := range map[cost]string{
		number: `abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling changes coalesce cos cosh count cume_dist
			current_date current_time current_timestamp degrees dense_rank exp first_value floor if ifnull iif lag
			last_insert_rowid
			last_value lead likelihood likely ln log log10 log2 mod nth_value ntile octet_length percent_rank pi pow
			power radians random
			rank round row_number sign sin sinh sqlite_version sqrt sum tan tanh timediff total trunc typeof unlikely`,
		linear: `glob group_concat hex instr length like lower nullif quote randomblob replace soundex string_agg substr
			substring unicode unistr unistr_quote upper zeroblob`,
		compare: `char date datetime julianday ltrim max min rtrim time trim unhex unixepoch`,
		parse: `-> ->> json json_array_length json_error_position json_extract json_group_array json_group_object
			json_quote json_type json_valid jsonb jsonb_extract jsonb_group_array jsonb_group_object`,
		edit: `concat concat_ws format json_array_insert json_insert json_remove json_replace json_set
		jsonb_array_insert
			jsonb_insert jsonb_remove jsonb_replace jsonb_set printf strftime`,
		build: `json_array json_object jsonb_array jsonb_object`,
	} {
		for _, name := range strings.Fields(names) {
			all[name] = price
		}
	}
	return all
}()

// refused are the others, with the reason.
var refused = func() map[string]string {
	all := map[string]string{}
	for reason, names := range map[string]string{
		"takes time in proportion to the product of its arguments": "json_patch jsonb_patch",
		"makes a text without bounds":                              "json_pretty",
		"computes for minutes on large shapes": `geopoly_area geopoly_bbox geopoly_blob geopoly_ccw
		geopoly_contains_point
			geopoly_debug geopoly_group_bbox geopoly_json geopoly_overlap geopoly_regular geopoly_svg geopoly_within
			geopoly_xform`,
		"is for virtual tables, which modules do not have": `bm25 fts5 fts5_get_locale fts5_insttoken fts5_locale
		fts5_source_id
			highlight match rtreecheck rtreedepth rtreenode snippet`,
		"tells about the database as a whole": `sqlite_compileoption_get sqlite_compileoption_used sqlite_log
		sqlite_offset
			sqlite_source_id subtype total_changes`,
		"runs code that is no part of the module": "load_extension",
	} {
		for _, name := range strings.Fields(names) {
			all[name] = reason
		}
	}
	return all
}()

// mayCall tells whether the statement may call a function. ALTER runs functions of SQLite's own; that a module does not
// name them is checked in its text (CheckDefinition).
func (b *Sandbox) mayCall(name string) bool {
	name = strings.ToLower(name)
	_, known := allowed[name]
	return known || b.mode == Alteration && strings.HasPrefix(name, "sqlite_")
}

func refusalOfFunction(name string) string {
	if reason, known := refused[strings.ToLower(name)]; known {
		return fmt.Sprintf("the function %q is not for modules: it %s", name, reason)
	}
	return fmt.Sprintf("the function %q is not for modules", name)
}

const hintFunction = "Read the values, compute in the module's code, and write the result back."

// functionName is the name of the function that an action of OpFunction is about. The binding has the name but no
// method that tells it.
func functionName(action sqlite.Action) string {
	return reflect.ValueOf(action).FieldByName("arg2").String()
}

// checkBinding fails if functionName would not find the name.
func checkBinding() error {
	field, ok := reflect.TypeFor[sqlite.Action]().FieldByName("arg2")
	if !ok || field.Type.Kind() != reflect.String {
		return fmt.Errorf("this version of the SQLite binding is not known: its functions cannot be told apart")
	}
	return nil
}
