# The same commands here and in CI. What is set up is remembered by two stamps in .venv; uv is used when it runs,
# else pip. PYTHON= names an interpreter for a new .venv, ARGS= is handed to `arvis run` and to the crash test,
# which else kills KILLS= times.

VENV := .venv
BIN := $(VENV)/bin
KILLS ?= 200
WORKERS ?= 2

SETUP := pyproject.toml hatch_build.py constraints.txt
UI := $(shell find arvis/web/ui -type f -not -path '*/node_modules*' 2>/dev/null)

.PHONY: run test check quick t ui fix crash sweep hostile bench voice

run: $(VENV)/.run
	@$(BIN)/arvis run $(ARGS)

# File by file, two at a time: half of what tests do is waiting. What would disturb others comes after; what failed beside
# others is told, and must pass by itself.
test: check
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m 'not alone' || { \
	  [ $$? -eq 1 ] && echo "Once more, by themselves:" && \
	  $(BIN)/python -m pytest --last-failed --last-failed-no-failures none -m 'not alone'; }
	@$(BIN)/python -m pytest -m alone

check: $(VENV)/.test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@[ "$$ARVIS_SKIP_UI" = 1 ] || { $(BIN)/python hatch_build.py --checks && cd arvis/web/ui && npm run --silent check; }

# Before a commit: what needs no test run.
quick: $(VENV)/.test
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/mypy && $(BIN)/lint-imports >/dev/null

# One file, folder or test: make t T=tests/unit/test_routing.py
t: $(VENV)/.test
	@$(BIN)/python -m pytest -q $(T)

# The dashboard with hot reload, in front of a daemon that runs on port 5070.
ui: $(VENV)/.test
	@$(BIN)/python hatch_build.py --checks && cd arvis/web/ui && npm exec vite

fix: $(VENV)/.test
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python hatch_build.py --checks && cd arvis/web/ui && npm run --silent fix

crash: $(VENV)/.test
	@$(BIN)/python -m tests.crash $(or $(ARGS),--kills $(KILLS))

sweep: $(VENV)/.test
	@$(BIN)/python -m tests.crash.sweep && $(BIN)/python -m tests.crash.injection --every 29

hostile: $(VENV)/.test
	@$(BIN)/python -m tests.hostile $(ARGS)

bench: $(VENV)/.test
	@$(BIN)/python -m bench

# Whisper with PyTorch for processors, and without its tools for graphics cards, which are a gigabyte that no processor uses.
voice: $(VENV)/.run
	@echo "Installing Whisper, about a gigabyte ..."
	@$(venv) && $(install) 'torch>=2.6,<2.14' numpy numba tqdm tiktoken more-itertools \
	  && $(install) --no-deps 'openai-whisper>=20250625'

$(VENV)/.run: $(SETUP) $(UI)
	@echo "Installing Arvis and building its dashboard, about a minute the first time ..."
	@$(venv) && $(install) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@echo "Installing the test tools ..."
	@$(venv) && $(install) -e '.[postgres,mcp]' --group dev
	@touch $@

# A shim of a version manager exists without working, so a tool counts only when it runs.
uv_runs = uv --version >/dev/null 2>&1

find_python = for python in $(or $(PYTHON),python3 python3.13 python3.12 python3.11); do \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && break; python=; \
	done; \
	[ -n "$$python" ] || { \
	  echo "Arvis needs Python 3.11 or newer: install it, or name one: make run PYTHON=/path/to/python3" >&2; exit 1; }

# Some systems ship Python without its ensurepip, and then leave a half-made folder behind.
make_venv = $(find_python); \
	if $(uv_runs); then uv venv --quiet --clear --python "$$python" $(VENV); else \
	  "$$python" -m venv --clear $(VENV) >/dev/null 2>&1 || { \
	    rm -rf $(VENV); \
	    "$$python" -m venv --without-pip $(VENV) && \
	    "$$python" -m pip --quiet --python $(BIN)/python install pip 2>/dev/null; \
	  } || { rm -rf $(VENV); \
	    echo "Python's venv module is missing: install it (Debian: apt-get install python3-venv)." >&2; exit 1; }; \
	fi

# An environment that uv made has no pip inside.
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
