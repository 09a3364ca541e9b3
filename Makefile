# The C libraries: libfullbloom and the drop-ins for libbloom. Needs cargo, and binutils for the static libraries.
#
#   make                          libfullbloom, libbloom.so.1 and libbloom.so.2, shared and static, in target/c
#   make install                  libfullbloom and libbloom 2.0, with headers, pkg-config files and a CMake package
#   make install LIBBLOOM=1       the same with libbloom 1.6
#   make install-runtime          only the shared libraries: libfullbloom.so.0, libbloom.so.1, libbloom.so.2
#   make uninstall
#   make dist                     everything that a release consists of, in dist/out; see dist/README.md
#   make web                      the page of web/, one file, in target/web/page; needs Node.js 20 and npm too
#   make web-serve                serves it on loopback
#
# PREFIX, DESTDIR, libdir, includedir, pkgconfigdir and cmakedir have their usual meaning. Install the command with cargo:
# cargo install --path crates/fullbloom-cli

PREFIX ?= /usr/local
libdir ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
pkgconfigdir ?= $(libdir)/pkgconfig
cmakedir ?= $(libdir)/cmake/fullbloom
LIBBLOOM ?= 2

CARGO ?= cargo
CARGO_FLAGS ?=
INSTALL ?= install
LD ?= ld
AR ?= ar
OBJCOPY ?= objcopy
CARGO_TARGET_DIR ?= target

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
OUT := $(CARGO_TARGET_DIR)/release
STAGE := target/c
# System libraries that Rust's standard library needs. The unwinder and the C library are not among them: the compiler adds
# them itself, as libgcc_s to a dynamic program and as libgcc_eh to a static one, where there is no libgcc_s.
PRIVATE := pthread m dl
empty :=
space := $(empty) $(empty)

# For each library: its package, the file name that cargo gives it, the file name and SONAME of the shared library.
fullbloom_crate := fullbloom-capi
fullbloom_built := fullbloom_c
fullbloom_so := libfullbloom.so.$(VERSION)
fullbloom_soname := libfullbloom.so.0
bloom1_crate := fullbloom-libbloom1
bloom1_built := bloom1
bloom1_so := libbloom.so.1.6
bloom1_soname := libbloom.so.1
bloom2_crate := fullbloom-libbloom2
bloom2_built := bloom2
bloom2_so := libbloom.so.2.0
bloom2_soname := libbloom.so.2

ifeq ($(filter $(LIBBLOOM),1 2),)
$(error LIBBLOOM is 1 or 2)
endif
libbloom_version := $(patsubst libbloom.so.%,%,$(bloom$(LIBBLOOM)_so))

.PHONY: all fullbloom bloom1 bloom2 install install-fullbloom install-libbloom install-runtime uninstall check clean dist web web-serve
all: fullbloom bloom1 bloom2

