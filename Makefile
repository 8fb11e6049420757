# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Tests in a process for each core, but no more than four: each of them imports PyTorch.
PYTEST := $(BIN)/pytest -n logical --maxprocesses=4
# Modules are compiled once, and not by every process that a test starts.
export PYTHONDONTWRITEBYTECODE :=
PIP := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: run test lint types tests light slow bench proof clean

run: .venv/for-run
	$(BIN)/augury verify discrete
	$(BIN)/augury evaluate discrete --scales 1,2,4,8 --runs 1
	$(BIN)/augury solve examples/jobs.csv

# Pyright works while the tests run, and is heard when they are done.
test: lint
	$(BIN)/pyright > .venv/types.txt 2>&1 & \
	$(PYTEST); tests=$$?; \
	wait $$!; types=$$?; cat .venv/types.txt; exit $$((tests || types))

lint: .venv/for-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/for-test
	$(BIN)/pyright

tests: .venv/for-test
	$(PYTEST)

# What `pip install augury` brings, and nothing else, in an environment of its own.
light: .venv-light/ready
	.venv-light/bin/python tests/light.py

slow: .venv/for-test
	$(BIN)/pytest -m slow -o faulthandler_timeout=3600

# Tests of the compiled loops, compiled anew with every index checked. Takes a few minutes.
.PHONY: bounds
bounds: .venv/for-test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/bounds $(PYTEST) -o faulthandler_timeout=1200 \
	    tests/algorithms tests/cells tests/classical tests/engines tests/inputs tests/paper tests/peers tests/tables \
	    tests/training tests/test_finer.py tests/test_solver.py tests/test_torch.py

# Kernels for a GPU on simulated blocks, whose lanes ThreadSanitizer takes for threads. Takes two
# minutes, or four where kernels are compiled anew.
.PHONY: races
races: .venv/for-test
	RACES=1 LD_PRELOAD=$$(g++ -print-file-name=libtsan.so) $(BIN)/python -m pytest -q -s -p no:xdist \
	    tests/engines/test_cuda_assign.py tests/engines/test_cuda_flows.py tests/engines/test_cuda_match.py

# The site, in site/: pages, the page of `augury explore` without a server, and a check of every link. Builds offline.
.PHONY: docs
docs: .venv/for-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/augury explore --static site/demo
	$(BIN)/python tests/check_site.py site

# The proof in Coq, and the checkers of certificates that are extracted from it. Nothing is installed.
proof:
	@command -v coqc > /dev/null && command -v ocamlfind > /dev/null && \
	    test -d "$$(coqc -where)/user-contrib/Flocq" || \
	    { echo "The proof needs Coq 8.16 and Flocq: apt-get install coq libcoq-flocq" >&2; exit 2; }
	$(MAKE) -C proof

# The source archive and, built of it, the wheel: what a release publishes.
.PHONY: dist
dist:
	test -x .venv-dist/bin/python || $(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install --quiet --disable-pip-version-check -c constraints.txt build
	rm -rf dist
	.venv-dist/bin/python -m build

bench: .venv/for-test
	$(BIN)/augury bench
	$(BIN)/python benchmarks/classical.py
	$(BIN)/python benchmarks/paper.py

# The stamps are made anew when the requirements change, so both commands work twice in a row.
.venv/for-run: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[neural]'
	touch $@

.venv/for-test: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[all]'
	touch $@

.venv/for-docs: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e '.[docs,web]'
	touch $@

.venv-light/ready: pyproject.toml constraints.txt
	test -x .venv-light/bin/python || $(PYTHON) -m venv .venv-light
	.venv-light/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

clean:
	$(MAKE) -C proof clean
	rm -rf .venv-dist
	rm -rf .venv .venv-light build dist .pytest_cache .ruff_cache .hypothesis
	rm -rf site
