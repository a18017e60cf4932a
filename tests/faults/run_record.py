"""Faults that the rules of suite.compliance.rules.run_record find, by check."""

from reference_impls.contract import ASYNCHRONOUS, BF16_MIXED, FLOAT16, SPEED, SYNCHRONISED
from suite.catalog.meter_choice import LEFT_OUT
from tests.faults.edits.fault import Fault, both, sealed
from tests.faults.edits.file_edits import set_run, shift_start
from tests.faults.edits.log_edits import request_also, set_everywhere, set_request
from tests.faults.edits.reading_edits import set_meter
from tests.faults.edits.recomputation_edits import claim_budget

TYPED = ("suite", "run", "--division", "closed", "--workload", "lenet")


DAY_MS = 86_400_000


FAULTS: dict[str, tuple[Fault, ...]] = {
    "command-agrees": (
        *(
            fault
            for more in (
                ("--seed", "9"),
                ("--batch-size=16",),
                ("--learning-rate", "0.1"),
                ("--framework", "chainer"),
                ("--data", "synthetic"),
                ("--precision", "tf32"),
            )
            for fault in both(
                f"the command has {' '.join(more)}", set_run("command", [*TYPED, *more])
            )
        ),
        *both(
            "16 mini-batches ahead, and nothing of it in the command",
            set_request("loading.prefetch", 16),
        ),
        *both("two workers, and nothing of it in the command", set_request("loading.workers", 2)),
        *both(
            "gradients in float16, and nothing of it in the command",
            set_everywhere("parallel.wire", FLOAT16),
            ranks=2,
        ),
        *both(
            "shares by speed, and nothing of it in the command",
            request_also("parallel.shares", SPEED),
            ranks=2,
        ),
        *both(
            "gradients of four mini-batches summed, and nothing of it in the command",
            request_also("accumulation", 4),
        ),
        *both("bfloat16, and nothing of it in the command", request_also("precision", BF16_MIXED)),
        *both(
            "asynchronous timing, and nothing of it in the command",
            request_also("timing", ASYNCHRONOUS),
        ),
        *both(
            "statistics synchronised, and nothing of it in the command",
            set_everywhere("parallel.normalisation", SYNCHRONISED),
            ranks=2,
        ),
        *both(
            "meters left out by the command only",
            set_run("command", [*TYPED, "--meters", "-cpu,-memory"]),
        ),
        *both("a meter left out by its record only", set_meter("cpu", reason=LEFT_OUT)),
        *both(
            "a power pulse, and nothing of it in the command",
            set_run("power_pulse", {"loads_ns": []}),
        ),
        *both(
            "an isolation, and nothing of it in the command",
            set_run("isolation", {"kind": "namespace"}),
        ),
        *both(
            "the command has another version of the framework",
            set_run("command", [*TYPED, "--framework", "pytorch==0.4.1"]),
        ),
        *both(
            "the command has an isolation that is not recorded",
            set_run("command", [*TYPED, "--isolation", "namespace"]),
        ),
        sealed("the command has --data digits", set_run("command", [*TYPED, "--data", "digits"])),
        sealed(
            "the command has --memory-budget 2GB, and the request no schedule",
            set_run("command", [*TYPED, "--memory-budget", "2GB"]),
        ),
        *both(
            "activations on storage, and no --spill in the command",
            claim_budget(spill=True, command=("--memory-budget", "2GB")),
        ),
        sealed(
            "the command has --normalisation synchronised",
            set_run("command", [*TYPED, "--normalisation", "synchronised"]),
            ranks=2,
        ),
        sealed(
            "the command has --threads of a word",
            set_run("command", [*TYPED, "--threads", "many"]),
        ),
    ),
    "command-runs": (
        *both("no command", set_run("command", [])),
        *both("another command", set_run("command", ["suite", "check", "runs"])),
        *both(
            "an option cut short",
            set_run("command", [*TYPED, "--witn", "http://witness.example"]),
        ),
        *both("a command that trains nothing", set_run("command", [*TYPED, "--dry-run"])),
    ),
    "run-record": (
        sealed("exit code 137", set_run("exit_code", 137)),
        sealed("a message of failure", set_run("message", "out of memory")),
        *(sealed(f"started {days} days later", shift_start(days * DAY_MS)) for days in (-30, 30)),
        sealed("started ten minutes earlier", shift_start(-600_000)),
    ),
    "run-id": tuple(
        fault
        for name in (
            "lenet-pytorch-20240101T000000Z-000001",
            "lenet-chainer-20270115T080000Z-000001",
            "best-run",
            "lenet-pytorch-20279915T080000Z-0",
        )
        for fault in both(f"the run id {name}", set_run("run_id", name))
    ),
    "no-findings-allowed": both(
        "closed-data allowed", set_run("findings_allowed", ["closed-data"])
    ),
}
