# make run     serve the explorer (make run ARGS="--port 8000")
# make test    run every test     (make test ARGS="tests/encoders -x")
# make check   style and types
# make clean   remove the environment
#
# PYTHON=/path/to/python3.12 picks the interpreter of a new environment, TORCH_INDEX=URL the index that torch comes from.

.DEFAULT_GOAL := run
.PHONY: run test check clean
.DELETE_ON_ERROR:

ARGS ?=
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check

run: $(VENV)/.run
	@$(PY) app.py $(ARGS)

test: $(VENV)/.dev
	@$(PY) -m pytest $(ARGS)

check: $(VENV)/.dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

clean:
	rm -rf $(VENV)

$(VENV)/.created:
	@found=; for python in $(CANDIDATES); do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "Python 3.11 or newer is needed and none was found among: $(CANDIDATES). Install one, or name it: make run PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	rm -rf $(VENV); \
	$$found -m venv $(VENV) || { \
		echo "$$found could not make a virtual environment in $(VENV); on Debian and Ubuntu: apt-get install python3-venv" >&2; \
		exit 1; \
	}
	@touch $@

# torch goes first and alone: it is the largest package, and whichever build of it is already there is kept.
$(VENV)/.run: requirements.txt $(VENV)/.created
	@echo "Installing what requirements.txt lists into $(VENV) (a few minutes, once) ..."
	@$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $$(grep '^torch==' requirements.txt)
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	@echo "Installing what requirements-dev.txt adds ..."
	@$(PIP) -r requirements-dev.txt
	@touch $@
