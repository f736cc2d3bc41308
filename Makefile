# Everything a reader needs. Only python3 (3.11 or newer, with venv) and make have to be there before.
PYTHON ?= python3
SCALE  ?= paper
JOBS   ?= 2
PORT   ?= 8000
BIN    := .venv/bin
STAMP  := .venv/.installed

.DEFAULT_GOAL := book
.PHONY: book environment pdf test lint check nightly mutants bench serve clean

book: $(STAMP)          ## execute every chapter, then build the site in _build/html
	$(BIN)/python -m tools.build --scale $(SCALE) --jobs $(JOBS)

environment: $(STAMP)   ## Python packages for everything here, in .venv

pdf: $(STAMP)           ## print every chapter of the built site, with Chromium, into _build/pdf
	$(BIN)/python -m tools.pdf

test: $(STAMP)          ## every test but `make nightly`; the last lines say what was skipped and why
	$(BIN)/python -m pytest -ra -n 2 --dist loadgroup

lint: $(STAMP)          ## lint, format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check: lint             ## lint, format, fast tests
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not slow and not browser and not nightly"

nightly: $(STAMP)       ## further settings of every chapter and algorithm, for many minutes
	$(BIN)/python -m pytest -ra -n 2 --dist loadgroup -m nightly

mutants: $(STAMP)       ## plant known faults one by one, and see that fast tests fail; also MUTANTS="--only tree"
	$(BIN)/python tests/mutants.py --jobs $(JOBS) $(MUTANTS)

bench: $(STAMP)         ## nanoseconds a round of every policy, beside NumPy and other libraries
	$(BIN)/python -m benchmarks $(BENCH)

serve:                  ## show the built site at http://localhost:8000
	$(PYTHON) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

clean:                  ## forget every result and the site; the environment stays
	rm -rf _build

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; name one: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install -q -r requirements.txt
	touch $@
