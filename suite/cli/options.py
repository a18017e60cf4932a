"""Command-line options as dataclasses: each option and its help text is written once, and commands
share them."""

import functools
import inspect
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

from typer import Argument, Option

from reference_impls.rank import HEARTBEAT_TIMEOUT_S
from suite.api import (
    Accelerator,
    Collective,
    Division,
    Normalisation,
    Placement,
    Precision,
    RunOptions,
    Shares,
    Wire,
    place_ranks,
)
from suite.cli.completion import device_names, framework_names, workload_names
from suite.cli.json_output import Json as Json
from suite.errors import SuiteError

FRAMEWORK = "pytorch"
"""What trains where no other is named."""
DIVISION_HELP = "`closed` (rulebook settings) or `open` (anything goes; quality is reported)."
SHORTEST_SILENCE_S, LONGEST_SILENCE_S = HEARTBEAT_TIMEOUT_S, 3600.0
"""A rank's meters may take six seconds until the harness replies to it."""
AGENT_HELP = (
    "Program that starts a process on a remote host: Slurm's `srun`, or a program that is"
    " started like ssh: PROGRAM HOST COMMAND (default: ssh)."
)
ACCUMULATE_HELP = (
    "Number of mini-batches whose gradients are summed for one exchange and update; only the"
    " open division allows more than one."
)
Runs = Annotated[list[Path], Argument(help="Run directories, or folders with run directories.")]
WorkloadName = Annotated[
    str, Argument(autocompletion=workload_names, help="Workload (`suite list workloads`).")
]
ClosedWorkloads = Annotated[
    list[str] | None,
    Argument(
        metavar="WORKLOAD",
        autocompletion=workload_names,
        help="Workloads (default: the closed division's workloads for this device).",
    ),
]
FrameworkName = Annotated[
    str, Option(autocompletion=framework_names, help="Framework (`suite list frameworks`).")
]
OwnImplementation = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Folder of your own implementation (docs/implementing.md), in place of --framework.",
    ),
]
DataFolder = Annotated[
    Path | None,
    Option(help="Folder of the run's data set (default: that of `suite data prepare`)."),
]
WhereTrained = Annotated[Accelerator, Option(help="Accelerator to train on.")]
OfAllReduce = Annotated[
    Collective,
    Option(help="All-reduce backend: `mpi` (the suite's) or `native` (the framework's)."),
]
OfStatistics = Annotated[
    Normalisation,
    Option(
        help=(
            "Statistics of batch normalisation: of a rank's own samples (`local`) or of the whole"
            " mini-batch (`synchronised`)."
        )
    ),
]
OfArithmetic = Annotated[
    Precision | None,
    Option(
        help=(
            "Precision of matrix products and convolutions (default: float32, with TF32 off); only "
            "entries of the same precision are compared."
        )
    ),
]


def say(line: str) -> None:
    """Print what goes on: on standard error, beside the command's results."""
    print(line, file=sys.stderr)


