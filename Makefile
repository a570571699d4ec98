# Each target sets up what it needs. PYTHON may name another interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin

.PHONY: reproduce test bench clean

reproduce: $(VENV)/package
	$(RUN)/loadstone reproduce --out out

test: $(VENV)/test
	$(RUN)/ruff check src tests benchmarks
	$(RUN)/python -m pytest

bench: $(VENV)/bench
	$(RUN)/python benchmarks/cpu.py

# The package is installed in place, so a change of its sources needs no new installation.
$(VENV)/package: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/test: $(VENV)/package
	$(RUN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/bench: $(VENV)/package
	$(RUN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) out
