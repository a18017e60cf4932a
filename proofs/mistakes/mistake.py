"""What a mistake is: a small edit of the sources, with the proof that must notice it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GOLDEN = "golden values"
"""The proof is in tests/reference_impls/test_golden_values.py, which needs no framework."""

PROBE = "probe"
"""The proof is `suite verify-model`: the mistake's framework misses a tolerance of the mistake's
workload."""

WORKERS = "workers"
"""The proof is test_workers_change_no_bit_of_a_mini_batch of the mistake's framework in
tests/reference_impls/test_frameworks.py."""

EVALUATED = "evaluated samples"
"""The proof is the mistake's framework in tests/reference_impls/test_beside_the_loop.py."""

AVERAGED = "averaged statistics"
"""The proof is the mistake's framework in tests/reference_impls/test_beside_the_loop.py."""

ADAPTED = "adapted steps"
"""The proof is every case of the mistake's framework in tests/reference_impls/test_adaptation.py.
"""

MODEL, STEP, WEIGHTS, EVALUATION, PIPELINE, SCHEDULE, START, PART = (
    "model",
    "step",
    "weights",
    "evaluation",
    "pipeline",
    "schedule",
    "start",
    "part",
)
PYTORCH, TENSORFLOW, CHAINER = (
    f"reference_impls/{name}/implementation.py" for name in ("pytorch", "tensorflow", "chainer")
)


@dataclass(frozen=True)
class Mistake:
    """One edit: in the file ``path`` the text ``old``, which is there exactly once, becomes
    ``new``.

    ``kind`` is the class of the mistake in the tables, ``proof`` what must notice it; ``workload``,
    ``framework`` and ``batch_size`` are those of a probe, None for the size of the workload's timed
    steps.
    """

    name: str
    kind: str
    path: str
    old: str
    new: str
    proof: str
    workload: str = "lenet"
    batch_size: int | None = None

    @property
    def framework(self) -> str | None:
        """The framework whose implementation is edited; None for shared code."""
        parts = Path(self.path).parts
        return parts[1] if len(parts) == 3 and parts[1] != "data" else None

    def apply(self, root: Path) -> None:
        """Edit the copy of the sources in ``root``; raises ValueError where the text is not there
        exactly once, as it is written or in other lines."""
        path = root / self.path
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) == 1:
            path.write_text(text.replace(self.old, self.new), encoding="utf-8")
            return
        found = list(in_other_lines(self.old).finditer(text))
        if len(found) != 1:
            raise ValueError(
                f"{self.name}: {self.path} has the text {len(found)} times: {self.old!r}"
            )
        before, after = text[: found[0].start()], text[found[0].end() :]
        path.write_text(before + self.new.strip() + after, encoding="utf-8")


def in_other_lines(code: str) -> re.Pattern[str]:
    """Matches an expression however a formatter breaks it into lines."""
    words = re.findall(r"\w+|[^\w\s]", code)
    parts = [re.escape(word) if word not in ")]" else rf",?\s*\{word}" for word in words]
    ends = (r"\b" if word.isidentifier() else "" for word in (words[0], words[-1]))
    return re.compile(r"\s*".join(parts).join(ends))


def of(
    kind: str,
    path: str,
    proof: str,
    *edits: tuple[str, str, str],
    workload: str = "lenet",
    batch_size: int | None = None,
) -> tuple[Mistake, ...]:
    """Mistakes of one kind in one file; each edit is a name, the text that is there, and the
    mistaken one."""
    return tuple(
        Mistake(name, kind, path, old, new, proof, workload, batch_size) for name, old, new in edits
    )


@contextmanager
def made(mistake: Mistake, root: Path) -> Iterator[None]:
    """The copy with the mistake."""
    path = root / mistake.path
    text = path.read_text(encoding="utf-8")
    mistake.apply(root)
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
