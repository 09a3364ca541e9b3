# From the sources to programs and libraries; sourced by dist/run.

# build_command MACHINE: the static command, its manual pages and completions in $work/stage/MACHINE.
build_command() {
  local machine=$1 target=$1-unknown-linux-musl stage=$work/stage/$1 bin pages
  cargo-zigbuild zigbuild --quiet --offline --locked --profile dist --target "$target" -p fullbloom-cli
  mkdir -p "$stage/man" "$stage/completions"
  cp "target/$target/dist/fullbloom" "$stage/"
  check_size "$stage/fullbloom"
  # The pages and completions are the same on every machine; they are printed by the one that runs here.
  bin=$work/stage/$(uname -m)/fullbloom
  "$bin" man "$stage/man"
  "$bin" completions bash > "$stage/completions/fullbloom.bash"
  "$bin" completions zsh > "$stage/completions/_fullbloom"
  "$bin" completions fish > "$stage/completions/fullbloom.fish"
  python dist/licences.py "$target" "$stage"
}

# A release is not allowed to grow unnoticed.
check_size() {
  local bytes
  bytes=$(stat --format=%s "$1")
  echo "$bytes bytes"
  [ "$bytes" -lt 8000000 ] || fail "$1: $bytes bytes; the limit is 8,000,000"
}

# archive MACHINE: the .tar.gz with the command, and the SBOM beside it.
archive() {
  local machine=$1 name=fullbloom-$version-$1-linux stage=$work/stage/$1
  rm -rf "$work/$name"
  mkdir -p "$work/$name"
  cp -r "$stage"/{fullbloom,man,completions,THIRD-PARTY.txt} README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/$name/"
  pack "$work/$name" "$out/$name.tar.gz"
  cp "$stage/sbom.cdx.json" "$out/$name.cdx.json"
}

# build_c_libraries MACHINE: libfullbloom and the drop-ins, shared and static, in $work/stage/MACHINE/c.
build_c_libraries() {
  local machine=$1 target=$1-unknown-linux-gnu prefix=
  [ "$machine" = "$(uname -m)" ] || prefix=$machine-linux-gnu-
  make --silent all CARGO=cargo-zigbuild CARGO_FLAGS="--offline --locked --target $target.$glibc" OUT="target/$target/release" \
    STAGE="$work/stage/$machine/c" LD="${prefix}ld" AR="${prefix}ar" OBJCOPY="${prefix}objcopy"
}

# build_wheel MACHINE: the wheel for every Python from the oldest supported one on, in $out.
build_wheel() {
  maturin build --quiet --offline --locked --release --zig --target "$1-unknown-linux-gnu" \
    --compatibility "manylinux_${glibc/./_}" -m crates/fullbloom-py/Cargo.toml --out "$out"
}
