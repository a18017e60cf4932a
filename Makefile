# Two commands need nothing before them but git, make and Python 3.10 or later: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
SUITE := $(VENV)/bin/suite
TESTED := $(VENV)/tested

# `make prove NAME…`: the words after `prove` are names of proofs, not targets.
ifeq (prove,$(firstword $(MAKECMDGOALS)))
NAMES := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(NAMES)
$(eval $(NAMES) &:;@:)
endif

.DEFAULT_GOAL := help
.PHONY: help setup demo board test quick lint bench prove nightly site dist tables clean

help:
	@echo "make demo      train LeNet-5 on handwritten digits, check the run, show it beside reference results"
	@echo "make board     on a Jetson, a Raspberry Pi, …: what it reports and a run of LeNet-5, in one file to send"
	@echo "make test      style, types and all tests: 10 minutes on two cores once the environments exist"
	@echo "make quick     style, types and the tests of what you changed, in under 2 minutes"
	@echo "make lint      style and types; make tables fills the generated tables of the rulebook and docs/"
	@echo "make bench     every benchmark, about 40 minutes; BENCH=--quick is a smoke test"
	@echo "make prove     list the proofs: campaigns of minutes to hours; make prove NAME runs one, make nightly what is due"
	@echo "make site      the documentation site, in build/documentation; make dist the wheel and an image of this architecture"
	@echo "make setup     set up the suite alone; then: . $(VENV)/bin/activate; suite --help"
	@echo "make clean     remove what was made here (framework environments stay in ~/.cache/edge-training-suite)"

setup: $(SUITE)

$(SUITE): pyproject.toml tools/bootstrap.sh
	@PYTHON="$(PYTHON)" sh tools/bootstrap.sh "$(VENV)"
	@touch $(SUITE)

demo: setup
	@$(SUITE) env create pytorch
	@$(SUITE) data prepare digits
	@$(SUITE) run --division open --device auto --workload lenet --framework pytorch --data digits --output build/demo/run --force
	@$(SUITE) check build/demo/run
	@$(SUITE) report build/demo/run --beside-reference --output build/demo/site --force

board: setup
	-@$(SUITE) env create pytorch
	-@$(SUITE) data prepare digits
	@$(SUITE) bringup --train

# Everything that the tests need beside the suite is in the same environment.
$(TESTED): pyproject.toml tools/bootstrap.sh
	@PYTHON="$(PYTHON)" EXTRAS=test,lint sh tools/bootstrap.sh "$(VENV)"
	@touch $(SUITE) $@

test:
	@PYTHON="$(PYTHON)" sh tools/test_setup.sh "$(VENV)"
	@$(MAKE) --silent --no-print-directory $(TESTED)
	@$(VENV)/bin/python -m tools.test_run test

quick: $(TESTED)
	@$(VENV)/bin/python -m tools.test_run quick

lint: $(TESTED)
	@$(VENV)/bin/python -m tools.test_run lint

BENCH ?=
bench: $(TESTED)
	@$(VENV)/bin/python -m tools.framework_environments || true
	@$(VENV)/bin/python -m benchmarks $(BENCH)

ARGUMENTS ?=
prove: $(TESTED)
	@$(VENV)/bin/python -m proofs $(NAMES) --arguments="$(ARGUMENTS)"

GRANT ?=
nightly: $(TESTED)
	@$(VENV)/bin/python -m proofs --due --grant "$(GRANT)"

tables: setup
	@$(VENV)/bin/python -m suite.compliance.rulebook
	@$(VENV)/bin/python -m tools.docs_tables
	@$(VENV)/bin/python -m proofs.evidence

# Its packages are in an environment of their own: nothing of the suite needs them.
site: setup
	@$(VENV)/bin/python -m pip install --quiet "tox>=4"
	@$(VENV)/bin/tox run -e site -- build/documentation

dist: setup
	@$(VENV)/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@sh tools/container.sh dist

clean:
	rm -rf $(VENV) .tox build dist runs site *.egg-info
