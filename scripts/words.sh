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
