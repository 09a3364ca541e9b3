# Names and functions that the parts of dist/run share; sourced, not run. Changes to the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
out=$root/dist/out
work=$root/dist/.cache # kept between runs
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
FULLBLOOM_COMMIT=$(git describe --always --abbrev=12 --exclude='*' --dirty)
# Files in archives have the date of the commit, so that the same commit gives the same archives.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
# Nor do programs contain the directories that they were built in.
RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$root=/fullbloom"
export FULLBLOOM_COMMIT SOURCE_DATE_EPOCH RUSTFLAGS
mkdir -p "$work"

step() { printf '\n== %s\n' "$*"; }
fail() { echo "error: $*" >&2; exit 1; }

# The oldest glibc that the wheels and C libraries run with, as in manylinux_2_17.
glibc=2.17

# Debian's name of a machine.
debian_of() { case $1 in x86_64) echo amd64 ;; aarch64) echo arm64 ;; esac; }

# Runs a command as root; without being root, by sudo.
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# packages NAME...: installs Debian packages that are missing.
packages() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  # Another program may be installing packages as well.
  as_root apt-get -o DPkg::Lock::Timeout=600 update -qq
  DEBIAN_FRONTEND=noninteractive as_root apt-get -o DPkg::Lock::Timeout=600 install -y -qq "${missing[@]}" > "$work/apt.log" 2>&1 ||
    { tail -n 5 "$work/apt.log" >&2; return 1; }
}

# Everything that the builds need, and the crates.
tools() {
  packages mmdebstrap python3-venv gcc libc6-dev
  [ -n "$quick" ] || packages qemu-user-static binutils-aarch64-linux-gnu
  local python=$work/venv/bin/python machine
  [ -x "$python" ] || python3 -m venv "$work/venv"
  "$python" -m pip --quiet --disable-pip-version-check install "maturin>=1.9,<2" "cargo-zigbuild>=0.20" "ziglang>=0.14"
  export PATH=$work/venv/bin:$PATH
  for machine in "${machines[@]}"; do
    rustup --quiet target add "$machine-unknown-linux-musl" "$machine-unknown-linux-gnu"
  done
  cargo fetch --quiet --locked
  cargo fetch --quiet --locked --manifest-path crates/fullbloom-py/Cargo.toml
  [ -n "$quick" ] || cargo fetch --quiet --locked --manifest-path crates/fullbloom-slatedb/Cargo.toml
}

# pack DIRECTORY FILE: the directory as a .tar.gz whose bytes depend on its files alone.
pack() {
  tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
    --directory "$(dirname "$1")" "$(basename "$1")" | gzip -9 --no-name > "$2"
}
