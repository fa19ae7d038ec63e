#!/usr/bin/env bash
# Keeps words out that make readers stop, and links that lead nowhere in another
# clone. Prints the file, the line and what to write instead. Checks all files of the
# repository, or those under the given paths:
#
#   scripts/words.sh [PATH ...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A pattern (extended regular expression, any case), a tab, and advice.
words=$(cat <<'LIST'
(whoever|nobody|somebody|anybody|everybody)	name the actor: the caller, a client, the owning host, the store
\bwho holds\b	"the owner of", or name the function ...Locked if it needs a lock
\bmend(s|ed|ing)?\b	fix
\bbelongs? into\b	"make X in Y", "is part of"
\bhears? of\b	"gets", "learns of"
\b(has|have) no business\b	say what is refused, and why
\bis no name (of|for)\b	is not a valid name
\bleft over at its end\b	say what is still running or stored
LIST
)

failed=0
while IFS=$'\t' read -r pattern advice; do
	# LICENSE and lock files are not ours, fuzzed inputs are bytes, and this file
	# holds the list.
	status=0
	found=$(git grep --untracked -nIiE -e "$pattern" -- "${@:-.}" \
		':!LICENSE' ':!*.sum' ':!*.lock' ':!**/testdata/fuzz/**' ':!scripts/words.sh') || status=$?
	((status <= 1)) || exit "$status" # 1 means that nothing was found
	while IFS= read -r line; do
		[[ -n $line ]] || continue
		printf 'words: %s\n       write instead: %s\n' "$line" "$advice" >&2
		failed=1
	done <<<"$found"
done <<<"$words"

# Clauses in the place of nouns ("what is left" for "the remainder", "one that waits" for "a waiting call") make a reader
# translate. A few are the plainest English, so comments and pages may have some: so many in 10,000 words. A clause may
# begin at the end of a line, and a comment behind code, so the text is read as one.
comments=$(git ls-files -z '*.go' '*.rs' '*.proto' ':!*.pb.go' ':!**/src/proto/**' |
	xargs -0 grep -hoE '(^|[[:space:]])//([/!]?[[:space:]].*)?$' | sed -E 's,^[[:space:]]*//[/!]?,,' | tr -s '[:space:]' ' ')
pages=$(git ls-files -z '*.md' |
	xargs -0 awk 'FNR == 1 { code = 0 } /^ *```/ { code = !code; next } !code' | tr -s '[:space:]' ' ')

# rate PLACE BOUND PATTERN ADVICE
rate() {
	local place=$1 bound=$2 pattern=$3 advice=$4 found
	found=$(($(grep -oiE "$pattern" <<<"${!place}" | wc -l) * 10000 / $(wc -w <<<"${!place}")))
	((found <= bound)) || {
		printf 'words: %d times in 10,000 words of %s, at most %d: %s\n       write instead: %s\n' \
			"$found" "$place" "$bound" "$pattern" "$advice" >&2
		failed=1
	}
}

# rates BOUND BOUND PATTERN ADVICE: of comments, and of pages
rates() {
	rate comments "$1" "$3" "$4"
	rate pages "$2" "$3" "$4"
}

# Questions stay questions: "what to do" and "what happens" are not counted, nor is "what" alone.
verbs='is|was|are|were|has|had|comes|came|becomes?|became|happened|follows|goes|stands|lies|rests|waits|runs|does|did'
verbs+='|must|may|can|cannot|could|would|will|should|fails|takes|makes|gives|holds|keeps|leaves|belongs|needs|names'
verbs+='|matters|counts|differs'
subjects='the|it|its|they|their|a|an|this|that|these|those|there|each|every|any|one|only|all|others?|you|we|people'
subjects+='|guests?|hosts?|modules?|callers?|clients?|entities|executions|workflows|activities|stores?|SQLite|Postgres|WASI|Go'
rates 2 2 "\\bwhat ($verbs|$subjects)\\b" 'the noun: "the remainder", "its cost", "the outcome"'
rates 1 1 '\b((one|ones|those|the one) (that|who|which)|that (of|which)|has it that)\b' 'the noun: "a waiting call", "the callers"'
rates 1 1 '\b((those|the ones?) who|who (is|are|waits?|asks?|wants?|calls?|holds)|of (which|whom)|(is|are|was) over)\b' \
	'the noun, "whose", "has ended"'

# A tracked link with an absolute target works on the machine of its author only.
links=$(git ls-files -s -- "${@:-.}")
while read -r mode object _ path; do
	[[ $mode == 120000 ]] || continue
	target=$(git cat-file blob "$object")
	[[ $target == /* ]] || continue
	printf 'words: %s is a link to %s\n       link to a path relative to it, or leave it untracked\n' "$path" "$target" >&2
	failed=1
done <<<"$links"

((failed == 0)) && echo "words ok"
exit "$failed"
