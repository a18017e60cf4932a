# Two commands need nothing before them but git, make and Python 3.10 or later: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
SUITE := $(VENV)/bin/suite

.DEFAULT_GOAL := help
.PHONY: help setup demo test quick bench lint rules docs-tables site site-lock site-test locks extending mutation outsider audit mistakes verify-full energy-intervals clock-fits meter-cost simulate-ranks simulate-replications fuzz interruptions resumptions sweep-kills power-modes check-memory little-memory memory-peaks box slurm wire host-faults host-situations paper-hosts linpack-hosts single-steps clean container

help:
	@echo "make demo    set up, train LeNet-5 in PyTorch on handwritten digits, check the run, show it beside reference results"
	@echo "make test    run every test in the environments that tox makes"
	@echo "make quick   lint, types and the fast tests, in under 3 minutes once the environments exist"
	@echo "make bench   run every benchmark and write docs/benchmarks.md, in about 40 minutes; BENCH=--quick is a smoke test"
	@echo "make rules   fill the tables of rules/RULES.md from what the checker applies"
	@echo "make docs-tables  fill the generated tables of docs/: the tree, meters, faults"
	@echo "make site    build the documentation site into build/documentation: no warnings, every link followed"
	@echo "make site-test  build it as the workflow for a code host does, with the leaderboard; in a copy, in minutes; needs the network"
	@echo "make site-lock  resolve the packages that build the site and write their lock; needs the network"
	@echo "make locks   resolve every framework for every platform and write the locks of its environments; needs the network"
	@echo "make extending  make the examples of docs/extending.md in a scratch copy and run their contract tests"
	@echo "make mutation  how many single faults the checker finds, each by the right rule, and which rules fired"
	@echo "make outsider  how many lies that an outsider wrote the checker refuses, and which honest variations"
	@echo "make energy-intervals  how often the intervals of energies hold the true energy: waves, sensors, recorded traces"
	@echo "make clock-fits  how often the bound of a fitted logger's clock holds, as developed and out of sample"
	@echo "make meter-cost  CPU time of a reading of every meter and of 150 a second, and memory over ten scripted hours"
	@echo "make simulate-ranks  how often scores differ significantly, and ranks and their intervals are right, on boards of known truth"
	@echo "make simulate-replications  how often suite reproduce confirms and refutes times of known truth; RUNS=FOLDER… divides real runs, too"
	@echo "make audit   audit the reference runs in every framework, and forty forgeries of them; needs MNIST (suite data prepare mnist)"
	@echo "make mistakes  which of 142 mistakes in implementations, pipelines, schedules and weights are noticed, and by what; slow: more than half an hour"
	@echo "make verify-full  verify every model at the workloads' own batch sizes, and the first mini-batches of real MNIST, and several ranks; an hour"
	@echo "make fuzz    100,000 broken inputs for the checker, in minutes; FUZZ_INPUTS and FUZZ_SEED choose others"
	@echo "make interruptions  end 200 runs at random moments: is anything that was trained lost? in half an hour"
	@echo "make resumptions  kill 20 runs at random moments and resume them: is every loss the same? in minutes; RESUMED_FRAMEWORKS chooses others"
	@echo "make sweep-kills  kill a sweep in all three frameworks three times and resume it: is a run lost, or made twice? as root, in minutes"
	@echo "make power-modes  kill a sweep of power modes on a simulated board at 200 random moments: is everything put back? in minutes"
	@echo "make check-memory  memory and time of the checker for bundles that unpack to millions of rows or values"
	@echo "make little-memory  train ResNet-152 under a cgroup's limit of 1.5 GB and without one, turn about; as root, with a C compiler"
	@echo "make memory-peaks  planned and measured peaks of memory of ResNet-18 and -50, with and without schedules"
	@echo "make box     emulate an arm64 board: the demo's run, and a kernel whose power sensor shows known joules; as root, half an hour, resumable"
	@echo "make slurm   a Slurm of two nodes on this machine: the doctor, a run, a rank that is killed; as root, installs Debian's packages"
	@echo "make container  build the image that suite run --isolation podman starts; as root, installs Debian's packages"
	@echo "make wire    times of exchanges on 2 and 4 hosts at 100 Mbit/s and 1 Gbit/s, against bare TCP; as root, half an hour; WIRE='--models lenet5' is a part"
	@echo "make host-faults  faults of a run on two hosts at three random moments each: what it says, and what remains; as root, an hour"
	@echo "make host-situations  runs on hosts of other environments, disks, hostfiles and networks: what each says; as root, fifteen minutes"
	@echo "make paper-hosts  the runs of pi-1c on one, two and four hosts, network namespaces of this machine, in runs/papers/nodes; as root, in minutes"
	@echo "make linpack-hosts  the LINPACK study on one, two and four hosts, network namespaces of this machine, in runs/linpack-study; as root, in minutes; LINPACK='--size 8000'"
	@echo "make single-steps  count the instructions of a training step one by one, to compare with valgrind's count; half an hour; STEPPED_FRAMEWORK chooses another"
	@echo "make setup   set up the suite alone; then: . $(VENV)/bin/activate; suite --help"
	@echo "make clean   remove what setup and demo made here (framework environments stay in ~/.cache/edge-training-suite)"

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

