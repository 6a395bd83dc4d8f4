# Makefile -- one static archive per layer of src/LAYERS, linked into the programs and the unit tests.
#
#   make                          release build; programs in build/release/bin, copied to src/
#   make SANITIZER=address        also undefined, thread, or a list: address,undefined
#   make DEBUG=1                  no optimization, every debugAssert
#   make bench [BENCHARGS="--quick --peer redis=PATH"]     this server beside its peers: utils/bench/README.md
#   make unit [LAYER=ds] [FILTER=word]      unit tests of all layers, or some, or some tests of them
#   make microbench [MICROARGS="--quick --csv FILE"]      nanoseconds of dict, parser, ring, listpack
#   make fuzz [FUZZ=listpack] [SECONDS_EACH=10]      clang's fuzzer on decoders of bytes from outside
#   make sim                      the simulation of clusters, in build/release/bin: tests/sim/cluster/README.md
#   make test | check | format | demo | clean | distclean
#   make install [PREFIX=/usr/local] [DESTDIR=...] [REDIS_LINKS=yes]      also valkey.conf, man pages, completions, systemd
#                                 units; make uninstall
#   make deb                      a Debian package in build/release/deb: packaging/README.md
#   make CC=clang | CROSS=aarch64-linux-gnu- [RUN="qemu-aarch64 -L DIR"]    another compiler; another machine
#   make BUILD=/tmp/elsewhere     leave src/ and build/ untouched
#
# A layer is compiled with the include paths of its own folder and those below it, so an include that points up
# does not compile. The tests of a layer link the archives at or below it, so a call that points up does not link. New .c
# files are found automatically. Each variant has its own objects, which depend on the flags that they were compiled with.
#
# SPDX-License-Identifier: BSD-3-Clause

.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash
comma := ,

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CROSS ?=
SANITIZER ?=
DEBUG ?=
LTO ?= auto
MALLOC ?= $(if $(SANITIZER),libc,jemalloc)
OPTIMIZATION ?= -O3
ifeq ($(origin CC),default)
CC := $(CROSS)gcc
endif
PKG_CONFIG ?= $(CROSS)pkg-config

# ---- Variant -------------------------------------------------------------------------------------------------------
WARN := -Wall -Wextra -Wpedantic
# The same sources give the same bytes in any folder and at any time (dev/check_reproducible): no path of this machine,
# random names seeded by the file's name, and the linker's hash of its input as build ID.
SAME_FLAGS := -ffile-prefix-map=$(CURDIR)=.
# A symbol is exported to libraries only if it is declared so: the compiler inlines more functions that no library can call
# (src/base/symbols.c).
# Without the last flag gcc 12 removes calls that it must keep: tests/unit/base/compiler_test.c.
BASE_FLAGS := -std=c11 -D_GNU_SOURCE $(WARN) -g -fno-omit-frame-pointer -pthread -fPIE -fvisibility=hidden $(SAME_FLAGS) \
    -fno-delete-null-pointer-checks
LINK_FLAGS := -g -pthread -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--build-id=sha1 $(SAME_FLAGS)
ARCHIVER := $(CROSS)ar
ifneq ($(SANITIZER),)
VARIANT := $(subst $(comma),-,$(SANITIZER))
MODE_FLAGS := -O1 -DDEBUG_ASSERTIONS -fsanitize=$(SANITIZER) -fno-sanitize-recover=all
LINK_FLAGS += -fsanitize=$(SANITIZER)
else ifneq ($(filter-out 0 no,$(DEBUG)),)
VARIANT := debug
MODE_FLAGS := -O0 -DDEBUG_ASSERTIONS
else
VARIANT := release
MODE_FLAGS := $(OPTIMIZATION)
ifneq ($(OPTIMIZATION),-O0)
MODE_FLAGS += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
PROTECTOR := -fstack-protector-strong
ifneq ($(LTO),no)
ifneq ($(findstring clang,$(CC)),)
MODE_FLAGS += -flto=thin
ARCHIVER := $(shell $(CC) -print-prog-name=llvm-ar)
else
MODE_FLAGS += -flto=$(LTO)
LINK_FLAGS += $(OPTIMIZATION)
ARCHIVER := $(CROSS)gcc-ar
endif
LINK_FLAGS += $(filter -flto%,$(MODE_FLAGS))
endif
endif
ifeq ($(MALLOC),libc)
MODE_FLAGS += -DUSE_LIBC_MALLOC
endif

