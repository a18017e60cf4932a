"""An example of every command, and what its exit codes mean: what its help ends with."""

from typing import Any

from suite.catalog.extensions import extensions

CODES = {
    "run": "Exit code: 0 done, 1 refused, since the run could never comply, 2 could not.",
    "cluster doctor": "Exit code: 0 the hosts can train together, 1 they cannot, 2 could not tell.",
}
"""Of commands whose help text has none, and which may end with 1."""
USUAL_CODES = "Exit code: 0 done, 2 could not."
EXAMPLES = {
    "run": (
        "suite run --division open --device auto --workload lenet --framework fake --data digits"
        " --epochs 3 --output runs/first"
    ),
    "quick": "suite quick --within 10m",
    "sweep": (
        "suite sweep --vary batch_size=16,64 --seeds 3 --steps 20 --workload lenet --framework fake"
        " --data digits"
    ),
    "finish": "suite finish runs/first",
    "power list": "suite power list",
    "power show": "suite power show",
    "power set": "suite power set --cores 2",
    "power restore": "suite power restore",
    "power attach": "suite power attach runs/first logger.csv --covers board",
    "check": "suite check runs/first",
    "audit bundle": "suite audit runs/first",
    "audit draw": "suite audit draw runs/first",
    "explain": "suite explain log-chain",
    "report": "suite report runs --output site",
    "trace": "suite trace runs/first",
    "figure": "suite figure jetson-2a runs --output stall.pdf",
    "paper list": "suite paper list",
    "paper make": "suite paper make jetson-2a runs",
    "paper check": "suite paper check jetson-2a runs",
    "reproduce": "suite reproduce runs/first --org lab",
    "verify-model": "suite verify-model resnet18",
    "verify-ranks": "suite verify-ranks vgg11 --ranks 4",
    "package": "suite package runs/1 runs/2 runs/3 --org acme --availability available",
    "submit": "suite submit --check-only acme.tar",
    "submissions status": "suite submissions status",
    "linpack": "suite linpack --size 6000",
    "doctor": "suite doctor",
    "implementation new": "suite implementation new my-lenet --language c",
    "implementation test": "suite implementation test my-lenet",
    "new": "suite new device my-board",
    "list workloads": "suite list workloads",
    "list devices": "suite list devices",
    "list frameworks": "suite list frameworks",
    "list data-sets": "suite list data-sets",
    "list studies": "suite list studies",
    "list figures": "suite list figures",
    "list rounds": "suite list rounds",
    "list rules": "suite list rules",
    "reference-points make": "suite reference-points make runs",
    "reference-points show": "suite reference-points show lenet",
    "reference-points compare": "suite reference-points compare runs",
    "env create": "suite env create pytorch",
    "data prepare": "suite data prepare mnist --download",
    "data verify": "suite data verify mnist",
    "nonce lock": (
        "suite nonce lock --division closed --workload lenet --framework pytorch --org acme"
    ),
    "witness serve": "suite witness serve --name lab",
    "cluster doctor": "suite cluster doctor --hostfile hosts.txt",
}


def examples() -> dict[str, str]:
    """An example of every command and subcommand, those of extensions too."""
    return EXAMPLES | {each.command: each.typed for one in extensions() for each in one.examples}


def with_examples(path: str, command: Any) -> Any:
    """The command, and those below it, with an example and the exit codes at the end of the
    help."""
    example = examples().get(path)
    if example:
        codes = "" if "Exit code:" in (command.help or "") else CODES.get(path, USUAL_CODES)
        command.epilog = f"For example: {example}" + (f"\n\n{codes}" if codes else "")
    for name, child in getattr(command, "commands", {}).items():
        with_examples(f"{path} {name}", child)
    return command