test: setup
	@sh tools/browser.sh
	@sh tools/figures.sh
	@sh tools/measuring.sh
	@sh tools/linpack.sh
	@sh tools/compiler.sh
	@sh tools/hosts.sh
	@$(VENV)/bin/python -m pip install --quiet "tox>=4"
	@$(VENV)/bin/tox run

quick: setup
	@$(VENV)/bin/python -m pip install --quiet "tox>=4"
	@$(VENV)/bin/tox run -e quick

BENCH ?=
bench: $(VENV)/tested
	@$(VENV)/bin/python -m tools.framework_environments || true
	@$(VENV)/bin/python -m benchmarks $(BENCH)

lint: setup
	@$(VENV)/bin/python -m pip install --quiet "tox>=4"
	@$(VENV)/bin/tox run -e style

rules: setup
	@$(VENV)/bin/python -m suite.compliance.rulebook

locks: setup
	@$(VENV)/bin/python -m pip install --quiet uv packaging
	@PATH="$(VENV)/bin:$$PATH" $(VENV)/bin/python -m tools.lock_environments
	@$(VENV)/bin/python -m tools.docs_tables

docs-tables: setup
	@$(VENV)/bin/python -m tools.docs_tables

# The packages are in an environment of their own: nothing of the suite needs them.
site: setup
	@$(VENV)/bin/python -m pip install --quiet "tox>=4"
	@$(VENV)/bin/tox run -e site -- build/documentation

site-test: $(VENV)/tested
	@$(VENV)/bin/python -m pytest -m site tests/test_workflows.py

site-lock: setup
	@$(VENV)/bin/python -m pip install --quiet uv
	@$(VENV)/bin/uv pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-emit-find-links \
		--output-file tools/documentation/requirements.txt tools/documentation/requirements.in

extending: $(VENV)/tested
	@$(VENV)/bin/python -m pytest -m extending tests/test_extending.py

mutation: $(VENV)/tested
	@$(VENV)/bin/python -m tests.mutation.score

outsider: $(VENV)/tested
	@$(VENV)/bin/python -m tests.outsider.score

energy-intervals: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.metrics.energy_simulation

clock-fits: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.metrics.traces.clock_fit_campaign

meter-cost: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.meters.reading_cost

simulate-ranks: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.metrics.score_simulation

simulate-replications: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.metrics.replication_trials $(RUNS)

audit: $(VENV)/tested
	@$(VENV)/bin/python -m tests.forgeries.score

mistakes: $(VENV)/tested
	@$(VENV)/bin/python -m tests.mistakes.score

