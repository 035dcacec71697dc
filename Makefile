# `make test` needs Python 3.11 or newer with venv, a C compiler, and an index to install from once; afterwards it works
# offline.

PYTHON ?= $(firstword $(shell command -v python3.11 python3 python 2>/dev/null))
BIN := .venv/bin
INSTALLED := .venv/installed
QUIETLY := --quiet --disable-pip-version-check
TESTS ?=
SLOW := $(if $(filter true,$(CI)),,-m "not slow")

# One thread for each of the two test processes: more of them fight for the same cores.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup learn test lint types pytest lock clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## install the exact versions of requirements.lock into .venv

# The lock is complete, so nothing is left to resolve; byte-compiling all of it would take longer than the tests need of it.
# What `srm learn` imports is compiled by importing it, on the second core while pip builds the package: the first run starts
# as fast as the next. The stamp is written last, so that an interrupted installation is taken up again.
$(INSTALLED): requirements.lock pyproject.toml $(wildcard srm/*/*.c srm/*/*.h)
	@test -n "$(PYTHON)" || { echo "srm needs Python 3.11 or newer, and no python was found; try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "srm needs Python 3.11 or newer, and $(PYTHON) is $$("$(PYTHON)" --version); try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv || \
		{ echo "$(PYTHON) cannot make a virtual environment; install its venv module (Debian: python3-venv)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is needed for srm/*/*.c (Debian: gcc libc6-dev python3-dev)" >&2; exit 1; }
	$(BIN)/python -m pip install $(QUIETLY) --no-deps --no-compile -r requirements.lock
	$(BIN)/python -c 'import minigrid, srm.cli.learn' & \
	$(BIN)/python -m pip install $(QUIETLY) --no-deps --no-build-isolation -e . && wait
	@touch $@

learn: setup  ## infer DoorKey's holes from ten demonstrations, train the policy, print the machine, write the report
	$(BIN)/srm learn doorkey --stop-at 0.9

test: lint types pytest  ## lint, types and tests; slow tests too where CI=true

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

pytest: setup
	$(BIN)/pytest -n 2 -rs $(SLOW) $(TESTS)

lock: setup  ## write requirements.lock from what is installed
	@sed -n '/^#/p' requirements.lock > requirements.lock.new
	@$(BIN)/python -m pip freeze --all --exclude pip --exclude srm | sed -e '/^-e/d' -e '/^#/d' -e 's/+cpu$$//' >> requirements.lock.new
	@mv requirements.lock.new requirements.lock

clean:  ## remove .venv and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
