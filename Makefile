# Each target sets up what it needs. PYTHON may name another interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
DOCS := .venv-docs

# Python keeps the bytecode of modules, wherever it was told not to: tests start many processes that need the same ones.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: reproduce test types suite processors bench soak mutate docs figures dist clean

reproduce: $(VENV)/package
	$(RUN)/loadstone reproduce --out out

# Types are checked beside the tests, which leave one core free at times.
test: $(VENV)/test
	$(RUN)/ruff check src tests benchmarks docs tools
	$(MAKE) --no-print-directory --jobs=2 types suite

types: $(VENV)/test
	$(RUN)/mypy

# Tests spend most of their time in the compiler. Here it optimises less, which makes it three times as fast, and in one
# piece; its programs are kept for the next time: one is compiled again if anything in it has changed. NumPy has one
# thread, because two of each process would wait for each other. `soak` has the tests once more as users have the programs.
suite: $(VENV)/test
	JAX_COMPILATION_CACHE_DIR=$(CURDIR)/$(VENV)/programs JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 \
	  OPENBLAS_NUM_THREADS=1 XLA_FLAGS="$$($(RUN)/python tests/compiler.py)" $(RUN)/python -m pytest

# The whole suite as on processors with and without AVX-512, each with compiled programs of its own.
processors: $(VENV)/test
	$(RUN)/python tests/processors.py

bench: $(VENV)/bench
	$(RUN)/python benchmarks/cpu.py
	$(RUN)/python benchmarks/verdicts.py
	$(RUN)/python benchmarks/sweep.py

# Long tests: the wheel in an empty environment, the whole suite as on other processors and with fully optimised programs,
# the site in a browser, writers and workers killed many times (about five minutes), the fused CPU pass under sanitizers,
# then exact capacities of many streams of both problems beside the prediction (about an hour on two cores).
soak: $(VENV)/test docs dist processors
	$(RUN)/python benchmarks/footprint.py --wheel dist/*.whl
	LOADSTONE_SOAK=1 $(RUN)/python -m pytest -m 'soak or not soak'
	LOADSTONE_STORE_KILLS=1000 LOADSTONE_WORKER_KILLS=100 $(RUN)/python -m pytest -s -n 0 -m 'soak or not soak' -k 'killed or brings_down' \
	  tests/runs/test_store.py tests/runs/test_one_machine.py tests/runs/test_dask.py
	$(RUN)/python benchmarks/sanitize.py
	JAX_PLATFORMS=cpu OPENBLAS_NUM_THREADS=1 $(RUN)/python benchmarks/threshold_shift.py \
	  --sizes 8:400 12:400 20:300 30:150

# Small mistakes are made in copies of the package, and those that no test notices are listed (about an hour).
# coverage.py, which tells the tests that run a line, is kept apart: nothing else needs it.
mutate: $(VENV)/test
	$(RUN)/pip install --quiet --disable-pip-version-check --upgrade --target out/tools 'coverage>=7.6'
	PYTHONPATH=$(CURDIR)/out/tools $(RUN)/python benchmarks/mutate.py

# The package is installed in place, so a change of its sources needs no new installation; with Dask, to use all cores,
# and matplotlib, to draw.
$(VENV)/package: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cluster,figures]'
	touch $@

$(VENV)/test: $(VENV)/package
	$(RUN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

# The site in out/site, with the note as a PDF. Notebooks are executed, which takes minutes the first time; later only
# those that have changed.
docs: $(DOCS)/docs
	$(DOCS)/bin/python -m docs.building.note
	JAX_PLATFORMS=cpu $(DOCS)/bin/python -m sphinx -W --keep-going -q -b html -d out/site-work docs out/site
	$(DOCS)/bin/python -m docs.building.offline out/site

# Figures of the pages, from the shipped records.
figures: $(DOCS)/docs
	$(DOCS)/bin/python -m docs.building.figures

# Wheel and sdist, checked as an index would.
dist: $(DOCS)/release
	rm -rf dist
	$(DOCS)/bin/python -m build --no-isolation
	$(DOCS)/bin/twine check --strict dist/*

$(DOCS)/docs: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cluster,docs,figures]'
	touch $@

$(DOCS)/release: $(DOCS)/docs
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[release]'
	touch $@

$(VENV)/bench: $(VENV)/package
	$(RUN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) $(DOCS) out
