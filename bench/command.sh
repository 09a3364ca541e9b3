#!/usr/bin/env bash
# Compares the command with other programs on lines of text: build and check with poppy, unique with awk and sort -u.
#
#   bench/command.sh [LINES] [ROUNDS]      default 10M lines and 5 rounds; unique gets twice the lines
#
# Needs GNU time, awk, sort, and 3 GB in $TMPDIR for 10M lines. poppy (crate poppy-filters) is installed into a scratch
# directory if it is not on the path. Rounds are interleaved: each runs every program once, so that all programs run under
# the same load. Medians are printed. CPU is the time of all threads; on a shared machine it is more reliable than the
# wall-clock time.
set -euo pipefail
cd "$(dirname "$0")/.."

lines=${1:-10000000}
rounds=${2:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

cargo build --release --quiet -p fullbloom-cli
fullbloom=$PWD/target/release/fullbloom
scratch=${XDG_CACHE_HOME:-$HOME/.cache}/fullbloom-bench
poppy=$(command -v poppy || true)
if [ -z "$poppy" ]; then
    cargo install --quiet --root "$scratch" --version 0.2.1 poppy-filters
    poppy=$scratch/bin/poppy
fi
[ -x /usr/bin/time ] || { echo "GNU time is needed: /usr/bin/time" >&2; exit 2; }

# Lines like URLs, about 38 bytes. Half of the lines looked up are in the filter; half of the lines for unique come twice.
urls() {
    awk -v from="$1" -v count="$2" 'BEGIN {
        for (i = from; i < from + count; i++) printf "https://host%d.example/page/%d\n", (i * 7919) % 99991, i
    }'
}
cd "$work"
urls 0 "$lines" > keys
urls $((lines / 2)) "$lines" > asked
cat keys asked > stream

# run NAME COMMAND: appends "seconds cpu-seconds peak-KiB" to NAME.
run() {
    local name=$1
    shift
    /usr/bin/time -o last -f '%e %U %S %M' sh -c "$*" sh
    awk '{ print $1, $2 + $3, $4 }' last >> "$name"
}
for _ in $(seq "$rounds"); do
    run build-fullbloom "'$fullbloom' build -q -o f.bloom keys"
    run build-poppy "'$poppy' create p.bloom -p 0.01 keys > /dev/null 2>&1"
    run check-fullbloom "'$fullbloom' check f.bloom asked > found-fullbloom"
    run check-poppy "'$poppy' check p.bloom asked > found-poppy 2> /dev/null"
    run unique-fullbloom "'$fullbloom' unique stream > unique-fullbloom.txt"
    run unique-awk "awk '!s[\$0]++' stream > unique-awk.txt"
    run unique-sort "sort -u stream > unique-sort.txt"
done

# Both filters must find every inserted line, and few others.
for found in found-fullbloom found-poppy; do
    awk -v name="$found" -v lines="$lines" '
        END { if (NR < lines / 2 || NR > lines / 2 * 1.02) { print name ": " NR " lines found" > "/dev/stderr"; exit 1 } }
    ' "$found"
done
missed=$(($(wc -l < unique-awk.txt) - $(wc -l < unique-fullbloom.txt)))

median() { # FILE COLUMN
    sort -n -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'
}
compare() { # TITLE OURS OTHERS...
    printf '\n%s\n  %-12s %10s %10s %12s %10s %8s %8s\n' "$1" program seconds CPU "peak MiB" "x slower" "x CPU" "x memory"
    local ours=$2 name
    shift
    for name in "$@"; do
        printf '%s %s %s %s %s %s %s\n' "${name#*-}" "$(median "$name" 1)" "$(median "$name" 2)" "$(median "$name" 3)" \
            "$(median "$ours" 1)" "$(median "$ours" 2)" "$(median "$ours" 3)"
    done | awk '{
        printf "  %-12s %10.2f %10.2f %12.1f %10.1f %8.1f %8.1f\n", $1, $2, $3, $4 / 1024, $2 / $5, $3 / $6, $4 / $7
    }'
}
echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(nproc) cores; $("$fullbloom" --version | head -n 1); poppy 0.2.1; $rounds rounds, medians"
compare "build: $lines lines to a filter at 1 %" build-fullbloom build-poppy
compare "check: $lines lines, half of them in the filter" check-fullbloom check-poppy
compare "unique: $((2 * lines)) lines, three quarters of them new ($missed new lines missed)" \
    unique-fullbloom unique-awk unique-sort
