# What the gate and the nightly run share; sourced, not run. Changes to the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Everything is built once: what helps the next build only costs time here.
export CARGO_INCREMENTAL=0

# step COMMAND...: runs it; the seconds since the start are printed before it.
step() { printf '\n== %5d s: %s\n' "$SECONDS" "$*"; "$@"; }

# kernels COMMAND...: runs it with every kernel that this CPU supports: all give the same answers and bytes. The command that
# lists them is built for the whole workspace, as for the tests: with fewer packages, cargo would build the library once more.
kernels() {
  cargo build --quiet --locked --workspace --bin fullbloom
  local kernel supported
  supported=$("${CARGO_TARGET_DIR:-target}/debug/fullbloom" --version | sed -n 's/.*can run \(.*\);.*/\1/p' | tr -d ' ')
  [ -n "$supported" ] || { echo "error: no kernel is listed by fullbloom --version" >&2; return 1; }
  for kernel in ${supported//,/ }; do FULLBLOOM_KERNEL=$kernel step "$@"; done
}
