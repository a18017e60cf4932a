"""Lies about the request and the rulebook: settings, seeds, round, versions."""

import hashlib
import json
from typing import Any

from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.registry import EDITED, ERROR, NOTHING, lie

SUBJECT = "request and rulebook"


@lie(
    SUBJECT,
    EDITED,
    "a rate outside of the range looks allowed",
    "the losses: an audit",
    sample="closed-two-ranks",
)
def another_rate(copy: ForgedCopy) -> None:
    """The learning rate is said to be half of what it was, in request, log and command."""
    copy.request["optimizer"]["base_learning_rate"] = 0.02
    copy.set_logged("opt_base_learning_rate", 0.02)
    copy.option("--learning-rate", "0.02")


@lie(
    SUBJECT,
    EDITED,
    "as above, with seeds of a nonce",
    "the seed does not follow from the configuration",
)
def another_rate_with_a_nonce(copy: ForgedCopy) -> None:
    """As another_rate, in a run with a nonce."""
    another_rate(copy)


@lie(SUBJECT, EDITED, "as above, with the seed that follows", "the losses: an audit")
def another_rate_and_its_seed(copy: ForgedCopy) -> None:
    """As another_rate, with digests and seed made to fit."""
    another_rate(copy)
    follow(copy)


@lie(SUBJECT, EDITED, "seeds of the round's nonce", "the losses: an audit")
def another_nonce(copy: ForgedCopy) -> None:
    """The nonce is exchanged for one that was given out later; seed and digests follow."""
    copy.run["nonce"]["nonce"] = "the round's nonce"
    copy.option("--nonce", "the round's nonce")
    follow(copy)


@lie(SUBJECT, EDITED, "runs left out do not show", "the losses: an audit")
def another_run_number(copy: ForgedCopy) -> None:
    """Run 2 is called run 0, and the seed follows."""
    copy.run["nonce"]["run_number"] = 7
    copy.option("--run-number", "7")
    follow(copy)


@lie(SUBJECT, ERROR, "nothing; a slip", "the seed is that of another number")
def run_number_typed_again(copy: ForgedCopy) -> None:
    """The run number is edited in record and command, the seed is left."""
    copy.run["nonce"]["run_number"] = 6
    copy.option("--run-number", "6")


@lie(SUBJECT, EDITED, "no gap in the numbers: the seed seems chosen freely", NOTHING)
def nonce_left_out(copy: ForgedCopy) -> None:
    """Nonce and number are taken out of record and command; the seed is given as one that was
    chosen."""
    copy.run["nonce"] = None
    copy.option("--nonce", None)
    copy.option("--run-number", None)
    copy.option("--seed", str(copy.request["seed"]))


@lie(
    SUBJECT,
    EDITED,
    "another implementation than the one that was locked",
    "the seed does not follow from the digest",
)
def another_implementation(copy: ForgedCopy) -> None:
    """The digest of the implementation is that of the published one; the entry's digest follows,
    the seed does not."""
    seed = copy.request["seed"]
    copy.run["nonce"]["implementation_sha256"] = hashlib.sha256(b"published").hexdigest()
    follow(copy)
    set_seed(copy, seed)


@lie(
    SUBJECT,
    EDITED,
    "hides that the numbers are not this implementation's",
    "no published implementation has this digest; the losses: an audit",
)
def another_implementation_and_its_seed(copy: ForgedCopy) -> None:
    """As above, and the seed follows."""
    copy.run["nonce"]["implementation_sha256"] = hashlib.sha256(b"published").hexdigest()
    follow(copy)


@lie(SUBJECT, ERROR, "a faster schedule", "the workload's ten epochs", sample="closed-two-ranks")
def eight_epochs(copy: ForgedCopy) -> None:
    """The schedule's horizon is eight epochs."""
    copy.request["epochs"] = 8
    copy.set_logged("max_epochs", 8)


@lie(
    SUBJECT,
    ERROR,
    "Nesterov's momentum and 0.95",
    "the workload's momentum",
    sample="closed-two-ranks",
)
def more_momentum(copy: ForgedCopy) -> None:
    """Momentum 0.95 in request and log."""
    copy.request["optimizer"]["momentum"] = 0.95
    copy.set_logged("opt_momentum", 0.95)


@lie(
    SUBJECT,
    EDITED,
    "a closed result",
    "the data set, the number of epochs, no digests of states",
    sample="open-pytorch",
)
def open_called_closed(copy: ForgedCopy) -> None:
    """An open run is said to be closed, in request, log and command."""
    copy.request["division"] = "closed"
    copy.set_logged("submission_division", "closed")
    copy.option("--division", "closed")


@lie(SUBJECT, ERROR, "nothing; a slip", "the round's versions of the suite")
def a_version_to_come(copy: ForgedCopy) -> None:
    """Suite 0.2.1."""
    copy.run["suite_version"] = "0.2.1"


