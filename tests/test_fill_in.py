"""Nothing that `suite new` wrote is left to fill in."""

from suite.cli.skeletons import MARKER
from suite.files.paths import repository_root

ROOT = repository_root()
FOLDERS = (
    "rules/devices",
    "rules/workloads",
    "suite/meters/sources",
    "suite/compliance/rules",
    "tests/faults",
    "tests/suite/meters/recordings",
    "reference_impls",
    "extensions",
)
FILES = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".toml", ".md")
)


def test_nothing_is_left_to_fill_in() -> None:
    lines = (
        (path, number, line)
        for path in FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    )
    left = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path, number, line in lines
        if MARKER in line
    ]
    assert not left, "fill in:\n" + "\n".join(left)