# A value from the environment or the command line is used unchanged.
ifeq ($(origin AR),default)
AR := $(ARCHIVER)
endif
ifneq ($(CROSS),)
VARIANT := $(VARIANT)-$(CROSS:%-=%)
endif

OUT := $(BUILD)/$(VARIANT)
BIN := $(OUT)/bin

# ---- Libraries -----------------------------------------------------------------------------------------------------
# Goals that compile nothing need no library.
COMPILES := $(filter-out clean distclean format check demo uninstall fuzz fuzz-run-%,$(or $(MAKECMDGOALS),all))
ifneq ($(COMPILES),)
has = $(shell $(PKG_CONFIG) --exists $1 2>/dev/null && echo yes)
need = $(if $(call has,$1),,$(error Library $1 is missing. Install it with: deps/install))
ifneq ($(MALLOC),libc)
ifeq ($(shell command -v $(PKG_CONFIG)),)
$(error $(PKG_CONFIG) is missing. Install it with: deps/install)
endif
$(call need,jemalloc)
MALLOC_LIBS := $(shell $(PKG_CONFIG) --libs jemalloc)
MODE_FLAGS += $(shell $(PKG_CONFIG) --cflags jemalloc)
endif
# liblzf has no .pc file, and only some distributions put its header into a folder of its own. Layers below ds do not need
# it.
LZF_DIR ?= $(firstword $(dir $(wildcard $(addsuffix /lzf.h,/usr/include/liblzf /usr/include /usr/local/include))))
ifeq ($(LZF_DIR)$(filter base,$(LAYER)),)
$(error Library liblzf is missing. Install it with: deps/install)
endif
LZF_FLAGS := $(if $(filter-out /usr/include/,$(LZF_DIR)),-isystem $(LZF_DIR))
LZF_LIBS := -llzf
$(if $(filter script server,$(or $(LAYER),server)),$(call need,lua5.1))
LUA_FLAGS := $(shell $(PKG_CONFIG) --cflags lua5.1)
LUA_LIBS := $(shell $(PKG_CONFIG) --libs-only-L lua5.1) -llua5.1
ifeq ($(call has,libsystemd),yes)
SYSTEMD_FLAGS := -DHAVE_LIBSYSTEMD
SYSTEMD_LIBS := $(shell $(PKG_CONFIG) --libs libsystemd)
endif
ifneq ($(filter-out base ds resp,$(or $(LAYER),all)),)
$(call need,openssl)
endif
TLS_FLAGS := $(shell $(PKG_CONFIG) --cflags openssl)
TLS_LIBS := $(shell $(PKG_CONFIG) --libs openssl)
endif

CFLAGS_ALL := $(BASE_FLAGS) $(MODE_FLAGS) $(CPPFLAGS) $(CFLAGS)
LAYER_FLAGS := $(LZF_FLAGS) $(LUA_FLAGS) $(TLS_FLAGS) $(SYSTEMD_FLAGS)
BASE_LIBS := $(MALLOC_LIBS) -lm -ldl
TOOL_LIBS := $(TLS_LIBS) $(BASE_LIBS)

# ---- Layers --------------------------------------------------------------------------------------------------------
# Each word is layer=below,below,... with the layers below in link order (top first). A line of src/LAYERS with a colon
# names the rooms of a layer; a word of ROOM_MAP is layer/room=room,room,... with the rooms below.
LAYER_MAP := $(shell awk '{ sub(/\#.*/, "") } NF && !/:/ { line[++n] = $$0 } \
    END { for (i = n; i; i--) { split(line[i], at, " "); for (j in at) print at[j] "=" below; \
          gsub(/[ \t]+/, ",", line[i]); below = line[i] (below == "" ? "" : ",") below } }' src/LAYERS)
