# Needs only Python 3.11 or later and make. PYTHON=python3.12 chooses another.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PARALLEL ?= 2

.PHONY: demo test calibrate bench install lint types imports pytest lab clean browser

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "workbench needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Set PYTHON=python3.12, say.")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: install
	$(BIN)/python examples/demo.py out/demo

test: install lint types imports pytest

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

imports: install
	$(BIN)/lint-imports --no-cache

pytest: install
	$(BIN)/python -m pytest -q -n $(PARALLEL) --dist loadfile

calibrate: install
	$(BIN)/python benchmarks/calibrate_precursor.py
	$(BIN)/python benchmarks/calibrate_lag.py
	$(BIN)/python benchmarks/calibrate_lag_screen.py
	$(BIN)/python benchmarks/calibrate_coincidence.py
	$(BIN)/python benchmarks/calibrate_propagation.py
	$(BIN)/python benchmarks/calibrate_jobs.py
	$(BIN)/python benchmarks/calibrate_recurrence.py
	$(BIN)/python benchmarks/calibrate_change.py

bench: install
	$(BIN)/python benchmarks/store_layout.py
	$(BIN)/python benchmarks/change_speed.py
	$(BIN)/python benchmarks/lag_speed.py
	$(BIN)/python benchmarks/coincidence_speed.py
	$(BIN)/python benchmarks/ingest_memory.py
	$(BIN)/python benchmarks/parsing.py

browser: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,browser]'
	$(BIN)/python -m pytest -q -m browser tests

lab: install
	$(BIN)/workbench lab

clean:
	rm -rf $(VENV) out build dist .mypy_cache .ruff_cache
