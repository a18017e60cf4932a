"""The origin of a prepared data set: ``prepared.json`` in its folder."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "prepared.json"


@dataclass(frozen=True)
class Provenance:
    """``archive_md5`` is the checksum of the archive that it was unpacked from; ``sha256`` that of
    each file then.

    ``synthetic_seed`` and the numbers of samples are set when it was generated.
    """

    archive_md5: str | None = None
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
        return Provenance(**{**values, "sha256": dict(values["sha256"])})
    except (OSError, ValueError, KeyError, TypeError):
        return Provenance()