# A layer without a folder is in the order already, and has nothing to build.
there = $(foreach l,$1,$(if $(wildcard src/$l),$l))
LAYERS := $(call there,$(foreach m,$(LAYER_MAP),$(firstword $(subst =, ,$m))))
$(foreach m,$(LAYER_MAP),$(eval BELOW_$(firstword $(subst =, ,$m)) := $(call there,$(subst $(comma), ,$(word 2,$(subst =, ,$m))))))
ROOM_MAP := $(shell awk '{ sub(/\#.*/, "") } /:/ { split($$0, part, ":[ \t]*"); n = split(part[2], line, "[ \t]*>[ \t]*"); below = ""; \
    for (i = n; i; i--) { split(line[i], at, " "); for (j in at) print part[1] "/" at[j] "=" below; \
        gsub(/[ \t]+/, ",", line[i]); below = line[i] (below == "" ? "" : ",") below } }' src/LAYERS)
ROOMS := $(foreach m,$(ROOM_MAP),$(firstword $(subst =, ,$m)))
$(foreach m,$(ROOM_MAP),$(eval BELOW_$(firstword $(subst =, ,$m)) := $(subst $(comma), ,$(word 2,$(subst =, ,$m)))))
TOOL_LAYERS := event resp ds base

# Folders of the layers $1, with their rooms; include paths of a layer's own files, and of the files of its room $2.
folders = $(foreach l,$1,$(sort src/$l $(addprefix src/,$(filter $l/%,$(ROOMS))) $(wildcard src/$l/table)))
layer_includes = $(addprefix -I,$(call folders,$1 $(BELOW_$1)))
room_includes = -Isrc/$1/$2 $(addprefix -Isrc/$1/,$(BELOW_$1/$2)) $(addprefix -I,$(call folders,$(BELOW_$1)))
layer_libs = $(if $(filter ds,$1 $(BELOW_$1)),$(LZF_LIBS)) $(if $(filter script,$1 $(BELOW_$1)),$(LUA_LIBS)) \
    $(if $(filter event,$1 $(BELOW_$1)),$(TLS_LIBS)) $(if $(filter server,$1),$(SYSTEMD_LIBS)) $(BASE_LIBS)
archive = $(OUT)/lib$1.a
archives = $(foreach l,$1,$(call archive,$l))
sources = $(sort $(wildcard $1/*.c $1/*/*.c))
objects = $(patsubst %.c,$(OUT)/%.o,$(call sources,$1))

PROGRAMS := $(if $(wildcard src/server/main.c),valkey-server) \
            $(if $(call sources,src/tools/cli),valkey-cli) $(if $(call sources,src/tools/bench),valkey-benchmark)
# Links to the server's binary, which chooses the program by the name under which it runs (src/server/programs.c).
PROGRAM_LINKS := $(if $(filter valkey-server,$(PROGRAMS)),valkey-check-rdb valkey-check-aof)
# Copies in src/, where users and scripts expect them; of the default release build only.
COPIES := $(if $(filter build/release,$(OUT)),$(addprefix src/,$(PROGRAMS)))
LINK_COPIES := $(if $(COPIES),$(addprefix src/,$(PROGRAM_LINKS)))
TESTED_LAYERS := $(if $(wildcard tests/unit/tools/*_test.c),tools) \
                 $(foreach l,$(LAYERS),$(if $(wildcard tests/unit/$l/*_test.c tests/unit/$l/*/*_test.c),$l))
UNIT_BINARIES := $(foreach l,$(TESTED_LAYERS),$(OUT)/unit/$l)

.PHONY: all unit unit-build sim fuzz fuzz-build microbench microbench-build bench test demo check format install uninstall texts deb clean distclean
all: $(call archives,$(LAYERS)) $(addprefix $(BIN)/,$(PROGRAMS) $(PROGRAM_LINKS)) $(COPIES) $(LINK_COPIES)

# ---- Hot files ----------------------------------------------------------------------------------------------------
# Files that each GET and SET runs through: in them a function gets a stack protector only for an array of char, not for
# passing the address of a local. User instructions per GET / SET, one thread, pipelines of 16, 512 B: no protectors
# 1,654 / 2,172, these 1,642 / 2,171, -fstack-protector-strong everywhere 1,700 / 2,219.
HOT_FILES := base/clock ds/memory_prefetch resp/request_reader object/object object/value_string commands/string/t_string \
    net/thread/request_block net/session/command_batch net/io/client_io net/io/client_io_read \
    net/io/client_io_report net/io/client_io_write net/thread/io_threads
$(foreach f,$(HOT_FILES),$(if $(wildcard src/$f.c),,$(error HOT_FILES names src/$f.c, which is not there)))
ifneq ($(PROTECTOR),)
$(foreach f,$(HOT_FILES),$(OUT)/src/$f.o): PROTECTOR := -fstack-protector
endif