@lie(
    SUBJECT,
    EDITED,
    "the weaker rules of the first round",
    "the first round is closed, its results are listed",
    sample="closed-two-ranks",
)
def moved_to_the_first_round(copy: ForgedCopy) -> None:
    """Round v0.1 and suite 0.1.0."""
    copy.run["round"], copy.run["suite_version"] = "v0.1", "0.1.0"


@lie(
    SUBJECT,
    EDITED,
    "the times of two threads count as those of one",
    "CPU seconds per second of the training",
    sample="threads",
)
def two_threads_called_one(copy: ForgedCopy) -> None:
    """A run with two threads is said to have one, in request, log and command."""
    copy.request["threads"] = 1
    copy.set_logged("framework_threads", 1)
    copy.option("--threads", "1")


@lie(
    SUBJECT,
    EDITED,
    "processes that load data do not show",
    "the number of processes and the small fetch times",
    sample="workers",
)
def workers_called_none(copy: ForgedCopy) -> None:
    """A run with two processes that load data is said to have none."""
    copy.request["loading"]["workers"] = 0
    copy.option("--workers", None)


@lie(
    SUBJECT,
    EDITED,
    "half the bits: faster",
    "losses with eight bits: an audit; the losses' last digits",
    sample="bf16",
)
def bfloat16_called_float32(copy: ForgedCopy) -> None:
    """A run of pytorch_bf16 is said to be one of pytorch, in request, log, command, id and
    system."""
    copy.request["framework"] = copy.system["framework"] = "pytorch"
    copy.set_logged("framework", "pytorch")
    copy.option("--framework", "pytorch")
    copy.run["run_id"] = copy.run["run_id"].replace("pytorch_bf16", "pytorch")


@lie(
    SUBJECT,
    EDITED,
    "somebody else's name",
    "nothing but the submission that holds it",
    sample="closed-two-ranks",
)
def another_organization(copy: ForgedCopy) -> None:
    """Another organization in request, log and command."""
    copy.request["organization"] = "reference"
    copy.set_logged("submission_org", "reference")
    copy.option("--org", "reference")


@lie(SUBJECT, EDITED, "a run that could not comply", "the command has --allow-invalid")
def allowed_invalid_and_forgotten(copy: ForgedCopy) -> None:
    """The command has --allow-invalid; the findings that it allowed were deleted."""
    copy.run["command"].append("--allow-invalid")
    copy.run["findings_allowed"] = []


@lie(SUBJECT, ERROR, "nothing; a slip", "the request has no step limit")
def a_step_limit_in_the_command(copy: ForgedCopy) -> None:
    """The command has --steps 400."""
    copy.option("--steps", "400")


@lie(
    SUBJECT,
    EDITED,
    "a program of the vendor's instead of the suite",
    "the command does not start the suite",
)
def another_program(copy: ForgedCopy) -> None:
    """The recorded command starts another program."""
    copy.run["command"][:2] = ["/opt/vendor/turbo", "run"]


@lie(
    SUBJECT,
    ERROR,
    "fewer evaluations, less time",
    "the workload's interval of one epoch",
    sample="closed-two-ranks",
)
def every_second_epoch_evaluated(copy: ForgedCopy) -> None:
    """The request says that every second epoch is evaluated."""
    copy.request["eval_every_epochs"] = 2


@lie(SUBJECT, ERROR, "nothing; a slip", "the request has batches of 128", sample="closed-two-ranks")
def batches_of_another_run(copy: ForgedCopy) -> None:
    """The request, log and command say 64, the steps hold 128."""
    copy.request["global_batch_size"] = 64
    copy.set_logged("global_batch_size", 64)
    copy.option("--batch-size", "64")


LEFT_OUT = {
    "contract_version",
    "seed",
    "output_directory",
    "cache_cleared",
    "drop_cache_every_epoch",
    "loading",
    "threads",
    "accelerator",
}
LEFT_OUT_BELOW = {
    "data": {"directory", "verified"},
    "parallel": {"nodes", "bucket_bytes", "overlap"},
}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def follow(copy: ForgedCopy) -> None:
    """Recompute digests and seed of a run with a nonce, as RULES.md prints it."""
    nonce = copy.run["nonce"]
    request: dict[str, Any] = {
        name: value for name, value in copy.request.items() if name not in LEFT_OUT
    }
    for name, fields in LEFT_OUT_BELOW.items():
        request[name] = {
            field: value for field, value in request[name].items() if field not in fields
        }
    nonce["configuration_sha256"] = _sha256(
        json.dumps(request, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )
    nonce["entry_sha256"] = _sha256(
        f"{nonce['implementation_sha256']}\n{nonce['configuration_sha256']}\n"
    )
    set_seed(
        copy,
        int(
            _sha256(
                f"{nonce['nonce']}\n{nonce['round']}\n{nonce['entry_sha256']}\n{nonce['run_number']}\n"
            )[:8],
            16,
        ),
    )


def set_seed(copy: ForgedCopy, seed: int) -> None:
    """A seed in request and log."""
    copy.request["seed"] = seed
    copy.set_logged("seed", seed)
