# CI runs the same commands. Stamp files in .venv record the finished installations. uv is used if it works, else pip.
# PYTHON= names an interpreter for a new .venv. ARGS= is passed to `arvis run` and to the test commands. KILLS= is the
# number of kills of `make crash`.

VENV := .venv
BIN := $(VENV)/bin
KILLS ?= 200
WORKERS ?= 4

SETUP := pyproject.toml hatch_build.py constraints.txt
UI := $(shell find arvis/web/ui -type f -not -path '*/node_modules*' -not -path '*/ui/tests/*' 2>/dev/null)

.PHONY: run dist release test long check quick hooks t ui docs fix crash sweep hostile bench voice

run: $(VENV)/.run
	@$(BIN)/arvis run $(ARGS)

# The wheel and the sdist with the built dashboard, in dist/. The same sources give the same bytes.
dist: $(VENV)/.run
	@$(venv) && $(install) 'hatchling>=1.27' && rm -f dist/arvis-* && $(BIN)/python -m hatchling build

# A release in this checkout, which is not pushed: make release VERSION=1.2.3
release: $(VENV)/.test
	@$(BIN)/python -m release $(VERSION)

# Tests run file by file in four processes, because much of their time is waiting. Tests marked `alone` run last;
# failures from the parallel run are reported and re-run serially.
test: check
	@$(BIN)/python -m pytest -n $(WORKERS) -m 'not alone' || { \
	  [ $$? -eq 1 ] && echo "Running the failed tests again, one after the other:" && \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m 'not alone'; }
	@$(BIN)/python -m pytest -m alone $$(grep -rl 'mark.alone' tests --include='*.py')

# The whole suite with the long form of its tests.
long: export ARVIS_LONG = 1
long: test

check: $(VENV)/.test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@[ "$$ARVIS_SKIP_UI" = 1 ] || { $(BIN)/python hatch_build.py --checks \
	  && cd arvis/web/ui && npm run --silent check && npm run --silent test; }

# Before every commit: all checks that need no test run.
quick: $(VENV)/.test
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/mypy && $(BIN)/lint-imports >/dev/null

# Let git run the quick checks before each commit of this clone.
hooks:
	@git config core.hooksPath .githooks

# One file, folder or test: make t T=tests/unit/test_routing.py
t: $(VENV)/.test
	@$(BIN)/python -m pytest -q $(T)

# The dashboard with hot reload, in front of a daemon on port 5070.
ui: $(VENV)/.test
	@$(BIN)/python hatch_build.py --checks && cd arvis/web/ui && npm exec vite

# The documentation as a static site, with its generated pages. A broken link is an error.
docs: $(VENV)/.docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build

fix: $(VENV)/.test
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python hatch_build.py --checks && cd arvis/web/ui && npm run --silent fix

crash: $(VENV)/.test
	@$(BIN)/python -m tests.crash $(or $(ARGS),--kills $(KILLS))

sweep: $(VENV)/.test
	@$(BIN)/python -m tests.crash sweep && $(BIN)/python -m tests.crash injection --every 29

hostile: $(VENV)/.test
	@$(BIN)/python -m tests.hostile $(ARGS)

bench: $(VENV)/.test
	@$(BIN)/python -m bench

# Whisper with PyTorch for CPUs. The packages for graphics cards are left out: they need another gigabyte.
voice: $(VENV)/.run
	@echo "Installing Whisper, about a gigabyte ..."
	@$(venv) && $(install) 'torch>=2.6,<2.14' numpy numba tqdm tiktoken more-itertools \
	  && $(install) --no-deps 'openai-whisper>=20250625'

$(VENV)/.run: $(SETUP) $(UI)
	@echo "Installing Arvis and building its dashboard, about a minute the first time ..."
	@$(venv) && $(install) -e '.[discord,telegram,slack]'
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@echo "Installing the test tools ..."
	@$(venv) && $(install) -e '.[all]' --group dev
	@touch $@

$(VENV)/.docs: $(VENV)/.test
	@echo "Installing the documentation tools ..."
	@$(venv) && $(install) --group docs
	@touch $@

# A shim of a version manager may exist without working, so check that uv runs.
uv_runs = uv --version >/dev/null 2>&1

find_python = for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && break; python=; \
	done; \
	[ -n "$$python" ] || { \
	  echo "Arvis needs Python 3.11 or newer: install it, or name one: make run PYTHON=/path/to/python3" >&2; exit 1; }

# Some systems ship Python without ensurepip; a failed attempt leaves an incomplete folder.
make_venv = $(find_python); \
	if $(uv_runs); then uv venv --quiet --clear --python "$$python" $(VENV); else \
	  "$$python" -m venv --clear $(VENV) >/dev/null 2>&1 || { \
	    rm -rf $(VENV); \
	    "$$python" -m venv --without-pip $(VENV) && \
	    "$$python" -m pip --quiet --python $(BIN)/python install pip 2>/dev/null; \
	  } || { rm -rf $(VENV); \
	    echo "Python's venv module is missing: install it (Debian: apt-get install python3-venv)." >&2; exit 1; }; \
	fi

# An environment created by uv contains no pip.
venv = { $(BIN)/python -c '' 2>/dev/null && { $(uv_runs) || $(BIN)/python -m pip --version >/dev/null 2>&1; }; } \
	|| { $(make_venv); }

# uv does not read pip's settings. Dependency groups need pip 25.1.
install = install() { \
	  if $(uv_runs); then \
	    UV_FIND_LINKS="$${UV_FIND_LINKS:-$$PIP_FIND_LINKS}" \
	      uv pip install --quiet --python $(BIN)/python -c constraints.txt "$$@"; \
	  else \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1' && \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$@"; \
	  fi; }; install
