#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other:
#
#   test/fuzz.sh GO FUZZTIME [PACKAGE...]
#
# FUZZTIME is what -fuzztime takes: 10m, or 20000x for so many inputs. What a target
# fails on is kept in its package's testdata/fuzz, where every test run tries it again.
set -euo pipefail

if [[ $# -lt 2 ]]; then
	printf 'usage: %s GO FUZZTIME [PACKAGE...]\n' "${0##*/}" >&2
	exit 2
fi
readonly go=$1 fuzztime=$2
shift 2

packages=$("$go" list -f '{{.ImportPath}} {{.Dir}}' "${@:-./...}")
found=0
while read -r package dir; do
	# Read out of the files: `go test -list` would build every package for it.
	targets=$(find "$dir" -maxdepth 1 -name '*_test.go' -exec sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' {} +)
	for target in $targets; do
		printf '%s %s\n' "$package" "$target"
		"$go" test -run='^$' -fuzz="^$target\$" -fuzztime="$fuzztime" "$package" </dev/null
		found=$((found + 1))
	done
done <<<"$packages"
printf '%d fuzz targets ran\n' "$found"