# ---- Rules ---------------------------------------------------------------------------------------------------------
# remember FILE,TEXT rewrites FILE only if TEXT differs, so that its dependents are remade only then.
differs = $(subst x$1,,x$2)$(subst x$2,,x$1)
remember = $(if $(call differs,$(file <$1),= $(strip $2)),$(file >$1,= $(strip $2)))
ifneq ($(COMPILES),)
ALL_DIRS := $(addprefix src/,$(LAYERS) $(ROOMS)) src/tools/common src/tools/cli src/tools/cli/cluster src/tools/bench \
            $(addprefix tests/unit/,$(LAYERS) $(ROOMS) tools support)
# A build folder that is older than the rooms has a file in place of the folder of the room "list".
$(shell find $(OUT) -name list -type f -delete 2>/dev/null; \
    mkdir -p $(BIN) $(OUT)/unit $(OUT)/micro $(OUT)/tests/bench/micro $(OUT)/fuzz $(OUT)/tests/fuzz $(OUT)/tests/sim/cluster $(addprefix $(OUT)/,$(ALL_DIRS)))
$(call remember,$(OUT)/flags,$(CC) $(PROTECTOR) $(HOT_FILES) $(CFLAGS_ALL) $(LAYER_FLAGS) $(LAYER_MAP) $(ROOM_MAP))
$(call remember,$(OUT)/link,$(CC) $(LINK_FLAGS) $(LDFLAGS) $(LZF_LIBS) $(LUA_LIBS) $(SYSTEMD_LIBS) $(TOOL_LIBS))
$(foreach d,$(ALL_DIRS),$(call remember,$(OUT)/$d/sources.txt,$(call sources,$d)))
endif

COMPILE = $(CC) $(PROTECTOR) $(CFLAGS_ALL) $(INCLUDES) -frandom-seed=$< -MMD -MP -c -o $@ $<
say = @echo "  $1 $(if $2,$2,$@)";

define layer_rules
$(OUT)/src/$1/%.o: INCLUDES = $(call layer_includes,$1) $(LAYER_FLAGS)
$(OUT)/src/$1/%.o: src/$1/%.c $(OUT)/flags
	$$(call say,CC  ,$$<) $$(COMPILE)
$(call archive,$1): $(call objects,src/$1) $(OUT)/src/$1/sources.txt
	$$(call say,AR  ) rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)
$(OUT)/tests/unit/$1/%.o: INCLUDES = -Itests/unit/support -Itests/unit/$1 -Itests/unit $(call layer_includes,$1) $(LAYER_FLAGS)
$(OUT)/tests/unit/$1/%.o: tests/unit/$1/%.c $(OUT)/flags
	$$(call say,CC  ,$$<) $$(COMPILE)
$(OUT)/unit/$1: $(call objects,tests/unit/$1) $(OUT)/tests/unit/support/unit.o $(call archives,$1 $(BELOW_$1)) \
        $(OUT)/tests/unit/$1/sources.txt $(OUT)/link
	$$(call say,LINK) $$(CC) $(LINK_FLAGS) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) \
	    $(call layer_libs,$1)
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rules,$l)))
define room_rules
$(OUT)/src/$1/$2/%.o: INCLUDES = $(call room_includes,$1,$2) $(LAYER_FLAGS)
endef
$(foreach r,$(ROOMS),$(eval $(call room_rules,$(firstword $(subst /, ,$r)),$(lastword $(subst /, ,$r)))))

# The page of the metrics port as bytes of an array.
$(OUT)/src/web/page.inc: src/web/page.html
	$(call say,PAGE,$<) od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g' >$@
$(OUT)/src/web/web_page.o: INCLUDES += -I$(OUT)/src/web
$(OUT)/src/web/web_page.o: $(OUT)/src/web/page.inc

$(OUT)/tests/unit/support/%.o: INCLUDES = -Isrc/base
$(OUT)/tests/unit/support/%.o: tests/unit/support/%.c $(OUT)/flags
	$(call say,CC  ,$<) $(COMPILE)

$(OUT)/src/tools/cli/cluster/%.o: INCLUDES = -I$(<D) -Isrc/tools/cli -Isrc/tools/common $(addprefix -Isrc/,$(TOOL_LAYERS)) \
    $(TLS_FLAGS)