def refuse_both(framework: object, implementation: Path | None) -> None:
    """Raise SuiteError where two options say what computes."""
    if framework and implementation is not None:
        raise SuiteError(
            "--framework and --implementation both choose the implementation; leave one of them"
            " out."
        )


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter that is a dataclass into one option per field, named and typed as the
    field.

    A field is written as a typer parameter: ``threads: Annotated[int | None, Option(help=…)]
    = None``. The returned function takes keywords only; the defaults of fields hold for direct
    calls, too.
    """
    hints = get_type_hints(function, include_extras=True)
    groups = {name: cast("type[Any]", hint) for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(function)
    def call(**values: Any) -> None:
        own = {name: values.pop(name) for name in hints if name in values}
        made = {
            name: group(
                **{
                    field.name: values.pop(field.name)
                    for field in fields(group)
                    if field.name in values
                }
            )
            for name, group in groups.items()
        }
        return function(**own, **made, **values)

    parameters = [
        one
        for name, parameter in inspect.signature(function).parameters.items()
        for one in _expanded(parameter, hints[name])
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del call.__wrapped__  # else the signature of the wrapped function is found
    return call


def _expanded(parameter: inspect.Parameter, hint: Any) -> list[inspect.Parameter]:
    if not is_dataclass(hint):
        return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hint)]
    hints = get_type_hints(hint, include_extras=True)
    empty = inspect.Parameter.empty
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(hint)
    ]


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What `suite run` and `suite sweep` have in common."""

    device: Annotated[
        str,
        Option(autocompletion=device_names, help="Device profile, or auto (`suite list devices`)."),
    ] = "auto"
    framework: Annotated[
        str | None,
        Option(
            autocompletion=framework_names,
            help=f"Framework (`suite list frameworks`; default: {FRAMEWORK}).",
        ),
    ] = None
    implementation: OwnImplementation = None
    data: Annotated[
        str | None,
        Option(
            help=(
                "Data set name, folder with the workload's default data set, NAME=DIR for"
                " another data set, or `synthetic` (default: the workload's)."
            )
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(
            help=(
                "Seed for initial weights and sample order (default: 1); in a sweep, the seed"
                " of each value's first run."
            )
        ),
    ] = None
    epochs: Annotated[
        int | None,
        Option(help="Maximum epochs (also the horizon of the learning-rate schedule)."),
    ] = None
    steps: Annotated[int | None, Option(help="Stop each run after N mini-batches.")] = None
    no_target: Annotated[
        bool,
        Option("--no-target", help="Train all epochs, whatever the accuracy (open division)."),
    ] = False
    batch_size: Annotated[
        int | None,
        Option(
            help="Samples per global mini-batch; in a weak-scaling sweep, per host (on one"
            " machine, per rank)."
        ),
    ] = None
    threads: Annotated[
        int | None,
        Option(
            help="Framework threads per rank (default: the workload's, else every usable core)."
        ),
    ] = None
    accelerator: WhereTrained = Accelerator.AUTO
    precision: OfArithmetic = None
    hostfile: Annotated[
        Path | None,
        Option(help="File of hosts to train on, one per line (default: this machine)."),
    ] = None
    ranks_per_node: Annotated[
        int | None,
        Option(
            help="Ranks on each node (default: the hostfile's slots, else 1; with --study linpack:"
            " the slots, else one per core of this machine)."
        ),
    ] = None
    collective: OfAllReduce = Collective.MPI
    normalisation: OfStatistics = Normalisation.LOCAL
    launch_agent: Annotated[str | None, Option(help=AGENT_HELP)] = None
    wire: Annotated[
        Wire,
        Option(
            help="Number format in which gradients are sent; only the open division allows "
            "16-bit formats."
        ),
    ] = Wire.EXACT
    accumulate: Annotated[int, Option(help=ACCUMULATE_HELP)] = 1
    shares: Annotated[
        Shares,
        Option(
            help="Samples of a mini-batch on each rank: `equal`, or by the `speed` of each rank, "
            "measured before the first step (open division)."
        ),
    ] = Shares.EQUAL
    silence: Annotated[
        float,
        Option(
            min=SHORTEST_SILENCE_S,
            max=LONGEST_SILENCE_S,
            help="End the run if a rank sends no heartbeat for N seconds.",
        ),
    ] = SHORTEST_SILENCE_S
    no_identity: Annotated[
        bool,
        Option(
            "--no-identity",
            help=(
                "Do not record the digest of the board's serial number, which distinguishes boards"
                " of one kind."
            ),
        ),
    ] = False
    dry_run: Annotated[bool, Option("--dry-run", help="Print the resolved requests and stop.")] = (
        False
    )
    json: Json = False

    def __post_init__(self) -> None:
        refuse_both(self.framework, self.implementation)

    def place(self, nodes: int | None) -> Placement:
        """The first ``nodes`` hosts (default: all of them), or this machine."""
        return replace(
            place_ranks(nodes, self.hostfile, self.ranks_per_node, self.launch_agent),
            silence_s=self.silence,
        )

    def run_options(
        self, division: Division, workload: str, placement: Placement, **changes: Any
    ) -> RunOptions:
        """Options of one run; ``changes`` are further fields of RunOptions, or override the command
        line's."""
        common: dict[str, Any] = {
            name: getattr(self, name)
            for name in (each.name for each in fields(RunOptions))
            if hasattr(self, name)
        }
        common["framework"] = self.framework or FRAMEWORK
        if self.seed is None:
            del common["seed"]
        if self.implementation is not None:
            common["implementation"] = str(self.implementation.absolute())
        fixed = {"division": division, "workload": workload, "placement": placement}
        return RunOptions(**{**common, "with_identity": not self.no_identity, **fixed, **changes})
