"""An emulated arm64 board makes the demo's run, and a kernel whose power sensor shows known joules
is read right: `make prove box`.

`python -m proofs.box energy counters` runs some of the checks.

Resumable: the output of a check whose claims all held is kept in the box's folder, and is printed
instead of running the check again as long as nothing that runs in the box has changed. A check that
is named always runs.
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from proofs.box.check import CHECKS, FAILED, HELD
from proofs.box.place import place, sources_digest
from proofs.figures import hand_over


@dataclass(frozen=True)
class Result:
    """What a check printed, whether it finished and all its claims held, and how long it took or
    when it ran."""

    name: str
    output: str
    held: bool
    when: str

    def claims(self, mark: str) -> int:
        """How many claims held (HELD) or did not (FAILED)."""
        return sum(line.startswith(mark) for line in self.output.splitlines())

    def row(self) -> str:
        """A line of the summary."""
        held, failed = self.claims(HELD), self.claims(FAILED)
        return (
            f"{self.name:<10} {'yes' if self.held else 'NO ':<5} {held} of {held + failed} claims,"
            f" {self.when}"
        )


def main(named: list[str]) -> None:
    """Run the checks; the exit code is 1 when one did not finish or a claim did not hold."""
    unknown = [name for name in named if name not in CHECKS]
    if unknown:
        sys.exit(f"error: the box has no check {unknown[0]!r}; its checks are {', '.join(CHECKS)}")
    digest, results = sources_digest()[:16], []
    for name in named or CHECKS:
        kept = place() / f"held/{name}-{digest}.txt"
        results.append(_again(name, kept) if kept.exists() and not named else _run(name, kept))
    print("\n".join(("", "check      held", *(result.row() for result in results))))
    held, failed = (sum(result.claims(mark) for result in results) for mark in (HELD, FAILED))
    hand_over(
        checks=len(results),
        checks_that_held=sum(result.held for result in results),
        claims=held + failed,
        claims_that_held=held,
    )
    sys.exit(0 if all(result.held for result in results) else 1)


def _again(name: str, kept: Path) -> Result:
    """Print the kept output of a check."""
    output, when = (
        kept.read_text(encoding="utf-8"),
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(kept.stat().st_mtime)),
    )
    print(output, end="", flush=True)
    return Result(name, output, True, f"ran {when}")


def _run(name: str, kept: Path) -> Result:
    """Run a check, print what it prints, and keep that at ``kept`` when every claim held."""
    began_s, lines = time.monotonic(), []
    with subprocess.Popen(
        [sys.executable, "-m", "proofs.box.check", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            print(line, end="", flush=True)
    if process.returncode == 0:
        kept.parent.mkdir(parents=True, exist_ok=True)
        for earlier in kept.parent.glob(f"{name}-*.txt"):
            earlier.unlink()
        kept.write_text("".join(lines), encoding="utf-8")
    return Result(
        name, "".join(lines), process.returncode == 0, f"{time.monotonic() - began_s:.0f} s"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
