# bomgen: `make help` lists the targets.

PYTHON ?= python3
PLAN ?= plans/llama65b.yaml
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The tests start the program thousands of times: without byte code each of these runs compiles its two hundred modules.
unexport PYTHONDONTWRITEBYTECODE

# Tests that are marked `long` run there, too: without them `make test` takes a user at most six minutes of two idle cores.
SELECTED := $(if $(CI),,-m 'not long')

# Packages come from lock files, which name all of them: nothing is installed whose hash is not there, the build backend
# included. They are compiled as they are imported: much of them never is.
LOCKED = $(PIP) install --no-deps --no-compile --require-hashes $(foreach lock,build run $(1),--requirement requirements/$(lock).txt)
EDITABLE := $(PIP) install --no-deps --no-build-isolation --editable .

# A stamp names the lock files whose packages the environment holds; it is renewed when one of them changes. On a
# continuous-integration machine the outside judges written in Python come along; elsewhere they are skipped.
GIVEN := pyproject.toml bomgen/__init__.py $(wildcard requirements/*.txt)
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev$(if $(CI),-judges)
INSTALLED_JUDGES := $(VENV)/.installed-dev-judges
# What follows from the catalogue is written with the package, and anew when a part changes; it is not committed.
GENERATED := bomgen/data/indicative-prices.yaml schemas/plan.catalog.schema.json
PEERS_AT := build/peers
PEERS_INSTALLED := $(patsubst benchmarks/peers/%.txt,$(PEERS_AT)/%/.installed,$(wildcard benchmarks/peers/*.txt))

# The programs of a release have an environment of their own, so that they never meet those of the tests; with them the
# judge of hardware BOMs, whose grammars of addresses cost each program that imports jsonschema three seconds.
TOOLS := build/tools
INSTALLED_TOOLS := $(TOOLS)/.installed
COMPILE := $(TOOLS)/bin/uv --no-config pip compile --quiet --universal --no-strip-extras --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make pins'
PINNED := $(COMPILE) --constraint build/all.txt

.DEFAULT_GOAL := build
.DELETE_ON_ERROR:
.PHONY: build test quick lint format types pytest netbox bare judged fuzz bench peers deep mutation everywhere same fit accuracy docs site page pins audit sbom release clean help

build: $(INSTALLED) $(GENERATED) ## set up .venv and build the quote of PLAN into dist/
	$(BIN)/bomgen build $(PLAN) -o dist

test: $(INSTALLED_DEV) $(GENERATED) $(if $(CI),$(INSTALLED_TOOLS)) ## ruff, formatting, types and tests; with CI=true the long tests as well
	@$(MAKE) --no-print-directory --keep-going --jobs=2 lint format types pytest

quick: lint ## the tests that a change fails first, within a minute: numbers, published tables, rules of the house
	$(BIN)/pytest $(SELECTED) --numprocesses=auto --dist=loadfile tests/core tests/fabric tests/optics tests/reference tests/project/test_house.py

lint: $(INSTALLED_DEV) ## ruff check
	$(BIN)/ruff check .

format: $(INSTALLED_DEV) ## ruff format --check
	$(BIN)/ruff format --check .

types: $(INSTALLED_DEV) ## mypy --strict
	$(BIN)/mypy --strict

# Files in the order of their names: sorted by their number of tests, the slow ones would be left for the end.
pytest: $(INSTALLED_DEV) ## the tests alone; with CI=true the long ones as well
	$(BIN)/pytest $(SELECTED) --numprocesses=auto --dist=loadfile --no-loadscope-reorder

bare: | $(BIN)/python ## `make build` and `make test` as on a machine with nothing but Python, make and git (root, mmdebstrap)
	$(BIN)/python tests/everywhere/bare.py

judged: SELECTED := -m 'long or judged'
judged: $(INSTALLED_TOOLS) pytest ## what `make bare` leaves: the long tests and those of the external validators, with CI=true

# The bundle is committed: who installs bomgen needs no Node.js. `npm ci` takes exactly what package-lock.json pins.
page: ## bundle the text editor of `bomgen serve` from its locked packages (Node.js)
	cd bomgen/serve/editor && npm ci --ignore-scripts --no-audit --no-fund && npx esbuild main.js --bundle --minify \
		--format=esm --target=es2022 --charset=utf8 --legal-comments=none \
		--banner:js='/* CodeMirror 6, Lezer, style-mod, crelt, w3c-keyname: MIT, (C) Marijn Haverbeke and others; see editor.licences.txt */' \
		--outfile=../page/editor.js
	cd bomgen/serve/editor/node_modules && for licence in $$(ls -d @codemirror/*/LICENSE @lezer/*/LICENSE @marijn/*/LICENSE crelt/LICENSE style-mod/LICENSE w3c-keyname/LICENSE); do \
		echo "== $${licence%/LICENSE}"; cat "$$licence"; echo; done > ../../page/editor.licences.txt

fuzz: $(INSTALLED_JUDGES) ## replay what fuzzing found, and fuzz every target for some seconds
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest tests/fuzz

deep: $(INSTALLED_JUDGES) $(INSTALLED_TOOLS) everywhere mutation ## before a release: laws, faults, judges and bounds at length, a million executions of fuzzing
	HYPOTHESIS_PROFILE=deep $(BIN)/pytest
	$(BIN)/python tests/fuzz/hunt.py

same: $(INSTALLED_DEV) $(GENERATED) ## compare the results of this tree with those of revision BASE, over every plan and 2 000 random ones; QUICK=1
	$(BIN)/python tests/tools/same.py $(BASE) $(if $(QUICK),--quick)

mutation: $(INSTALLED_JUDGES) ## change the pure rooms in thousands of ways, and see that a test fails each time
	$(BIN)/python tests/tools/mutation/run.py

netbox: $(INSTALLED_DEV) $(GENERATED) ## run the tests of `bomgen push netbox` with a real NetBox (root, mmdebstrap)
	$(BIN)/python tests/everywhere/netbox.py

everywhere: $(INSTALLED_DEV) ## build all plans in other locales and with newer Pythons (root, mmdebstrap), compare bytes
	$(BIN)/python tests/everywhere/rerun.py --debian trixie --debian sid

bench: $(INSTALLED) $(if $(PEERS),peers) ## time bomgen into benchmarks/results/, against the last result; PEERS=1, KEEP=why
	$(BIN)/python benchmarks/bench.py $(if $(KEEP),--keep '$(KEEP)') $(if $(PEERS),--peers $(PEERS_AT))

# A peer that cannot be installed is left out; the table says so.
peers: ## install the programs that bomgen is run beside, each by itself
	-@$(MAKE) --no-print-directory --keep-going $(PEERS_INSTALLED)

fit: $(INSTALLED) ## fit the prediction of training time to bomgen/data/measured/, and write docs/accuracy.md
	$(BIN)/python tools/fit/fit.py
	$(MAKE) --no-print-directory accuracy

accuracy: $(INSTALLED) ## write docs/accuracy.md and its CSV files: how far predictions are off
	$(BIN)/python tools/fit/accuracy.py
	$(BIN)/python tools/fit/serving_accuracy.py

docs: $(INSTALLED_DEV) ## write the reference designs and samples, and draw the pictures of README and pages (Chromium)
	$(BIN)/python tests/reference/designs.py
	$(BIN)/python tests/reference/compute_defaults.py
	$(BIN)/python tools/pages/pictures.py

site: $(INSTALLED_JUDGES) ## build the documentation into build/site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

pins: $(INSTALLED_TOOLS) ## renew the lock files of requirements/ with the newest packages
	$(COMPILE) --upgrade --all-extras --group release pyproject.toml --output-file build/all.txt
	$(PINNED) pyproject.toml --output-file requirements/run.txt
	$(PINNED) $(foreach extra,parquet cluster pdf pdf-reading,--extra $(extra)) pyproject.toml --output-file requirements/extras.txt
	$(PINNED) --extra dev pyproject.toml --output-file requirements/dev.txt
	$(PINNED) --extra judges pyproject.toml --output-file requirements/judges.txt
	$(PINNED) --group release --output-file requirements/release.txt
	$(TOOLS)/bin/python ci/release.py backend | $(PINNED) - --output-file requirements/build.txt

audit: $(INSTALLED_TOOLS) ## ask for known vulnerabilities of every locked package; one that cannot be asked for is a failure
	$(TOOLS)/bin/pip-audit $(foreach lock,build dev judges release,--requirement requirements/$(lock).txt) --require-hashes --disable-pip --strict --progress-spinner off

sbom: $(INSTALLED_TOOLS) ## write the SBOM of bomgen and what it depends on into dist/
	$(TOOLS)/bin/python ci/release.py sbom dist

release: $(INSTALLED_TOOLS) ## build wheel and sdist twice, compare, and write them with SBOM and SHA256SUMS into dist/
	$(TOOLS)/bin/python ci/release.py release dist

clean: ## remove the environment, results and caches
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .ci/node_modules .ci/*.log
	find bomgen tests benchmarks tools ci -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("bomgen needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): $(GIVEN) | $(BIN)/python
	$(call LOCKED)
	$(EDITABLE)
	@touch $@

$(VENV)/.installed-%: $(GIVEN) | $(BIN)/python
	$(call LOCKED,$(subst -, ,$*))
	$(EDITABLE)
	@touch $@ $(INSTALLED)

$(GENERATED): $(wildcard bomgen/data/*/*.yaml schemas/p*/*.json tools/*.py) schemas/plan.schema.json schemas/part-definitions.json | $(INSTALLED)
	$(BIN)/python tools/generate.py

$(INSTALLED_TOOLS): requirements/release.txt requirements/run.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --no-compile --require-hashes $(foreach lock,$^,--requirement $(lock))
	@touch $@

$(PEERS_AT)/%/.installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@
