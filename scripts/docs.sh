#!/usr/bin/env bash
# Checks the documentation as far as a script can: every link has a target, each sentence has its line, diagrams render,
# and code that is shown compiles. That the tests of docs/GUARANTEES.md exist is checked by scripts/verify.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

failed=0
complain() { echo "docs: $*" >&2; failed=1; }

# Links to files, relative to the page. Code is skipped.
while IFS= read -r page; do
	while IFS= read -r link; do
		target=${link%%#*}
		[[ -z $target || -e $(dirname "$page")/$target ]] || complain "$page: the target of the link $link does not exist"
	done < <(awk '/^ *```/ { code = !code; next } !code { gsub(/`[^`]*`/, ""); print }' "$page" | grep -oE '\]\([^)# ][^) ]*\)' | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^[a-z]+:' || true)
done < <(git ls-files -co --exclude-standard '*.md')

# One sentence a line.
git ls-files -zco --exclude-standard '*.md' | xargs -0 go run ./scripts/sentences || complain "a page has lines that are not one sentence"

# Diagrams.
git ls-files -zco --exclude-standard '*.md' | xargs -0 go run ./scripts/diagrams || complain "a diagram would not render"

# Complete Go programs. They are built inside the tree, so that they can import the
# SDK.
work=.cache/docs
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
n=0
for page in README.md docs/getting-started.md docs/writing-workflows-go.md; do
	awk -v dir="$work" -v page="$(basename "$page" .md)" '
		/^```go$/ { inside = 1; text = ""; next }
		/^```$/ && inside {
			inside = 0
			if (text ~ /^package main/) {
				folder = dir "/" page "-" ++n
				system("mkdir -p " folder)
				printf "%s", text > (folder "/main.go")
				close(folder "/main.go")
			}
		}
		inside { text = text $0 "\n" }' "$page"
done
for program in "$work"/*/; do
	n=$((n + 1))
	GOOS=wasip1 GOARCH=wasm go vet "./$program" || complain "the program $program does not compile"
done
((n > 0)) || complain "no programs were found"

# Parts of programs are quotes from files that are compiled: quoted COMPLAINT PAGE… -- FILE…
checked=(docs/getting-started.md) # it has a program, and no parts
quoted() {
	local complaint=$1 argument
	shift
	for argument in "$@"; do
		[[ $argument != -- ]] || break
		checked+=("${argument#"$work/"}")
	done
	go run ./scripts/quotes "$@" || complain "$complaint"
}
quoted "a page shows code that is not in docs/examples" \
	README.md docs/go-and-rust.md docs/writing-workflows-rust.md -- docs/examples/*.rs docs/examples/*.go
quoted "a page shows code that is neither in docs/examples nor in the example cart" \
	docs/signals-and-queries.md docs/entities.md -- \
	docs/examples/messages.rs docs/examples/messages/*.go modules/examples/cart/*.go modules/examples/cart/rust/{src,tests}/*.rs
quoted "a page shows code that is neither in docs/examples nor in the examples bank and billing" \
	docs/changing-workflows.md docs/locks.md docs/long-running.md docs/schedules.md docs/state-and-search.md -- \
	docs/examples/*.go modules/examples/{bank,billing}/*.go modules/examples/billing/rust/src/*.rs
quoted "the page on libraries shows code that is not in the example" docs/libraries.md -- modules/examples/libraries/*.go modules/examples/crawl/rust/src/lib.rs

# The programs of the clients are run by tests/clients.
quoted "a page shows a program of a client that no test runs" docs/clients-go.md docs/clients-rust.md docs/clients-python.md docs/clients-typescript.md clients/{python,typescript}/README.md -- \
	docs/examples/clients/*/*.go clients/rust/cruster-client/examples/*.rs clients/python/examples/*.py clients/typescript/examples/*.ts

# The program that the guide to Go begins with is a file of docs/examples/guide, whose tests run it.
mkdir -p "$work/docs"
sed -E 's/^package main$/package guide/; s/^func main\(\) \{\}$//' docs/writing-workflows-go.md >"$work/docs/writing-workflows-go.md"
quoted "the guide to Go shows code that is not in docs/examples/guide" "$work/docs/writing-workflows-go.md" -- docs/examples/guide/*.go guest-sdk/go/crustertest/internal/twomodules/*.go

# No page is forgotten. The examples of the READMEs of crates are tests of their documentation.
while IFS= read -r page; do
	[[ " ${checked[*]} guest-sdk/rust/cruster/README.md clients/rust/cruster-client/README.md " == *" $page "* ]] || complain "$page: its code is not compared with any that is compiled"
done < <(git ls-files -co --exclude-standard '*.md' | xargs grep -lE '^ *```(go|rust)')

# The index has each page.
while IFS= read -r page; do
	[[ $page == docs/README.md ]] || grep -qF "(${page#docs/})" docs/README.md || complain "$page: docs/README.md does not link to it"
done < <(git ls-files -co --exclude-standard 'docs/*.md' | grep -v '/.*/')

((failed == 0)) && echo "docs ok"
exit "$failed"
