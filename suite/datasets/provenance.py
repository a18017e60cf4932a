"""The origin of a prepared data set: ``prepared.json`` in its folder."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

NAME = "prepared.json"


@dataclass(frozen=True)
class Provenance:
    """Of generated data: the seed, the numbers of samples, and the SHA-256 of each file."""

    synthetic_seed: int | None = None
    train_samples: int | None = None
    eval_samples: int | None = None
    sha256: dict[str, str] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        """Write the file."""
        (directory / NAME).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read_provenance(directory: Path) -> Provenance:
    """The origin; empty when the folder has no such file, or one that cannot be read."""
    try:
        values = json.loads((directory / NAME).read_text(encoding="utf-8"))
        known = {each.name: values[each.name] for each in fields(Provenance)}
        return Provenance(**{**known, "sha256": dict(known["sha256"])})
    except (OSError, ValueError, KeyError, TypeError):
        return Provenance()