ACCELERATOR ?= cpu
verify-full: $(VENV)/tested
	@$(VENV)/bin/python -m pytest -q -m real tests/reference_impls/test_golden_values.py
	@for workload in rules/workloads/*.toml; do \
	  $(SUITE) verify-model $$(basename $$workload .toml) --full --accelerator $(ACCELERATOR) || exit 1; \
	done
	@for workload in lenet vgg11 resnet18; do $(SUITE) verify-ranks $$workload || exit 1; done
	@$(SUITE) verify-ranks resnet18 --normalisation synchronised

FUZZ_INPUTS ?= 100000
FUZZ_SEED ?= 0
fuzz: $(VENV)/tested
	@$(VENV)/bin/python -m tests.fuzz.campaign $(FUZZ_INPUTS) $(FUZZ_SEED)

INTERRUPTED_RUNS ?= 200
interruptions: $(VENV)/tested
	@$(VENV)/bin/python -m tests.interruptions.campaign $(INTERRUPTED_RUNS) 0

RESUMED_RUNS ?= 20
RESUMED_FRAMEWORKS ?= pytorch
resumptions: $(VENV)/tested
	@$(VENV)/bin/python -m tools.framework_environments
	@$(SUITE) data prepare digits
	@$(VENV)/bin/python -m tests.interruptions.resumptions $(RESUMED_RUNS) 0 $(RESUMED_FRAMEWORKS)

sweep-kills: $(VENV)/tested
	@$(VENV)/bin/python -m tools.framework_environments
	@$(VENV)/bin/python -m tests.interruptions.sweep_kills

POWER_KILLS ?= 200
power-modes: $(VENV)/tested
	@$(VENV)/bin/python -m tests.power_modes.campaign $(POWER_KILLS) 0

check-memory: $(VENV)/tested
	@$(VENV)/bin/python -m tests.fuzz.hostile

LITTLE_MEMORY ?= resnet152 8 1.5GB 10
little-memory: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.memory.little_memory $(LITTLE_MEMORY)

memory-peaks: $(VENV)/tested
	@$(VENV)/bin/python -m tests.suite.memory.planned_and_measured $(MEMORY_PEAKS)

# An emulated board in ~/.cache/edge-training-suite/box: 1.4 GB, made once; docs/emulated-board.md has the last output.
BOX ?=
box: $(VENV)/tested
	@sh tools/box.sh
	@$(VENV)/bin/python -m tests.box $(BOX)

slurm: $(VENV)/tested
	@sh tools/slurm.sh
	@$(VENV)/bin/python -m tests.slurm

container:
	@sh tools/podman.sh
	@sh tools/container.sh

WIRE ?=
wire: $(VENV)/tested
	@$(VENV)/bin/python -m benchmarks.wire_table $(WIRE)

HOST_FAULTS_SEED ?= 0
host-faults: $(VENV)/tested
	@$(VENV)/bin/python -m tests.host_faults $(HOST_FAULTS_SEED)

host-situations: $(VENV)/tested
	@$(VENV)/bin/python -m tests.host_situations

paper-hosts: $(VENV)/tested
	@$(VENV)/bin/python -m tests.hosts.paper_nodes

LINPACK ?=
linpack-hosts: $(VENV)/tested
	@sh tools/linpack.sh
	@$(VENV)/bin/python -m tests.hosts.linpack_nodes $(LINPACK)

STEPPED_FRAMEWORK ?= pytorch
single-steps: $(VENV)/tested
	@$(VENV)/bin/python -m tools.single_steps $(STEPPED_FRAMEWORK)

# What the tests need beside the suite: hypothesis, pytest.
$(VENV)/tested: $(SUITE)
	@$(VENV)/bin/python -m pip install --quiet --editable ".[test]"
	@touch $@

clean:
	rm -rf $(VENV) .tox build runs site *.egg-info
