# Everything happens in .venv, built on first use from pyproject.toml and constraints.txt.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
WORKERS ?= 2
CODE := nvsd reference tests asv_benchmarks docs

# One BLAS thread per process: parallel tests do not fight for cores, timings repeat.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# Neighbours stay together, so that most modules make their fixtures in one process only.
PYTEST := $(ONE_THREAD) $(PY) -m pytest -n $(WORKERS) --dist worksteal

# Peers may use both cores, so nvsd does too; the number of threads is kept with the results.
BENCH_THREADS ?= 2
ASV = cd asv_benchmarks && OMP_NUM_THREADS=$(BENCH_THREADS) \
	OPENBLAS_NUM_THREADS=$(BENCH_THREADS) MKL_NUM_THREADS=$(BENCH_THREADS) ../$(PY) -m asv
# Results of the working tree are kept under its last commit.
ASV_RUN = $(ASV) run --python=same --show-stderr --set-commit-hash "$$(git rev-parse HEAD)"
# What bench-compare looks at, and how much slower is too slow; ratios to peers are left out.
BENCH ?= ^(kernels|representations|solver|paths|losses|after|selection)[.].*[.](time|peakmem)_
FACTOR ?= 1.15
BENCH_SMALLEST := ^(kernels|representations|solver|paths[.]Path|losses|after|selection)[.].*time_.*30[)]$$

SHORT := tests/penalties tests/losses tests/data

# What the library needs to run and plot, what a short test needs beside it, and everything.
READY := $(VENV)/.ready
TRIED := $(VENV)/.tried
STAMP := $(VENV)/.complete
# Modules are compiled when they are first imported: most of what is installed never is.
INSTALL := $(PIP) install -qq --no-compile

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo test test-short test-slow test-all attack lint format coverage reliability bench bench-full bench-check \
	bench-report bench-compare bench-machine docs wheel lock clean

help:  ## print this list
	@awk -F ':.*  ## ' '/^[a-z-]+:.*  ## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

# Stamps are written last. Without one the environment is rebuilt from nothing, so that an
# interrupted install never leaves half an environment behind; with it an outdated one is updated.
# Every package has its locked version: one that does not fit the interpreter fails at once. Build
# tools come first, for packages without a wheel.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "nvsd needs Python 3.11 or newer; say which with: make venv PYTHON=python3.11"; exit 1; }
	@echo 'building $(VENV)'
	@test -e $@ || $(PYTHON) -m venv --clear $(VENV)
	@rm -f $@
	$(INSTALL) --no-deps \
		$$(grep -E '^(hatchling|editables|setuptools|packaging|pathspec|pluggy|trove-classifiers)==' constraints.txt)
	$(INSTALL) --no-build-isolation -c constraints.txt -e '.[plot]'
	@touch $@

$(TRIED): $(READY)
	@rm -f $@
	$(INSTALL) --no-build-isolation -c constraints.txt -e '.[plot,reference,dask]' \
		pytest pytest-xdist hypothesis pyarrow polars
	@touch $@

$(STAMP): $(READY)
	@echo 'adding what tests, documentation and benchmarks need: a minute or two'
	@rm -f $@
	$(INSTALL) --no-deps --no-build-isolation -r constraints.txt
	@touch $@

venv: $(STAMP)  ## build .venv (PYTHON=python3.12 chooses the interpreter)

demo: $(READY)  ## from a table to the inputs that matter, and a certified path
	$(PY) docs/examples/demo.py

test: $(STAMP)  ## all quick tests
	$(PYTEST) -m "not slow"

# Kernels, penalties, losses and the command line: what a new interpreter breaks first.
test-short: $(TRIED)  ## a minute of tests, for another interpreter (PYTHON=python3.13 VENV=.venv-3.13)
	$(PYTEST) -m "not slow" $(SHORT)

# Exhaustive cases are slow too, so that "not slow" leaves them out.
test-slow: $(STAMP)  ## only the slow tests, without the exhaustive ones
	$(PYTEST) -m "slow and not exhaustive"