# The static library is one object. It exports only the symbols in the list and hides Rust's own, so that it can be linked
# together with other libraries written in Rust.
fullbloom bloom1 bloom2:
	$(CARGO) rustc --release --quiet $(CARGO_FLAGS) --target-dir $(CARGO_TARGET_DIR) --package $($@_crate) --crate-type cdylib,staticlib
	@mkdir -p $(STAGE)/$@
	$(OBJCOPY) --strip-unneeded $(OUT)/lib$($@_built).so $(STAGE)/$@/$($@_so)
	ln -sf $($@_so) $(STAGE)/$@/$($@_soname)
	ln -sf $($@_soname) $(STAGE)/$@/lib$(if $(filter fullbloom,$@),fullbloom,bloom).so
	$(LD) -r --gc-sections $(addprefix -u ,$(shell cat crates/$($@_crate)/abi/symbols)) \
	    $(OUT)/lib$($@_built).a -o $(STAGE)/$@/all.o
	$(OBJCOPY) --strip-debug --remove-section=.llvmbc --remove-section=.llvmcmd \
	    --keep-global-symbols=crates/$($@_crate)/abi/symbols $(STAGE)/$@/all.o
	rm -f $(STAGE)/$@/*.a
	$(AR) rcs $(STAGE)/$@/lib$(if $(filter fullbloom,$@),fullbloom,bloom).a $(STAGE)/$@/all.o
	@rm $(STAGE)/$@/all.o

# Installing runs no cargo if the libraries are built: the user who installs is often not the user who has cargo.
define made
$(STAGE)/$(1)/$($(1)_so):
	$$(MAKE) $(1)
endef
$(foreach name,fullbloom bloom1 bloom2,$(eval $(call made,$(name))))

install: install-fullbloom install-libbloom

# $(call install_shared,name)
define install_shared
	$(INSTALL) -d $(DESTDIR)$(libdir)
	$(INSTALL) -m 755 $(STAGE)/$(1)/$($(1)_so) $(DESTDIR)$(libdir)/$($(1)_so)
	ln -sf $($(1)_so) $(DESTDIR)$(libdir)/$($(1)_soname)
endef

# $(call install_rest,name,library,header,pc file,version)
define install_rest
	$(INSTALL) -d $(DESTDIR)$(includedir) $(DESTDIR)$(pkgconfigdir)
	ln -sf $($(1)_soname) $(DESTDIR)$(libdir)/lib$(2).so
	$(INSTALL) -m 644 $(STAGE)/$(1)/lib$(2).a $(DESTDIR)$(libdir)/lib$(2).a
	$(INSTALL) -m 644 crates/$($(1)_crate)/include/$(3) $(DESTDIR)$(includedir)/$(3)
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(libdir)|' -e 's|@INCLUDEDIR@|$(includedir)|' \
	    -e 's|@VERSION@|$(5)|' -e 's|@PRIVATE@|$(addprefix -l,$(PRIVATE))|' c/$(4).in > $(DESTDIR)$(pkgconfigdir)/$(4)
	chmod 644 $(DESTDIR)$(pkgconfigdir)/$(4)
endef

install-fullbloom: $(STAGE)/fullbloom/$(fullbloom_so)
	$(call install_shared,fullbloom)
	$(call install_rest,fullbloom,fullbloom,fullbloom.h,fullbloom.pc,$(VERSION))
	$(INSTALL) -d $(DESTDIR)$(cmakedir)
	sed -e "s|@LIBDIR@|$$(realpath -ms --relative-to=$(cmakedir) $(libdir))|" \
	    -e "s|@INCLUDEDIR@|$$(realpath -ms --relative-to=$(cmakedir) $(includedir))|" \
	    -e 's|@SO@|$(fullbloom_so)|' -e 's|@SONAME@|$(fullbloom_soname)|' -e 's|@PRIVATE@|$(subst $(space),;,$(PRIVATE))|' \
	    c/fullbloomConfig.cmake.in > $(DESTDIR)$(cmakedir)/fullbloomConfig.cmake
	# The fifth byte of an ELF file is 1 if pointers have four bytes, and 2 if they have eight.
	sed -e 's|@VERSION@|$(VERSION)|' \
	    -e "s|@POINTER_BYTES@|$$((4 * $$(od -An -tu1 -j4 -N1 $(STAGE)/fullbloom/$(fullbloom_so))))|" \
	    c/fullbloomConfigVersion.cmake.in > $(DESTDIR)$(cmakedir)/fullbloomConfigVersion.cmake
	chmod 644 $(DESTDIR)$(cmakedir)/fullbloomConfig.cmake $(DESTDIR)$(cmakedir)/fullbloomConfigVersion.cmake

install-libbloom: $(STAGE)/bloom$(LIBBLOOM)/$(bloom$(LIBBLOOM)_so)
	$(call install_shared,bloom$(LIBBLOOM))
	$(call install_rest,bloom$(LIBBLOOM),bloom,bloom.h,libbloom.pc,$(libbloom_version))

install-runtime: $(foreach name,fullbloom bloom1 bloom2,$(STAGE)/$(name)/$($(name)_so))
	$(call install_shared,fullbloom)
	$(call install_shared,bloom1)
	$(call install_shared,bloom2)

uninstall:
	rm -f $(addprefix $(DESTDIR)$(libdir)/,$(fullbloom_so) $(fullbloom_soname) libfullbloom.so libfullbloom.a \
	    $(bloom1_so) $(bloom1_soname) $(bloom2_so) $(bloom2_soname) libbloom.so libbloom.a)
	rm -f $(DESTDIR)$(includedir)/fullbloom.h $(DESTDIR)$(includedir)/bloom.h
	rm -f $(DESTDIR)$(pkgconfigdir)/fullbloom.pc $(DESTDIR)$(pkgconfigdir)/libbloom.pc
	rm -f $(DESTDIR)$(cmakedir)/fullbloomConfig.cmake $(DESTDIR)$(cmakedir)/fullbloomConfigVersion.cmake
	[ ! -d $(DESTDIR)$(cmakedir) ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(cmakedir)

check:
	$(CARGO) test -p fullbloom-capi -p fullbloom-libbloom1 -p fullbloom-libbloom2

clean:
	rm -rf $(STAGE)

dist:
	dist/run

# The page: the core as WebAssembly, its bindings, and everything else bundled into one HTML file.
WASM := crates/fullbloom-wasm
WASM_OUT := $(WASM)/target/wasm32-unknown-unknown/release
WEB := target/web

web:
	rustup target add wasm32-unknown-unknown
	cd $(WASM) && $(CARGO) build --release --lib --locked --target wasm32-unknown-unknown
	cd $(WASM) && $(CARGO) build --locked --package fullbloom-bindgen
	$(WASM)/target/debug/fullbloom-bindgen $(WASM_OUT)/fullbloom_wasm.wasm $(WEB)/wasm
	cd web && npm ci --no-audit --no-fund --silent
	web/node_modules/.bin/tsc --noEmit --project web
	node web/build.mjs $(WEB)/wasm $(WEB)/page

web-serve:
	node web/serve.mjs $(WEB)/page
