"""What the suite prints, finds, calculates and draws of fixed inputs is what it was at an earlier
commit: `make prove unchanged`.

``python -m proofs.unchanged``. Two checkouts write the same outputs (``collect.py``): the commands
of ``commands.txt`` and every help, the tables and panels of papers, the frames and figures of every
bundle that the project holds, what the checker says of outsiders' lies, honest variations and the
faults of the rules. Of pages and figures the texts, labels and links are compared, and of what the
checker says the rules, by the ids that they have now. ``wanted.toml`` has the earlier commit and
the differences that are wanted, with their reasons.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from itertools import islice
from pathlib import Path

from proofs.figures import hand_over
from suite.compliance.registry import all_rules
from suite.errors import COULD_NOT
from suite.files.paths import repository_root
from suite.files.toml_file import read_table

WANTED = Path(__file__).with_name("wanted.toml")
KEPT = repository_root() / "build" / "unchanged"
SHOWN_LINES = 12
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}")
SHOWN = re.compile(
    r"(?<=>)[^<]+(?=<)|(?<=aria-label=\")[^\"]*|(?<=title=\")[^\"]*|(?<=href=\")[^\"]*"
)
STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
JUDGED = re.compile(r"\b(refused|warned): ([a-z0-9 -]*);")
NAMED, FIX = re.compile(r'"rule": "([^"]*)"'), re.compile(r'^ *"(fix|check)": .*\n', re.MULTILINE)
BOX = re.compile("[─-╿]")


@dataclass
class Difference:
    """One that is wanted: ``old``, a regular expression, becomes ``new`` in the earlier output of
    files that match ``file``. Without ``old`` these files are other ones, which somebody read."""

    file: str
    reason: str
    old: str = ""
    new: str = ""
    used: int = field(default=0, init=False)

    def apply(self, name: str, text: str, now: str) -> str:
        """The earlier output as it is wanted now."""
        if not fnmatch(name, self.file):
            return text
        if not self.old:
            self.used += text != now
            return now
        text, times = re.subn(self.old, self.new, text, flags=re.MULTILINE)
        self.used += times
        return text


def main() -> int:
    """Exit code 1: something else is different. The outputs stay in build/unchanged."""
    wanted = read_table(WANTED)
    base, differences = (
        str(wanted["base"]),
        [Difference(**fields) for fields in wanted.get("difference", [])],
    )
    earlier, present = KEPT / base, KEPT / "present"
    if not (earlier / "done").is_file():
        with tempfile.TemporaryDirectory(prefix="unchanged-") as name:
            checkout = Path(name) / "checkout"
            subprocess.run(
                ["git", "clone", "-q", "--no-checkout", str(repository_root()), str(checkout)],
                check=True,
            )
            subprocess.run(["git", "-C", str(checkout), "checkout", "-q", base], check=True)
            if code := collect(checkout, earlier):
                return code
    shutil.rmtree(present, ignore_errors=True)
    if code := collect(repository_root(), present):
        return code
    before, now = texts(earlier), texts(present)
    unlike = compare(before, now, differences)
    for one in differences:
        print(
            f"wanted, {one.used} times: {one.reason}"
            if one.used
            else f"wanted, but nowhere: {one.reason} ({one.file})"
        )
    unused = sum(not one.used for one in differences)
    print(
        f"{len(before)} outputs of {base}, {len(now)} of now: {len(unlike)} are different without a"
        " reason"
    )
    hand_over(
        base=base, outputs=len(now), different=len(unlike), wanted_differences=len(differences)
    )
    return int(bool(unlike) or unused > 0)


def collect(checkout: Path, folder: Path) -> int:
    """Let a checkout write its outputs with its own modules; 2 where it could not."""
    print(f"outputs of {checkout}", file=sys.stderr, flush=True)
    program = Path(__file__).with_name("collect.py")
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    if subprocess.run(
        [sys.executable, str(program), str(folder)], cwd=checkout, env=environment, check=False
    ).returncode:
        print(
            f"error: {checkout} could not write its outputs; what was wrong is above.",
            file=sys.stderr,
        )
        return COULD_NOT
    (folder / "done").touch()
    return 0


def texts(folder: Path) -> dict[str, str]:
    """Every output by its name, without what may differ: ids of runs, where a help breaks its
    lines, where a page and a figure put their texts, and by which former id a rule is named."""
    found = {
        path.relative_to(folder).as_posix(): RUN_ID.sub("RUN", path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return {name: _comparable(name, text) for name, text in found.items()}


def _comparable(name: str, text: str) -> str:
    if name.startswith("help/"):
        return "\n".join(BOX.sub(" ", text).split())
    if name.endswith((".svg", ".html")):
        shown = (each.strip() for each in SHOWN.findall(STYLE.sub("", text)))
        return "\n".join(sorted(filter(None, shown)))
    if name.startswith("lies/"):
        text = FIX.sub("", NAMED.sub(lambda found: f'"rule": "{_rule(found[1])}"', text))
        return JUDGED.sub(lambda found: f"{found[1]}: {_rules(found[2])};", text)
    return text


def _rules(ids: str) -> str:
    return " ".join(sorted({_rule(each) for each in ids.split()}))


@cache
def _rule(former: str) -> str:
    """The rule that has this id, or whose check has or had it."""
    return next((rule.id for rule in all_rules() if former in (rule.id, *rule.formerly)), former)


def compare(
    before: Mapping[str, str], now: Mapping[str, str], differences: Sequence[Difference]
) -> list[str]:
    """Names of outputs that differ without a reason; their first lines are printed."""
    unlike = []
    for name in sorted({*before, *now}):
        expected = before.get(name, "")
        for one in differences:
            expected = one.apply(name, expected, now.get(name, ""))
        if expected != now.get(name, ""):
            unlike.append(name)
            lines = difflib.unified_diff(
                expected.splitlines(),
                now.get(name, "").splitlines(),
                f"before/{name}",
                f"now/{name}",
                "",
                "",
                0,
                "",
            )
            print("\n".join(line[:300] for line in islice(lines, SHOWN_LINES)))
    return unlike


if __name__ == "__main__":
    sys.exit(main())
