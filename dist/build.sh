# From the sources to programs and libraries; sourced by dist/run.

# build_command MACHINE: the static command, its manual pages and completions in $work/stage/MACHINE.
build_command() {
  local machine=$1 target=$1-unknown-linux-musl stage=$work/stage/$1 bin
  small "$target" cargo-zigbuild zigbuild --quiet --offline --locked --profile dist --target "$target" -p fullbloom-cli
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

# small TARGET COMMAND...: builds with what makes a static program smaller. zstd has only the compressors of its default level,
# which is the one used here. Fewer functions are inlined; what hot loops need is marked in the sources. The linker merges equal
# functions and packs relocations; zig's linker has no options for that.
small() {
  local target=$1 strategy cflags= flags="-C llvm-args=-inline-threshold=100 -C linker=rust-lld -C link-self-contained=yes"
  shift
  for strategy in GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA; do cflags+=" -DZSTD_EXCLUDE_${strategy}_BLOCK_COMPRESSOR"; done
  flags+=" -C link-arg=--strip-all -C link-arg=--icf=all -C link-arg=-z -C link-arg=pack-relative-relocs"
  env "CFLAGS_${target//-/_}=$cflags" RUSTFLAGS="$RUSTFLAGS $flags" "$@"
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

# build_wheel MACHINE: the wheel for every Python from the oldest supported one on, in $out. In the quick form it is hardly
# optimised, which takes half the time; the trial is the same.
build_wheel() {
  [ -z "$quick" ] || local -x CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
  maturin build --quiet --offline --locked --release --zig --target "$1-unknown-linux-gnu" \
    --compatibility "manylinux_${glibc/./_}" -m crates/fullbloom-py/Cargo.toml --out "$out"
}
