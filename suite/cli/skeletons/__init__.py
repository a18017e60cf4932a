"""Writes the skeletons of new parts: ``templates/<kind>`` mirrors the checkout; NAME and MODULE in
paths are replaced."""

import enum
import keyword
import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from suite.errors import SuiteError
from suite.files.paths import checkout

TEMPLATES = Path(__file__).parent / "templates"
SUFFIX = ".template"
MARKER = "FILL IN"
MAX_NAME_LENGTH = 40


class SkeletonKind(str, enum.Enum):
    """The parts that are found by being there."""

    DEVICE = "device"
    METER = "meter"
    RULE = "rule"
    WORKLOAD = "workload"
    FRAMEWORK = "framework"
    EXTENSION = "extension"

    @property
    def one(self) -> str:
        """With its article."""
        return f"{'an' if self is SkeletonKind.EXTENSION else 'a'} {self.value}"


@dataclass(frozen=True)
class Contract:
    """What else a new part of a kind needs: tests that hold it to its contract, the signs that may
    join the words of its name, and steps for a person.

    Every part also needs GENERATORS, and TABLE_TESTS for what they write.
    """

    tests: tuple[str, ...]
    joints: str = "-"
    steps: tuple[str, ...] = ()


FILLED = "tests/test_fill_in.py"
UP_TO_DATE = "up_to_date or fill_in"  # tests of generated tables, and of what is to fill in
GENERATORS = ("make tables",)
TABLE_TESTS = ("tests/suite/compliance/test_rulebook.py", "tests/test_docs_tables.py")
CONTRACTS = {
    SkeletonKind.DEVICE: Contract(("tests/suite/catalog", "tests/suite/machine")),
    SkeletonKind.METER: Contract(("tests/suite/meters/test_registry.py",)),
    SkeletonKind.RULE: Contract(("tests/suite/compliance/test_rules.py",)),
    SkeletonKind.WORKLOAD: Contract(
        (
            "tests/suite/catalog",
            "tests/reference_impls/test_frameworks.py",
            "tests/suite/verify/test_verdict.py",
            "tests/suite/verify/test_verify_model.py",
        ),
        steps=(
            (
                "write its model in reference_impls/{pytorch,tensorflow,chainer}/models.py and add"
                " it to MODELS there"
            ),
        ),
    ),
    SkeletonKind.FRAMEWORK: Contract(
        ("tests/reference_impls/test_framework_folders.py",), joints="_"
    ),
    SkeletonKind.EXTENSION: Contract(
        ("tests/extensions/test_extensions.py", "tests/reporter/figures/test_figures.py"),
        joints="-_",
    ),
}


@dataclass(frozen=True)
class Skeleton:
    """The files that were written, relative to the checkout, and what to do next."""

    files: tuple[Path, ...]
    steps: tuple[str, ...]


def write_skeleton(kind: SkeletonKind, name: str, root: Path | None = None) -> Skeleton:
    """Write the skeleton of a new part into the checkout; each place to fill in carries MARKER.

    Raises SuiteError for a name that no part of this kind can have, and for one that exists;
    nothing is written then.
    """
    _refuse_invalid(kind, name)
    root, folder = root or checkout(), TEMPLATES / kind.value
    if root is None:
        raise SuiteError(
            f"{kind.one.capitalize()} is written into a checkout of the suite, but this suite is "
            "an installed package; use the suite of a checkout (`make setup` there)."
        )
    values = {
        "name": name,
        "module": name.replace("-", "_"),
        "command": name.replace("_", "-"),
        "class_name": "".join(word.capitalize() for word in re.split("[-_]", name)),
    }
    files = {
        _place(template.relative_to(folder), values): template
        for template in sorted(folder.rglob(f"*{SUFFIX}"))
    }
    if name in _known_names(kind):
        raise SuiteError(f"The {kind.value} {name!r} exists. Choose another name.")
    for path in files:
        module = path.parent.with_suffix(".py")  # a package of this name would hide it
        for existing in (path, *([module] if kind is SkeletonKind.FRAMEWORK else [])):
            if (root / existing).exists():
                raise SuiteError(
                    f"The {kind.value} {name!r} exists: {existing}. Choose another name, or edit"
                    " that file."
                )
    if root == checkout() and not Path.cwd().is_relative_to(root):
        raise SuiteError(
            f"`suite new` writes into the checkout {root}; go there, and repeat this command."
        )
    for path, template in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(
            Template(template.read_text(encoding="utf-8")).substitute(values), encoding="utf-8"
        )
    steps = (
        f"replace every {MARKER!r} in these files",
        *CONTRACTS[kind].steps,
        *GENERATORS,
        contract_command(kind, name),
    )
    return Skeleton(tuple(files), steps)


def _known_names(kind: SkeletonKind) -> frozenset[str]:
    """Names of parts whose files may have other names."""
    if kind is SkeletonKind.RULE:
        from suite.compliance.registry import all_rules  # start-up: every rule

        return frozenset(rule.id for rule in all_rules())
    if kind is SkeletonKind.METER:
        from suite.meters.registry import meter_classes  # start-up: every meter

        return frozenset(meter.name for meter in meter_classes())
    return frozenset()


def contract_command(kind: SkeletonKind, name: str) -> str:
    """The command that runs the contract tests of one part."""
    chosen = " or ".join(dict.fromkeys((name, name.replace("-", "_"), UP_TO_DATE)))
    return (
        f'python -m pytest {" ".join((FILLED, *CONTRACTS[kind].tests, *TABLE_TESTS))} -k "{chosen}"'
    )


def _refuse_invalid(kind: SkeletonKind, name: str) -> None:
    joints = CONTRACTS[kind].joints
    if (
        not re.fullmatch(rf"[a-z][a-z0-9]*([{joints}][a-z0-9]+)*", name)
        or len(name) > MAX_NAME_LENGTH
        or keyword.iskeyword(name)
    ):
        raise SuiteError(
            f"{name!r} cannot name {kind.one}: begin with a letter, use at most {MAX_NAME_LENGTH}"
            f" lower-case letters, digits and single {' or '.join(map(repr, joints))}, and avoid"
            f" Python keywords. Example: {f'my{joints[0]}{kind.value}'!r}."
        )


def _place(path: Path, values: dict[str, str]) -> Path:
    return Path(
        path.as_posix()
        .removesuffix(SUFFIX)
        .replace("NAME", values["name"])
        .replace("MODULE", values["module"])
    )
