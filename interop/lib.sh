# Functions shared by the suites; sourced, not run. Sets `root` (the repository), `here` (the suite) and `work` (the
# suite's directory under interop/.cache, kept between runs), and changes to the repository.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
suite=$(basename "$here")
work=$root/interop/.cache/$suite
rows_file=$work/rows.tsv
mkdir -p "$work"
[ "$(basename "${BASH_SOURCE[1]}")" != run ] || : > "$rows_file" # benchmarks keep the rows of the last run
cd "$root"

step() { printf '\n== %s\n' "$*"; }

# row PROGRAM VERSION WHAT CASES DIFFERENCES: adds a row to the result table. A difference fails the suite.
row() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$@" >> "$rows_file"
  [ "$5" = 0 ] || { echo "error: $1 $2: $3: $5 differences" >&2; exit 1; }
}

# Two suites run at a time. Only one of them at a time changes what they share: Debian's packages, Maven's repository,
# Cassandra's jars, the build of the Python package, the C libraries and the page.
one_at_a_time() { ( flock 9; "$@" 9>&- ) 9> "$root/interop/.cache/lock"; }

# Installs Debian packages that are missing.
packages() {
  local missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] || one_at_a_time install_packages "${missing[@]}"
}
install_packages() {
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  # Another program may be installing packages as well.
  "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=600 update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=600 install -y -qq "$@" > "$work/apt.log" 2>&1 ||
    { tail -5 "$work/apt.log" >&2; return 1; }
}

# The version of an installed Debian package, without its epoch and Debian's revision.
version_of() { dpkg-query -W -f '${Version}' "$1" | sed 's/^[0-9]*://; s/-[^-]*$//'; }

# Creates a virtual environment with these packages from PyPI, and sets `python` to its interpreter.
python_with() {
  packages python3-venv
  python=$work/venv/bin/python
  [ -x "$python" ] || python3 -m venv "$work/venv"
  "$work/venv/bin/pip" --quiet --disable-pip-version-check install "$@"
}

# `interop/run --quick`: what `cargo test` has built is used, and release builds are hardly optimised.
if [ -n "${FULLBLOOM_QUICK:-}" ]; then
  built=${CARGO_TARGET_DIR:-$root/target}/debug profile=(--workspace)
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
else
  built=${CARGO_TARGET_DIR:-$root/target}/release profile=(--release)
fi

# cases N: N random cases, or a fifth of them.
cases() { echo $((${FULLBLOOM_QUICK:+1} + 0 ? $1 / 5 : $1)); }

# Sets `fullbloom` to the command: the one that FULLBLOOM names, as that of dist/run, or one built here.
command_built() {
  fullbloom=${FULLBLOOM:-$built/fullbloom}
  [ -n "${FULLBLOOM:-}" ] || cargo build --quiet --locked "${profile[@]}" --bin fullbloom
}

# example_built PACKAGE NAME: builds the example $built/examples/NAME.
example_built() {
  local of=(-p "$1")
  [ -z "${FULLBLOOM_QUICK:-}" ] || of=()
  cargo build --quiet --locked "${profile[@]}" "${of[@]}" --example "$2"
}

# Installs the Python package into the environment of `python_with`: the wheel that FULLBLOOM_WHEEL names, as that of
# dist/run, or one built here as users build it, for which the environment has maturin.
package_built() {
  local wheel=${FULLBLOOM_WHEEL:-}
  if [ -z "$wheel" ]; then
    rm -rf "$work/wheels"
    one_at_a_time "$work/venv/bin/maturin" build --release --quiet --locked -m crates/fullbloom-py/Cargo.toml -o "$work/wheels"
    wheel=$(echo "$work"/wheels/*.whl)
  fi
  "$work/venv/bin/pip" --quiet --disable-pip-version-check install --force-reinstall --no-deps "$wheel"
}

# Installs a JDK and Maven if they are missing.
java_tools() { command -v java > /dev/null && command -v mvn > /dev/null || packages openjdk-17-jdk-headless maven; }

# jars RELEASE: fetches the dependencies of the suite's pom.xml into $work/jars-RELEASE, and compiles the classes of
# interop/jvm and of the suite into $work/classes-RELEASE.
jars() {
  local release=$1
  if [ ! -e "$work/jars-$release/.done" ]; then
    rm -rf "$work/jars-$release"
    one_at_a_time mvn -q -B -f "$here/pom.xml" -Dreleased="$release" \
      org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory="$work/jars-$release"
    touch "$work/jars-$release/.done"
  fi
  rm -rf "$work/classes-$release"
  find "$here" "$root/interop/jvm" -name '*.java' > "$work/sources"
  javac -nowarn -d "$work/classes-$release" -cp "$work/jars-$release/*" "@$work/sources"
}