test-all: $(STAMP)  ## all tests, the slow and the exhaustive ones too
	$(PYTEST)

# Random problems, files, kills and signals; the short part of it is in make test.
ATTACK := tests/attack $(foreach part,stress invariances fuzz interruptions concurrency,tests/library/test_$(part).py)
attack: $(STAMP)  ## try to break the library, with ATTACK_CASES=300 random problems
	ATTACK_CASES=$(or $(ATTACK_CASES),300) $(PYTEST) $(ATTACK) --junitxml=.attack.xml || true
	$(PY) docs/scripts/reliability.py .attack.xml --counts

lint: $(STAMP)  ## ruff and mypy --strict
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(STAMP)  ## let ruff rewrite the code
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

coverage: $(STAMP)  ## line and branch coverage of nvsd, in htmlcov/
	$(PYTEST) --cov --cov-report=term --cov-report=html

reliability: $(STAMP)  ## docs/reliability.md from a run of all tests, with coverage
	$(PYTEST) --cov --cov-report=json:.coverage.json --junitxml=.junit.xml
	$(PY) docs/scripts/reliability.py .junit.xml --coverage .coverage.json

bench-machine: $(STAMP)
	@$(ASV) machine --yes >/dev/null

bench: bench-machine  ## benchmarks at the paper's sizes (BENCH_THREADS=2)
	$(ASV_RUN) --bench '^(?!full_)'

# Two runs, because asv saves only at the end of one.
bench-full: bench  ## every benchmark, the large sizes and slow peers too: over an hour
	$(ASV_RUN) --bench '^full_'

bench-report: $(STAMP)  ## docs/performance.md from the stored results
	$(PY) docs/scripts/performance.py

bench-check: BENCH_THREADS = 1
bench-check: bench-machine  ## do the benchmarks import, do they run at their smallest size
	$(ASV) check --python=same
	$(ASV) run --python=same --quick --dry-run --show-stderr --bench '$(BENCH_SMALLEST)'

# Two rounds of four samples: with six in all asv's test finds no difference significant.
bench-compare: bench-machine  ## BASE=commit HEAD=commit [BENCH=regex]: fails when HEAD is slower
	@test -n "$(BASE)" && test -n "$(HEAD)" || \
		{ echo "say what to compare: make bench-compare BASE=main HEAD=my-branch"; exit 2; }
	$(ASV) continuous --show-stderr --factor $(FACTOR) --bench '$(BENCH)' \
		--attribute rounds=2 --attribute repeat=4 "$(BASE)" "$(HEAD)"

docs: $(STAMP)  ## the HTML documentation, in docs/_build/html
	$(ONE_THREAD) $(PY) -m sphinx -W --keep-going -j $(WORKERS) -b html docs docs/_build/html

wheel: $(STAMP)  ## source and binary distribution, in dist/
	$(PY) -m build --no-isolation

# Resolved with the oldest supported Python: what it can install, the newer ones can too. Of celer
# there is no wheel for Python 3.14; the tests that need it are skipped there.
lock:  ## renew constraints.txt from the newest releases (PYTHON=python3.11)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "lock with the oldest supported Python: make lock PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv --clear .lock
	.lock/bin/python -m pip install -qq --upgrade pip
	.lock/bin/python -m pip install -qq --group dev '.[plot,reference,dask,baselines]'
	.lock/bin/python -m pip list --format=freeze --exclude nvsd --exclude pip \
		| sed -E 's/^(celer|libsvmdata)==.*/& ; python_version < "3.14"/' > .lock/installed
	echo '# Exact versions that were tested, for Python 3.11 and newer. Renew with: make lock' \
		> .lock/constraints.txt
	LC_ALL=C sort -f .lock/installed >> .lock/constraints.txt
	mv .lock/constraints.txt constraints.txt
	rm -rf .lock

clean:  ## remove everything that can be rebuilt, .venv included
	rm -rf $(VENV) .lock .asv build dist htmlcov .coverage .coverage.* path.nc path.png selection.* docs/_build \
		docs/auto_examples docs/generated .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -exec rm -rf {} + 2>/dev/null || true
