# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A front for CMake and Ninja.
#   make                 build/bin/weft, build/bin/weft-cc, build/bin/weft-c++, usable in place
#   make demo            set up, build, record a racy program until it fails, replay that run
#   make test            set up, build, run every test; make test T=e2e/foo runs one
#   make install         honours prefix (default /usr/local) and DESTDIR
#   make bench | bench-kernels | soak | real | real-bugs | badluck | bugs | inject | simplify | races | test-races | fuzz | test-report | clean
BUILD ?= build
prefix ?= /usr/local
T ?=

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD)

$(BUILD)/build.ninja:
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(prefix) $(CMAKE_FLAGS)

setup:
	@scripts/setup.sh

demo: setup
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) examples/demo.sh

test:
	@scripts/setup.sh --real
	@$(MAKE) --no-print-directory all
	@python3 scripts/test.py $(BUILD) $(T)

bench: all
	@BUILD=$(BUILD) bench/run.sh
bench-kernels: all
	@BUILD=$(BUILD) bench/kernels.py $(if $(QUICK),--quick) $(if $(MINUTES),--minutes $(MINUTES))
soak: all
	@BUILD=$(BUILD) tests/soak.sh
real: all
	@scripts/setup.sh --real
	@BUILD=$(BUILD) tests/real/run.py
real-bugs: all
	@scripts/setup.sh --real
	@BUILD=$(BUILD) tests/real/bugs.py
badluck: all
	@scripts/setup.sh --real
	@BUILD=$(BUILD) tests/real/badluck.py
bugs: all
	@BUILD=$(BUILD) tests/bugs/run.py
inject: all
	@BUILD=$(BUILD) tests/bugs/inject.py
simplify: all
	@BUILD=$(BUILD) tests/bugs/simplify.py
races: all
	@BUILD=$(BUILD) tests/races/oracle.py --mutants
test-races: all
	@WEFT_PLAN=races python3 scripts/test.py $(BUILD) programs
	@WEFT_PLAN=races WEFT_GRANULARITY=region python3 scripts/test.py $(BUILD) programs
	@WEFT_PLAN=races WEFT_VERIFY=1 WEFT_PROVE=1 BUILD=$(BUILD) tests/bugs/run.py --catch 1000
fuzz: all
	@BUILD=$(BUILD) tests/fuzz/run.sh
test-report: all
	@BUILD=$(BUILD) tests/report/run.py

install: all
	@DESTDIR='$(DESTDIR)' cmake --install $(BUILD) --prefix '$(prefix)'

clean:
	rm -rf $(BUILD)

.PHONY: all setup demo test bench bench-kernels soak real real-bugs badluck bugs inject simplify races test-races fuzz test-report install clean
