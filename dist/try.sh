# Tries each product where nothing else is installed; sourced by dist/run.

# same WHAT GOT WANTED: fails when the two differ.
same() { [ "$2" = "$3" ] || fail "$1: got '$2' instead of '$3'"; }

# emulator MACHINE: the program that runs the machine's programs; empty for this machine.
emulator() { [ "$1" = "$(uname -m)" ] || command -v "qemu-$1-static"; }

# emulated_in_chroots MACHINE: lets the kernel start the machine's programs by the emulator, in chroots too. Debian does the
# same where systemd runs.
emulated_in_chroots() {
  local entries=/proc/sys/fs/binfmt_misc
  [ -e "$entries/register" ] || as_root mount -t binfmt_misc binfmt_misc "$entries"
  [ -e "$entries/qemu-$1" ] || as_root cp "/usr/lib/binfmt.d/qemu-$1.conf" "$entries/register"
}

# compile MACHINE ARGUMENTS...: the C compiler for this machine, with the glibc of Debian 12.
compile() { python -m ziglang cc -target "$1-linux-gnu.2.36" "${@:2}"; }

# try_command MACHINE: the archive's command in a root directory without any other file.
try_command() {
  local machine=$1 empty=$work/empty-$1 run said emulated
  as_root rm -rf "$empty"
  mkdir "$empty"
  tar --extract --gzip --file "$out/fullbloom-$version-$machine-linux.tar.gz" --directory "$empty" --strip-components=1
  same "names in the archive" "$(ls "$empty" | paste -sd ' ')" \
    "CHANGELOG.md LICENSE-APACHE LICENSE-MIT README.md THIRD-PARTY.txt completions fullbloom man"
  mv "$empty/fullbloom" "$work/fullbloom"
  rm -rf "${empty:?}"/*
  mv "$work/fullbloom" "$empty/"
  run=(as_root chroot "$empty" /fullbloom)
  emulated=$(emulator "$machine")
  if [ -n "$emulated" ]; then
    cp "$emulated" "$empty/emulator"
    run=(as_root chroot "$empty" /emulator /fullbloom)
  fi
  said=$("${run[@]}" --version)
  echo "$said"
  same version "$(head -n 1 <<< "$said")" "fullbloom $version (commit $FULLBLOOM_COMMIT)"
  grep -q '^kernel ' <<< "$said" || fail "no kernel in: $said"
  seq 1000 | "${run[@]}" build --quiet --fpr 1e-9 -o /keys.bloom
  same "keys found" "$(seq 991 1009 | "${run[@]}" check /keys.bloom | paste -sd ' ')" "$(seq 991 1000 | paste -sd ' ')"
  "${run[@]}" verify /keys.bloom > /dev/null
  [ -n "$emulated" ] || cpu_time "$empty/fullbloom"
}

# The CPU time of --help: the median of 21 runs.
cpu_time() {
  local milliseconds
  milliseconds=$(python - "$1" << 'PYTHON'
import resource, statistics, subprocess, sys

def once():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.argv[1], "--help"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000

print(f"{statistics.median(once() for _ in range(21)):.2f}")
PYTHON
  )
  echo "--help: $milliseconds ms of CPU time"
  awk -v got="$milliseconds" 'BEGIN { exit !(got < 5) }' || fail "--help takes $milliseconds ms; the limit is 5"
}

# debian_root MACHINE VARIANT PACKAGE: a minimal Debian with this package in $work/debian-MACHINE, made anew from a kept archive.
debian_root() {
  local machine=$1 variant=$2 archive=$work/debian-$1-$3.tar
  debian=$work/debian-$machine
  if [ ! -e "$archive" ]; then
    as_root mmdebstrap --quiet --format=tar --variant="$variant" --architectures="$(debian_of "$machine")" --include="$3" bookworm "$archive.new"
    as_root mv "$archive.new" "$archive"
  fi
  as_root rm -rf "$debian"
  mkdir "$debian"
  as_root tar --extract --file "$archive" --directory "$debian" --exclude='./dev/*'
}

# All files of the root, without those that the package manager keeps for itself.
files_in() { (cd "$1" && as_root find . -xdev | grep -Ev '^\./(var/(lib/dpkg|log|cache)|etc/ld\.so\.cache)' | sort); }

# try_debs MACHINE: the Debian packages: installed, used, removed. Afterwards the root is as before.
try_debs() {
  local machine=$1 triplet=$1-linux-gnu debs installed
  debs=("$out"/*_"$(debian_of "$machine")".deb)
  [ -z "$(emulator "$machine")" ] || emulated_in_chroots "$machine"
  debian_root "$machine" minbase libbloom1
  files_in "$debian" > "$work/files-before"
  if [ -z "$quick" ]; then
    # A program that was linked to Debian's libbloom.
    compile "$machine" -I crates/fullbloom-libbloom1/include -o "$work/uses-libbloom" dist/uses-libbloom.c \
      "$debian/usr/lib/$triplet/libbloom.so.1"
    uses_libbloom before "/lib/$triplet/"
  fi
  mkdir "$debian/debs"
  cp "${debs[@]}" "$debian/debs/"
  as_root chroot "$debian" sh -c 'dpkg --install /debs/*.deb' > "$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; return 1; }
  as_root rm -r "$debian/debs"
  same "version of the package" "$(as_root chroot "$debian" fullbloom --version | head -n 1)" "fullbloom $version (commit $FULLBLOOM_COMMIT)"
  [ -e "$debian/usr/share/man/man1/fullbloom-build.1.gz" ] || fail "no manual page"
  if [ -z "$quick" ]; then
    compile "$machine" -I "$debian/usr/include" -o "$work/example" c/examples/tour.c "$debian/usr/lib/$triplet/libfullbloom.so"
    as_root install -D -m 755 "$work/example" "$debian/tried/example"
    as_root chroot "$debian" sh -c 'cd /tried && ./example' > /dev/null # it writes files
    as_root rm -r "$debian/tried"
    uses_libbloom installed "/usr/lib/$triplet/fullbloom/"
    as_root chroot "$debian" sh -c "update-alternatives --quiet --set libbloom-$triplet \
      /usr/share/fullbloom/libbloom-$triplet-system.conf && ldconfig"
    uses_libbloom "after choosing the system's" "/lib/$triplet/"
    as_root chroot "$debian" sh -c "update-alternatives --quiet --auto libbloom-$triplet && ldconfig"
    uses_libbloom "after choosing ours" "/usr/lib/$triplet/fullbloom/"
  fi
  installed=$(for deb in "${debs[@]}"; do dpkg-deb --field "$deb" Package; done)
  # shellcheck disable=SC2086
  as_root chroot "$debian" dpkg --purge $installed > "$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; return 1; }
  [ -n "$quick" ] || uses_libbloom "after removal" "/lib/$triplet/"
  files_in "$debian" > "$work/files-after"
  diff "$work/files-before" "$work/files-after" || fail "installing and removing the packages changes the system"
  echo "$machine: installed, used and removed:" $installed
}

# uses_libbloom WHEN DIRECTORY: runs the program in the root; its libbloom must come from this directory.
uses_libbloom() {
  local said
  as_root install -m 755 "$work/uses-libbloom" "$debian/uses-libbloom"
  said=$(as_root chroot "$debian" /uses-libbloom)
  as_root rm "$debian/uses-libbloom"
  case $said in "ok $2"*) ;; *) fail "$1: $said; its libbloom should be in $2" ;; esac
}

# try_wheel MACHINE: the wheel with the oldest Python and NumPy that it claims to run with.
try_wheel() {
  local machine=$1 python venv=$work/empty-venv wheels=$work/wheels-$1 wheel
  wheel=$(echo "$out"/fullbloom-*_"$machine".whl)
  python=$(command -v python3.11 || true)
  [ -n "$python" ] || fail "python3.11: not found; it is the oldest Python that the wheel is for"
  if [ ! -e "$wheels" ]; then
    "$python" -m pip --quiet --disable-pip-version-check download --no-deps --only-binary=:all: --python-version 3.11 \
      --platform "manylinux2014_$machine" --dest "$wheels.new" "numpy==1.24.*"
    mv "$wheels.new" "$wheels"
  fi
  if [ -z "$(emulator "$machine")" ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" --quiet --disable-pip-version-check install --no-index --find-links "$wheels" "$wheel"
    (cd / && "$venv/bin/python" -I -X dev "$root/dist/uses-wheel.py")
    return
  fi
  debian_root "$machine" extract python3
  rm -rf "$work/unpacked"
  for wheel in "$wheel" "$wheels"/*.whl; do python -m zipfile -e "$wheel" "$work/unpacked"; done
  PYTHONHOME=$debian/usr PYTHONPATH=$work/unpacked "$(emulator "$machine")" -L "$debian" "$debian/usr/bin/python3.11" -S dist/uses-wheel.py
}

# Every crate that is published, built from the archive that would be uploaded.
try_crates() {
  local crates
  crates=$(cargo metadata --offline --locked --no-deps --format-version 1 |
    python -c 'import json, sys; print(*("--package=" + p["name"] for p in json.load(sys.stdin)["packages"] if p["publish"] is None))')
  # shellcheck disable=SC2086
  env -u RUSTFLAGS cargo package --quiet --offline --locked --allow-dirty $crates
  # Outside the workspace, with a lock file of its own. It uses the published library; here the one beside it takes its place.
  env -u RUSTFLAGS cargo package --quiet --offline --locked --allow-dirty --manifest-path crates/fullbloom-slatedb/Cargo.toml \
    --config "patch.crates-io.fullbloom.path='$root/crates/fullbloom'" \
    --config "patch.crates-io.fullbloom-core.path='$root/crates/fullbloom-core'"
  echo "built from their archives:" ${crates//--package=/} fullbloom-slatedb
}
