# All of it needs Python 3.11 or newer with venv, a C compiler, and an index to install from once; afterwards it works
# offline. What `srm` needs is in requirements.lock, what only the tests need in requirements-test.lock.

PYTHON ?= $(firstword $(shell command -v python3.11 python3 python 2>/dev/null))
BIN := .venv/bin
INSTALLED := .venv/installed
TESTABLE := .venv/installed-test
QUIETLY := --quiet --disable-pip-version-check
TESTS ?=
SLOW := $(if $(filter true,$(CI)),,-m "not slow")

# One thread for each of the two test processes: more of them fight for the same cores.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help setup learn test lint types pytest fuzz chaos docs wheel lock clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED)  ## install the exact versions of requirements.lock into .venv

# The lock is complete, so nothing is left to resolve; byte-compiling all of it would take longer than the tests need of it.
# What `srm learn` imports is compiled by importing it, on the second core while pip builds the package: the first run starts
# as fast as the next. The stamp is written last, so that an interrupted installation is taken up again.
$(INSTALLED): requirements.lock pyproject.toml $(wildcard $(foreach under,* */* */*/*,srm/$(under)/*.[ch]))
	@test -n "$(PYTHON)" || { echo "srm needs Python 3.11 or newer, and no python was found; try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "srm needs Python 3.11 or newer, and $(PYTHON) is $$("$(PYTHON)" --version); try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv || \
		{ echo "$(PYTHON) cannot make a virtual environment; install its venv module (Debian: python3-venv)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "a C compiler is needed for its extensions (Debian: gcc libc6-dev python3-dev)" >&2; exit 1; }
	$(BIN)/python -m pip install $(QUIETLY) --no-deps --no-compile -r requirements.lock
	$(BIN)/python -c 'import minigrid, srm.cli.learn' & \
	$(BIN)/python -m pip install $(QUIETLY) --no-deps --no-build-isolation -e . && wait
	@touch $@

$(TESTABLE): $(INSTALLED) requirements-test.lock
	$(BIN)/python -m pip install $(QUIETLY) --no-deps --no-compile -r requirements-test.lock
	@touch $@

learn: setup  ## infer DoorKey's holes from ten demonstrations, train the policy, print the machine, write the report
	$(BIN)/srm learn doorkey --stop-at 0.9

test: lint types pytest  ## lint, types and tests; slow tests too where CI=true

lint: $(TESTABLE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TESTABLE)
	$(BIN)/mypy

pytest: $(TESTABLE)
	$(BIN)/pytest -n 2 -rs $(SLOW) $(TESTS)

MINUTES ?= 5

fuzz: $(TESTABLE)  ## damage files of every kind for MINUTES=n on every core; what fails is kept in build/fuzz
	$(BIN)/python -m tests.fuzz.run --minutes $(MINUTES)

KILLS ?= 100

chaos: $(TESTABLE)  ## end commands KILLS=n times at random moments and go on with each; what fails is kept in build/chaos
	$(BIN)/python -m tests.chaos.run --kills $(KILLS)

docs: $(TESTABLE)  ## build the site of docs/ in build/site; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

wheel: $(TESTABLE)  ## build a wheel and an sdist in build/dist
	$(BIN)/python -m build --no-isolation --outdir build/dist

# Versions are resolved from pyproject.toml, but for torch, which stays the build that the lock names.
RESOLVE = $(BIN)/python -m pip install $(QUIETLY) --dry-run --ignore-installed --no-build-isolation --report -
PINNED := '{name}=={version}'.format(**wheel['metadata']) for wheel in json.load(sys.stdin)['install']
SORTED := $(BIN)/python -c "import json, sys; print(*sorted({$(PINNED)}, key=str.lower), sep='\n')" | \
	sed -e '/^symbolic-reward-machines==/d' -e 's/+cpu$$//'

lock: setup  ## write requirements.lock and requirements-test.lock from what pyproject.toml asks for
	@for lock in requirements.lock requirements-test.lock; do grep '^#' $$lock > $$lock.new; done
	@grep '^torch==' requirements.lock > .venv/torch.txt
	$(RESOLVE) --constraint .venv/torch.txt . setuptools | $(SORTED) >> requirements.lock.new
	@mv requirements.lock.new requirements.lock
	$(RESOLVE) --constraint requirements.lock .[dev] | $(SORTED) | grep -vxFf requirements.lock >> requirements-test.lock.new
	@mv requirements-test.lock.new requirements-test.lock

clean:  ## remove .venv, what was built, and caches
	rm -rf .venv build .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
