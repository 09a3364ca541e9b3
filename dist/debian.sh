# Debian packages; sourced by dist/run. They are built by dpkg-deb alone, from the stages that build.sh made.

# control PACKAGE MACHINE DEPENDS SECTION DESCRIPTION [FIELD...]: starts a package in $deb, with its control file.
control() {
  local package=$1 machine=$2 depends=$3 section=$4 description=$5
  shift 5
  deb=$work/deb/$package-$machine
  rm -rf "$deb"
  mkdir -p "$deb/DEBIAN" "$deb/usr/share/doc/$package"
  {
    printf '%s: %s\n' Package "$package" Version "$version-1" Architecture "$(debian_of "$machine")" \
      Maintainer "The fullbloom authors <authors@fullbloom.invalid>" Section "$section" Priority optional
    [ -z "$depends" ] || echo "Depends: $depends"
    [ $# -eq 0 ] || printf '%s\n' "$@"
    echo "Description: $description"
  } > "$deb/DEBIAN/control"
  {
    echo "fullbloom is licensed under the MIT licence or the Apache License, version 2.0."
    echo
    cat LICENSE-MIT
    echo
    echo "On Debian systems the text of the Apache License is in /usr/share/common-licenses/Apache-2.0."
  } > "$deb/usr/share/doc/$package/copyright"
  gzip -9 --no-name --stdout CHANGELOG.md > "$deb/usr/share/doc/$package/changelog.gz"
}

# The package in $deb becomes a file in $out.
finish() {
  find "$deb" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
  dpkg-deb --root-owner-group -Zxz --build "$deb" "$out" > /dev/null
}

deb_of_command() {
  local machine=$1 stage=$work/stage/$1 page
  control fullbloom "$machine" "" utils "Bloom filters of storage engines, bit for bit
 Plans, builds, queries, inspects, verifies and rebuilds the Bloom filters of
 Cassandra, ScyllaDB, RocksDB, LevelDB, libbloom, Parquet and others."
  install -D -m 755 "$stage/fullbloom" "$deb/usr/bin/fullbloom"
  mkdir -p "$deb/usr/share/man/man1"
  for page in "$stage"/man/*.1; do gzip -9 --no-name --stdout "$page" > "$deb/usr/share/man/man1/$(basename "$page").gz"; done
  install -D -m 644 "$stage/completions/fullbloom.bash" "$deb/usr/share/bash-completion/completions/fullbloom"
  install -D -m 644 "$stage/completions/_fullbloom" "$deb/usr/share/zsh/vendor-completions/_fullbloom"
  install -D -m 644 "$stage/completions/fullbloom.fish" "$deb/usr/share/fish/vendor_completions.d/fullbloom.fish"
  gzip -9 --no-name --stdout "$stage/THIRD-PARTY.txt" > "$deb/usr/share/doc/fullbloom/THIRD-PARTY.txt.gz"
  finish
}

debs_of_libraries() {
  local machine=$1 triplet=$1-linux-gnu stage=$work/stage/$1/c installed=$work/deb/installed-$1
  local libc="libc6 (>= $glibc), libgcc-s1 (>= 3.0)"
  rm -rf "$installed"
  make --silent install-fullbloom STAGE="$stage" DESTDIR="$installed" PREFIX=/usr libdir="/usr/lib/$triplet"

  control libfullbloom0 "$machine" "$libc" libs "Bloom filters of storage engines, for C
 The shared library. Every dialect behind opaque handles." "Multi-Arch: same"
  mkdir -p "$deb/usr/lib/$triplet"
  cp -P "$installed/usr/lib/$triplet"/libfullbloom.so.* "$deb/usr/lib/$triplet/"
  echo "libfullbloom 0 libfullbloom0 (>= $version)" > "$deb/DEBIAN/shlibs"
  echo "activate-noawait ldconfig" > "$deb/DEBIAN/triggers"
  finish

  control libfullbloom-dev "$machine" "libfullbloom0 (= $version-1)" libdevel "Bloom filters of storage engines, for C: development
 The header, the static library, the pkg-config file and the CMake package." "Multi-Arch: same"
  mkdir -p "$deb/usr/lib/$triplet"
  cp -P "$installed/usr/lib/$triplet"/libfullbloom.{so,a} "$deb/usr/lib/$triplet/"
  cp -r "$installed/usr/lib/$triplet/pkgconfig" "$installed/usr/lib/$triplet/cmake" "$deb/usr/lib/$triplet/"
  cp -r "$installed/usr/include" "$deb/usr/"
  finish

  # Debian's libbloom1 keeps its files. The loader finds ours first while the alternative is chosen.
  control libbloom-fullbloom "$machine" "$libc" libs "drop-in for libbloom 1.6 and 2.0, faster
 The shared libraries libbloom.so.1 and libbloom.so.2 with the interface and the
 bits of the originals. Programs use them without being compiled again.
 .
 update-alternatives --config libbloom-$triplet chooses between these
 libraries and the system's. Run ldconfig afterwards." "Multi-Arch: same"
  local directory=/usr/lib/$triplet/fullbloom
  mkdir -p "$deb$directory" "$deb/usr/share/fullbloom"
  cp -P "$stage"/bloom1/libbloom.so.1* "$stage"/bloom2/libbloom.so.2* "$deb$directory/"
  echo "$directory" > "$deb/usr/share/fullbloom/libbloom-$triplet.conf"
  echo "# libbloom of the system" > "$deb/usr/share/fullbloom/libbloom-$triplet-system.conf"
  script postinst "$triplet"
  script prerm "$triplet"
  finish
}

# script NAME TRIPLET: a maintainer script from its template.
script() {
  sed "s/@TRIPLET@/$2/g" "dist/debian/libbloom.$1" > "$deb/DEBIAN/$1"
  chmod 755 "$deb/DEBIAN/$1"
}