$(OUT)/src/tools/%.o: INCLUDES = -I$(<D) -Isrc/tools/common $(addprefix -Isrc/,$(TOOL_LAYERS)) $(TLS_FLAGS)
$(OUT)/src/tools/%.o: src/tools/%.c $(OUT)/flags
	$(call say,CC  ,$<) $(COMPILE)

# The files of the programs that need neither a server nor a terminal.
TOOL_PIECES := $(call objects,src/tools/common) $(addprefix $(OUT)/src/tools/,\
    $(addprefix bench/,fuzz_commands.o json_report.o schedule.o results.o standard_tests.o svg_report.o text_escape.o workload.o) \
    $(addprefix cli/,reply_text.o line_text.o line_keys.o line_screen.o line_history.o \
        snapshot_check.o size_spread.o progress_line.o terminal.o \
        cluster/manager_check.o cluster/manager_view.o cluster/plan_create.o cluster/plan_fix.o cluster/plan_move.o))
$(OUT)/tests/unit/tools/%.o: INCLUDES = -Itests/unit/support $(addprefix -Isrc/,tools/common tools/bench tools/cli tools/cli/cluster \
    $(TOOL_LAYERS)) $(TLS_FLAGS)
$(OUT)/tests/unit/tools/%.o: tests/unit/tools/%.c $(OUT)/flags
	$(call say,CC  ,$<) $(COMPILE)
$(OUT)/unit/tools: $(call objects,tests/unit/tools) $(OUT)/tests/unit/support/unit.o $(TOOL_PIECES) \
        $(call archives,$(TOOL_LAYERS)) $(OUT)/tests/unit/tools/sources.txt $(OUT)/link
	$(call say,LINK) $(CC) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(TOOL_LIBS)

SERVER_BELOW := $(BELOW_server)
$(BIN)/valkey-server: $(call objects,src/server) $(call archives,$(SERVER_BELOW)) $(OUT)/src/server/sources.txt $(OUT)/link
	$(call say,LINK) $(CC) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(call layer_libs,server)

