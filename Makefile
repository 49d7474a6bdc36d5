# Every verb of the project. Each sets up what it needs: python3 (3.11 or newer), git and make are enough.
VENV ?= .venv
BIN := $(VENV)/bin
BOTH := -n 2 --dist loadfile
export DO_NOT_TRACK = 1
# Two processes share two cores; BLAS threads would fight.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
# What is imported is compiled once: otherwise every process compiles what it imports, three times the cost of its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run changed quick flows test slow nightly mutants portable elsewhere shaken coverage seconds soak faults fuzz hostile scaling idle peers lock check format \
	reference dist npm up key help

help:  ## list the verbs
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.ok: pyproject.toml requirements.lock
	python3 -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(VENV)/uv.txt
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

run: $(VENV)/.ok  ## the main job: one simulated round through Prefect, to tables and pictures
	$(BIN)/python -m ldpflow_flows.round

changed: $(VENV)/.ok  ## the quick tests of the rooms that have changed, and of what names their modules; SINCE=commit, ALL=1
	@files=$$($(BIN)/python -m tests.programs.changed --since $(or $(SINCE),HEAD) $(if $(ALL),--all)) && \
		if [ "$$files" ]; then $(BIN)/python -m pytest $(BOTH) -m "not slow and not flows" $$files; fi

quick: $(VENV)/.ok  ## the tests to run before a commit
	$(BIN)/python -m pytest $(BOTH) -m "not slow and not flows"

flows: $(VENV)/.ok  ## the tests that need a server of Prefect, which those of a process share
	$(BIN)/python -m pytest $(BOTH) -m "flows and not slow"

test: $(VENV)/.ok  ## both, the second even if the first fails: what `.ci/run` runs first
	@failed=0; $(MAKE) quick || failed=1; $(MAKE) flows || failed=1; exit $$failed

slow: $(VENV)/.ok  ## what `.ci/run` runs besides: browser, doors, kills, whole rounds; screenshots stay in build/screenshots
	LDPFLOW_SCREENSHOTS=$${LDPFLOW_SCREENSHOTS:-build/screenshots} $(BIN)/python -m pytest $(BOTH) \
		-m "slow and not nightly" --durations=15

nightly: $(VENV)/.ok  ## what `.ci/run` leaves out: studies, every case, kills, long fuzzing, coverage; hours
	LDPFLOW_SCREENSHOTS=$${LDPFLOW_SCREENSHOTS:-build/screenshots} $(BIN)/python -m pytest $(BOTH) -m nightly --durations=15
	$(BIN)/python -m pytest $(BOTH) -m "hypothesis and not flows" --hypothesis-profile=night
	$(MAKE) coverage mutants portable elsewhere shaken faults fuzz hostile soak
	$(MAKE) doors REPORTS=100000000 KILLS=100

mutants: $(VENV)/.ok  ## plant the bugs of tests/mutants in a copy, one at a time: the tests must see each; CI=1 plants some
	$(BIN)/python -m tests.programs.mutants $(if $(CI),--ci)

portable: $(VENV)/.ok  ## the tests that compare floats, and rounds, under five BLAS kernels and without numpy's extensions; CI=1 two
	$(BIN)/python -m tests.programs.portable $(if $(CI),--ci)

elsewhere: $(VENV)/.ok  ## quick tests under other Pythons, users, paths, masks, zones and locales, each in a copy; CI=1 some, all at once
	$(BIN)/python -m tests.programs.elsewhere $(if $(CI),--ci)

shaken: $(VENV)/.ok  ## quick tests and flows on one core, in random order, beside two busy processes, on another day far away
	$(BIN)/python -m tests.programs.shaken

coverage: $(VENV)/.ok  ## the lines and branches of dpcore that the quick tests reach
	$(BIN)/python -m pytest $(BOTH) -m "not slow and not flows" --cov=dpcore --cov-branch --cov-report=term:skip-covered

seconds: $(VENV)/.ok  ## where the CPU seconds of `make test` go, by part, folder, file, fixture and test
	$(BIN)/python -m pytest -p tests.helpers.seconds -m "not slow"

