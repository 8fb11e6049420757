# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: run test lint types tests slow bench clean

run: .venv/for-run
	$(BIN)/augury verify discrete
	$(BIN)/augury evaluate discrete --scales 1,2,4,8 --runs 1
	$(BIN)/augury solve examples/jobs.csv

# Types are checked while the tests run; the last lines say which of the three went wrong.
test: .venv/for-test
	$(MAKE) --no-print-directory --jobs=2 lint types tests

lint: .venv/for-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/for-test
	$(BIN)/pyright

# A process for each core, but no more than four: each of them imports PyTorch.
tests: .venv/for-test
	$(BIN)/pytest -n logical --maxprocesses=4 --dist=worksteal

slow: .venv/for-test
	$(BIN)/pytest -m slow

bench: .venv/for-test
	$(BIN)/augury bench
	$(BIN)/python benchmarks/classical.py
	$(BIN)/python benchmarks/paper.py

# The stamps are made anew when the requirements change, so both commands work twice in a row.
.venv/for-run: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

.venv/for-test: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[all]'
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis
