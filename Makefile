# bomgen: `make help` lists the targets.

PYTHON ?= python3
PLAN ?= plans/llama65b.yaml
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# On a continuous-integration machine the outside judges written in Python come along; elsewhere they are skipped.
comma := ,
EXTRAS := dev$(if $(CI),$(comma)judges$(comma)site$(comma)fuzz)

# A stamp says which set of packages the environment holds; it is renewed when what is to be installed changes.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-$(subst $(comma),-,$(EXTRAS))
INSTALLED_SITE := $(VENV)/.installed-site
INSTALLED_FUZZ := $(VENV)/.installed-fuzz

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: build test lint format types pytest fuzz bench deep docs site clean help

build: $(INSTALLED) ## set up .venv and build the quote of PLAN into dist/
	$(BIN)/bomgen build $(PLAN) -o dist

test: $(INSTALLED_DEV) ## run every check: ruff, formatting, types, tests
	@$(MAKE) --no-print-directory --keep-going --jobs=2 lint format types pytest

lint: $(INSTALLED_DEV) ## ruff check
	$(BIN)/ruff check .

format: $(INSTALLED_DEV) ## ruff format --check
	$(BIN)/ruff format --check .

types: $(INSTALLED_DEV) ## mypy --strict
	$(BIN)/mypy --strict

pytest: $(INSTALLED_DEV) ## the tests alone
	$(BIN)/pytest --numprocesses=auto --dist=loadfile

fuzz: $(INSTALLED_FUZZ) ## replay what fuzzing found, and fuzz every target for some seconds
	$(BIN)/pytest tests/fuzz

deep: $(INSTALLED_FUZZ) ## before a release: the laws with many more examples, and a million executions of fuzzing
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest tests/laws
	$(BIN)/python tests/fuzz/hunt.py

bench: $(INSTALLED) ## time the commands against the imports that they cannot do without
	$(BIN)/python benchmarks/bench.py

docs: $(INSTALLED_DEV) ## write docs/reference-designs.md from the tables of the tests, and the schema for editors
	$(BIN)/python tests/reference/designs.py
	$(BIN)/bomgen schema plan --with-catalog > schemas/plan.catalog.schema.json

site: $(INSTALLED_SITE) ## build the documentation into build/site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

clean: ## remove the environment, results and caches
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .ci/node_modules
	find bomgen tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("bomgen needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml bomgen/__init__.py | $(BIN)/python
	$(PIP) install --editable .
	@touch $@

$(INSTALLED_DEV): pyproject.toml bomgen/__init__.py | $(BIN)/python
	$(PIP) install --editable '.[$(EXTRAS)]'
	@touch $@ $(INSTALLED)

$(INSTALLED_FUZZ): pyproject.toml bomgen/__init__.py | $(BIN)/python
	$(PIP) install --editable '.[dev,fuzz]'
	@touch $@ $(INSTALLED)

$(INSTALLED_SITE): pyproject.toml bomgen/__init__.py | $(BIN)/python
	$(PIP) install --editable '.[site]'
	@touch $@ $(INSTALLED)