soak: $(VENV)/.ok  ## 96 scheduled rounds while server, worker, rounds and all of it are killed: an hour on a quiet machine
	$(BIN)/python -m tests.programs.soak

faults: $(VENV)/.ok  ## kill collector, aggregation and landing 100 times: every accepted report is counted once; some minutes
	$(BIN)/python -m tests.programs.faults

REPORTS ?= 1000000
KILLS ?= 8
.PHONY: doors
doors: $(VENV)/.ok  ## four collectors that share a folder, under load, are killed: a million reports are counted once; a minute
	$(BIN)/python -m tests.programs.doors --reports $(REPORTS) --kills $(KILLS)

fuzz: $(VENV)/.ok  ## 150,000 malformed inputs for the decoders, and requests made from the OpenAPI for ten minutes
	$(BIN)/python -m tests.programs.fuzz

hostile: $(VENV)/.ok  ## 1,000 hostile sequences of runs, and a round in all 720 orders of what may happen to it; an hour and more
	LDPFLOW_SEQUENCES=1000 LDPFLOW_ORDERS=6 $(BIN)/python -m pytest -n 2 -m slow tests/rounds/test_standing.py tests/rounds/test_orders.py

scaling: $(VENV)/.ok  ## how a round scales on Dask, and what its tasks cost; on a quiet machine
	$(BIN)/python -m tests.programs.scaling

idle: $(VENV)/.ok  ## what `ldpflow up` costs while nothing runs, beside Prefect's own server and worker; nine minutes
	$(BIN)/python -m tests.programs.idle

peers: $(VENV)/.ok  ## the packages that `ldpflow benchmark speed` is measured beside, in .venv-peers
	python3 -m venv .venv-peers
	$(BIN)/uv pip install --quiet --python .venv-peers/bin/python -r dpcore/laboratory/studies/peers/requirements.txt

.PHONY: tutorial pictures site
tutorial: $(VENV)/.ok  ## run the notebooks of data/guide/tutorial and write their pages, with what came out
	$(BIN)/python -m tests.programs.tutorial

pictures: $(VENV)/.ok  ## draw the guide's pictures, of estimates made under fixed seeds
	$(BIN)/python -m tests.programs.pictures

site: $(VENV)/.ok  ## the pages as a site with a search, in build/site, to be read without a network
	$(BIN)/python -m tests.programs.site

lock: $(VENV)/.ok  ## write requirements.lock from pyproject.toml; what is in it keeps its version
	$(BIN)/uv pip compile --quiet pyproject.toml --universal --python-version 3.11 --extra dev --extra docs --extra dask --extra compiled \
		--generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links -o requirements.lock > /dev/null

check: $(VENV)/.ok  ## lint, spelling, types and the rule for imports
	$(BIN)/ruff format --check dpcore flows tests
	$(BIN)/ruff check dpcore flows tests
	$(BIN)/codespell dpcore flows tests data/guide README.md CHANGELOG.md
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ok  ## lay out the code
	$(BIN)/ruff format dpcore flows tests
	$(BIN)/ruff check --fix dpcore flows tests

reference: $(VENV)/.ok  ## write the pages that are made of the code, and the index of decisions
	$(BIN)/python -m tests.programs.reference

dist: $(VENV)/.ok  ## a wheel in dist/: the code, its flows, and what is shipped to run on
	rm -rf build/lib build/bdist.*
	$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist

TERSER ?= 5.51.4
npm: $(VENV)/.ok  ## the npm package of the browser's client, in build/npm; terser, if npm can fetch it, shortens the code
	-npm install --silent --no-save --no-package-lock --no-audit --no-fund --prefix build/npm-tools terser@$(TERSER)
	$(BIN)/python -m tests.programs.npm

up: $(VENV)/.ok  ## a Prefect server, a worker and the scheduled deployments on this machine
	$(BIN)/ldpflow up

key: $(VENV)/.ok  ## print the key that the Prefect UI asks for
	@$(BIN)/ldpflow up --key