define tool_rules
$(BIN)/$1: $(call objects,src/tools/$2) $(call objects,src/tools/common) $(call archives,$(TOOL_LAYERS)) \
        $(OUT)/src/tools/$2/sources.txt $(OUT)/src/tools/common/sources.txt $(OUT)/link
	$$(call say,LINK) $$(CC) $(LINK_FLAGS) $(LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $(TOOL_LIBS)
endef
$(eval $(call tool_rules,valkey-cli,cli))
$(eval $(call tool_rules,valkey-benchmark,bench))

$(addprefix $(BIN)/,$(PROGRAM_LINKS)): $(BIN)/valkey-server
	@ln -sf valkey-server $@

$(LINK_COPIES): src/valkey-server
	@ln -sf valkey-server $@

$(COPIES): src/%: $(BIN)/%
	@cp -f $< $@.new && mv -f $@.new $@

-include $(wildcard $(OUT)/src/*/*.d $(OUT)/src/*/*/*.d $(OUT)/src/*/*/*/*.d $(OUT)/tests/unit/*/*.d $(OUT)/tests/unit/*/*/*.d \
    $(OUT)/tests/bench/micro/*.d $(OUT)/tests/fuzz/*.d $(OUT)/tests/sim/cluster/*.d)

# ---- Tests ---------------------------------------------------------------------------------------------------------
unit-build: $(UNIT_BINARIES)

# With -j several layers run at once, and the output of each is printed in one piece. A program that hangs prints its
# current test on a signal (tests/unit/support/unit.c) and is ended. A word of FILTER that matches no test of any layer
# is an error.
UNIT_SECONDS ?= $(if $(SANITIZER)$(RUN),1800,900)
UNIT_RUNS := $(addprefix run-unit-,$(or $(LAYER),$(TESTED_LAYERS)))
.PHONY: $(UNIT_RUNS)
$(UNIT_RUNS): run-unit-%: $(OUT)/unit/%
	@rm -f $<.failed; { echo "--- $<"; timeout --signal=USR2 --kill-after=10 $(UNIT_SECONDS) $(RUN) $< $(FILTER); code=$$?; \
	    [ $$code = 0 ] || $(if $(FILTER),[ $$code = 3 ] ||) echo "$< (exit code $$code)" >$<.failed; } \
	    $(if $(word 2,$(UNIT_RUNS)),>$<.log 2>&1; cat $<.log)

unit: $(UNIT_RUNS)
	@bad=$$(cat $(UNIT_RUNS:run-unit-%=$(OUT)/unit/%.failed) 2>/dev/null); \
	for word in $(FILTER); do \
	    for program in $(UNIT_RUNS:run-unit-%=$(OUT)/unit/%); do $(RUN) $$program --list; done | \
	        awk -v word="$$word" 'index($$2, word) { n++ } END { exit !n }' || bad="$$bad no test has \"$$word\" in its name;"; \
	done; \
	if [ -n "$$bad" ]; then echo "failed:" $$bad; exit 1; fi

# runtest finds the programs of this variant in VALKEY_BIN_DIR.
test: all
	VALKEY_BIN_DIR=$(abspath $(BIN)) ./runtest $(TESTARGS)

# Works on a fresh machine: installs missing packages before the libraries are searched for.
demo:
	deps/install
	$(MAKE) --no-print-directory all
	VALKEY_BIN_DIR=$(abspath $(BIN)) utils/demo.sh

check:
	dev/check_layers
	dev/check_tree
	dev/check_format
	dev/make_command_table.py --check
	dev/check_programs
	dev/check_prose --selftest
	dev/check_prose
	dev/mutate --selftest

format:
	clang-format -i $(wildcard src/*/*.[ch] src/*/*/*.[ch] tests/unit/*/*.[ch] tests/unit/*/*/*.[ch] tests/bench/micro/*.[ch] tests/fuzz/*.[ch] tests/sim/*/*.[ch])

# Release only: figures of another variant would mean nothing.
MICRO_LAYERS := resp ds base
MICRO_PROGRAMS := $(patsubst tests/bench/micro/%.c,$(OUT)/micro/%,$(wildcard tests/bench/micro/*.c))
$(OUT)/tests/bench/micro/%.o: INCLUDES = $(addprefix -Isrc/,$(MICRO_LAYERS))
$(OUT)/tests/bench/micro/%.o: tests/bench/micro/%.c $(OUT)/flags
	$(call say,CC  ,$<) $(COMPILE)
$(OUT)/micro/%: $(OUT)/tests/bench/micro/%.o $(call archives,$(MICRO_LAYERS)) $(OUT)/link
	$(call say,LINK) $(CC) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(BASE_LIBS)

microbench-build: $(MICRO_PROGRAMS)

microbench: $(MICRO_PROGRAMS)
	tests/bench/micro/run $(OUT)/micro $(MICROARGS)

bench: all microbench-build
	VALKEY_BIN_DIR=$(abspath $(BIN)) utils/bench/run $(BENCHARGS)

# Each tests/fuzz/NAME_fuzz.c is a program that begins with the inputs in tests/fuzz/corpus/NAME. Inputs that it finds
# stay in the build folder, as does an input that fails, which the output names.
FUZZ_LAYERS := repl commands net script persist web engine client store object event resp cluster_core ds base
FUZZ_SANITIZER := address,undefined,fuzzer-no-link
FUZZ ?= $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))
SECONDS_EACH ?= 10
$(OUT)/tests/fuzz/%.o: INCLUDES = -Itests/unit/support -Itests/unit/client $(addprefix -I,$(call folders,$(FUZZ_LAYERS))) $(LAYER_FLAGS)
$(OUT)/tests/fuzz/%.o: tests/fuzz/%.c $(OUT)/flags
	$(call say,CC  ,$<) $(COMPILE)
$(addprefix $(OUT)/fuzz/,$(FUZZ)): $(OUT)/fuzz/%: $(OUT)/tests/fuzz/%_fuzz.o $(call archives,$(FUZZ_LAYERS)) \
        $(OUT)/link
	$(call say,LINK) $(CC) $(LINK_FLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	    $(call layer_libs,script)

fuzz-build: $(addprefix $(OUT)/fuzz/,$(FUZZ))

fuzz:
	$(MAKE) --no-print-directory CC=clang SANITIZER=$(FUZZ_SANITIZER) FUZZ="$(FUZZ)" fuzz-build
	$(MAKE) --no-print-directory --output-sync=target FUZZ="$(FUZZ)" $(addprefix fuzz-run-,$(FUZZ))

FUZZ_OUT = $(BUILD)/$(subst $(comma),-,$(FUZZ_SANITIZER))/fuzz
fuzz-run-%:
	@echo "--- $*"; mkdir -p $(FUZZ_OUT)/found/$*; \
	    $(FUZZ_OUT)/$* -max_total_time=$(SECONDS_EACH) -print_final_stats=1 -verbosity=0 -artifact_prefix=$(FUZZ_OUT)/$*- \
	        $(FUZZARGS) $(FUZZ_OUT)/found/$* tests/fuzz/corpus/$*

# The simulation of clusters: tests/sim/cluster/README.md.
SIM_LAYERS := cluster_core ds base
$(OUT)/tests/sim/cluster/%.o: INCLUDES = $(addprefix -Isrc/,$(SIM_LAYERS))
$(OUT)/tests/sim/cluster/%.o: tests/sim/cluster/%.c $(OUT)/flags
	$(call say,CC  ,$<) $(COMPILE)
$(BIN)/sim-cluster: $(call objects,tests/sim/cluster) $(call archives,$(SIM_LAYERS)) $(OUT)/link
	$(call say,LINK) $(CC) $(LINK_FLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LZF_LIBS) $(BASE_LIBS)

sim: $(BIN)/sim-cluster

# ---- Installation --------------------------------------------------------------------------------------------------
# An existing configuration file stays, as a user may have edited it. The redis-* names are made only on request, as another
# package may own them.
BIN_DIR ?= $(PREFIX)/bin
CONFIG_DIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)/valkey
UNIT_DIR ?= $(PREFIX)/lib/systemd/system
SYSUSERS_DIR ?= $(PREFIX)/lib/sysusers.d
TMPFILES_DIR ?= $(PREFIX)/lib/tmpfiles.d
MAN_DIR ?= $(PREFIX)/share/man
BASH_DIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_DIR ?= $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
FISH_DIR ?= $(PREFIX)/share/fish/vendor_completions.d
REDIS_LINKS ?= no

# All installed files but programs and configuration, by their folder; made below $(OUT)/texts.
INSTALLED := valkey-server valkey-cli valkey-benchmark valkey-check-rdb valkey-check-aof
MAN_PAGES := $(patsubst packaging/man/%.scd,%,$(wildcard packaging/man/*.scd))
TEXTS := $(addprefix $(UNIT_DIR)/,valkey-server.service valkey-server@.service) \
    $(SYSUSERS_DIR)/valkey.conf $(TMPFILES_DIR)/valkey.conf \
    $(foreach p,$(MAN_PAGES),$(MAN_DIR)/man$(subst .,,$(suffix $p))/$p) \
    $(addprefix $(BASH_DIR)/,$(INSTALLED)) $(INSTALLED:%=$(ZSH_DIR)/_%) $(INSTALLED:%=$(FISH_DIR)/%.fish)

# $1 the unit, $2 its kind, $3 an example of its name, $4 its title, $5 its configuration, $6 its data.
unit_words = -e 's|@UNIT@|$1|; s|@WHAT@|$2|; s|@EXAMPLE@|$3|; s|@DESCRIPTION@|$4|; s|@CONFIG@|$5|; s|@STATE@|$6|' \
    -e 's|@BINDIR@|$(BIN_DIR)|; s|@CONFIGDIR@|$(CONFIG_DIR)|' \
    -e 's|@TYPE@|$(if $(SYSTEMD_FLAGS),notify,exec)|; s|@SUPERVISED@|$(if $(SYSTEMD_FLAGS),systemd,no)|' \
    packaging/systemd/valkey-server.service.in

# A page does not have the day on which it was made: the same sources give the same page.
texts:
	@rm -rf $(OUT)/texts && mkdir -p $(addprefix $(OUT)/texts,$(sort $(dir $(TEXTS))))
	@sed $(call unit_words,valkey-server.service,the server,valkey-server,In-memory key-value server,$(CONFIG_DIR)/valkey.conf,valkey) \
	    >$(OUT)/texts$(UNIT_DIR)/valkey-server.service
	@sed $(call unit_words,valkey-server@.service,a server for each NAME.conf,valkey-server@NAME,In-memory key-value server %i,$(CONFIG_DIR)/%i.conf,valkey/%i) \
	    >$(OUT)/texts$(UNIT_DIR)/valkey-server@.service
	@cp packaging/systemd/valkey.sysusers $(OUT)/texts$(SYSUSERS_DIR)/valkey.conf
	@sed 's|@CONFIGDIR@|$(CONFIG_DIR)|' packaging/systemd/valkey.tmpfiles.in >$(OUT)/texts$(TMPFILES_DIR)/valkey.conf
	@set -e -o pipefail; if ! command -v python3 >/dev/null; then \
	    echo "  SKIP    man pages and completions: python3 is missing. Install it with: deps/install"; exit 0; fi; \
	packaging/texts completions $(OUT)/completions; \
	cp $(OUT)/completions/bash/* $(OUT)/texts$(BASH_DIR); cp $(OUT)/completions/zsh/* $(OUT)/texts$(ZSH_DIR); \
	cp $(OUT)/completions/fish/* $(OUT)/texts$(FISH_DIR); \
	if ! command -v scdoc >/dev/null; then \
	    echo "  SKIP    man pages: scdoc is missing. Install it with: deps/install"; exit 0; fi; \
	for p in $(MAN_PAGES); do packaging/texts page --configdir $(CONFIG_DIR) packaging/man/$$p.scd | scdoc | \
	    sed 's/^\(\.TH "[^"]*" "[^"]*"\) "[^"]*"/\1 ""/' >$(OUT)/texts$(MAN_DIR)/man$${p##*.}/$$p; done

install: all texts
	@install -d $(addprefix $(DESTDIR),$(BIN_DIR) $(CONFIG_DIR))
	@set -e; for p in $(PROGRAMS) $(PROGRAM_LINKS); do \
	    if [ -L $(BIN)/$$p ]; then ln -sf valkey-server $(DESTDIR)$(BIN_DIR)/$$p; \
	    else install -m 755 $(BIN)/$$p $(DESTDIR)$(BIN_DIR)/; fi; echo "  INSTALL $(BIN_DIR)/$$p"; \
	    if [ "$(REDIS_LINKS)" = yes ]; then \
	        ln -sf $$p $(DESTDIR)$(BIN_DIR)/redis-$${p#valkey-}; echo "  LINK    $(BIN_DIR)/redis-$${p#valkey-}"; fi; done
	@if [ -e $(DESTDIR)$(CONFIG_DIR)/valkey.conf ]; then echo "  KEEP    $(CONFIG_DIR)/valkey.conf"; \
	else install -m 644 valkey.conf $(DESTDIR)$(CONFIG_DIR)/ && echo "  INSTALL $(CONFIG_DIR)/valkey.conf"; fi
	@set -e; for f in $(TEXTS); do if [ -e $(OUT)/texts$$f ]; then \
	    install -D -m 644 $(OUT)/texts$$f $(DESTDIR)$$f; echo "  INSTALL $$f"; fi; done
	@if [ -z "$(DESTDIR)" ] && [ -d /run/systemd/system ]; then \
	    echo "As a service: systemd-sysusers && systemd-tmpfiles --create; systemctl enable --now valkey-server"; fi

# Removes the files of install: a link only if it points to our program, the configuration only if it is unchanged.
uninstall:
	@cd $(DESTDIR)$(BIN_DIR) 2>/dev/null || exit 0; for p in $(INSTALLED); do rm -f $$p; \
	    if [ "$$(readlink redis-$${p#valkey-})" = $$p ]; then rm -f redis-$${p#valkey-}; fi; done
	@rm -f $(addprefix $(DESTDIR),$(TEXTS))
	@if cmp -s valkey.conf $(DESTDIR)$(CONFIG_DIR)/valkey.conf; then rm -f $(DESTDIR)$(CONFIG_DIR)/valkey.conf; \
	elif [ -e $(DESTDIR)$(CONFIG_DIR)/valkey.conf ]; then echo "  KEEP    $(CONFIG_DIR)/valkey.conf"; fi
	@rmdir $(DESTDIR)$(CONFIG_DIR) 2>/dev/null || true

deb: all
	@MAKE="$(MAKE)" packaging/deb/build $(OUT)/deb

clean:
	rm -rf $(OUT)

distclean:
	rm -rf $(BUILD) tests/tmp $(addprefix src/,valkey-server valkey-cli valkey-benchmark valkey-check-rdb valkey-check-aof)
