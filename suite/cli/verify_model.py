"""`suite verify-model WORKLOAD`."""

import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from suite.errors import SuiteError

if TYPE_CHECKING:
    from suite.verify.probing import ProbedImplementation
    from suite.verify.verdict import EquivalenceVerdict

NOT_EQUIVALENT = 1
REFERENCE = "pytorch"


def verify_model(
    workload: Annotated[str, typer.Argument(help="A workload (`suite list workloads`).")],
    framework: Annotated[list[str] | None, typer.Option(help="Only this framework; may be given several times.")] = None,
    implementation: Annotated[str | None, typer.Option(help="A vendor's probe, as `python -m` names it, in place of the frameworks.")] = None,
    python: Annotated[Path | None, typer.Option(help="The interpreter that runs the vendor's probe (default: this one).")] = None,
    output: Annotated[Path | None, typer.Option(help="Also write the verdict there, as JSON, for a submission to carry.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prove that implementations compute the same model: 0 they do, 1 a tolerance is missed, 2 it could not be found out."""
    from suite.catalog.workloads import load_workload
    from suite.verify.verdict import verify

    definition = load_workload(workload)
    reference = _subject(REFERENCE)
    verdict = verify(definition, reference, _subjects(framework, implementation, python), lambda words: print(words, file=sys.stderr))
    if output is not None:
        _write(verdict, output)
    if json:
        print(json_format.dumps(verdict.to_dict(), indent=1))
    else:
        _show(verdict)
    if not verdict.passed:
        raise typer.Exit(NOT_EQUIVALENT)


def _subjects(frameworks: list[str] | None, implementation: str | None, python: Path | None) -> "list[ProbedImplementation]":
    from suite.verify.probing import ProbedImplementation

    if implementation is not None:
        return [ProbedImplementation(implementation, python or Path(sys.executable), implementation)]
    if python is not None:
        raise SuiteError("--python is the interpreter of --implementation; give both.")
    return chosen_frameworks(frameworks)


def chosen_frameworks(names: list[str] | None) -> "list[ProbedImplementation]":
    """The probes of the frameworks that were named, of all that have one if none was."""
    from suite.catalog.frameworks import load_frameworks

    return [_subject(name) for name in names or [one.name for one in load_frameworks() if one.needs_environment and not one.open_only]]


def _subject(name: str) -> "ProbedImplementation":
    from suite.catalog.frameworks import load_framework
    from suite.launch.environments import find
    from suite.verify.probing import ProbedImplementation

    framework = load_framework(name)
    if not framework.needs_environment or framework.open_only:
        raise SuiteError(f"The framework {name!r} has no probe: it stands in for others in tests, or is for the open division.")
    return ProbedImplementation(name, find(framework).interpreter, f"{framework.module}.probe")


def _write(verdict: "EquivalenceVerdict", output: Path) -> None:
    try:
        output.write_text(json_format.dumps(verdict.to_dict(), indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SuiteError(f"{output} cannot be written: {error.strerror}; choose another --output.") from error


def _show(verdict: "EquivalenceVerdict") -> None:
    for subject in verdict.subjects:
        print(f"\n{verdict.workload}: {subject.name} against {verdict.reference}")
        for precision, one in subject.differences:
            error = "—" if one.error is None else f"{one.error:.1e}"
            mark = "ok" if one.passed else "MISSED"
            print(f"  {precision}  {one.quantity:16} {error:>8}  tolerance {one.tolerance:.0e}  {mark:6}  {one.problem or ''} {one.worst}".rstrip())
    print(f"\n{verdict.workload}: " + ("equivalent" if verdict.passed else "not equivalent"))
