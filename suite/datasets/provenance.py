"""Where a prepared data set came from: ``prepared.json``, written beside its files."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "prepared.json"


@dataclass(frozen=True)
class Provenance:
    """``archive_md5`` is the checksum of the archive that it came out of; ``sha256`` what each file's content was then.

    ``synthetic_seed`` is there when it was generated, with so many samples.
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
    """What is known; a folder without the file, or with one that is no such file, has no known origin."""
    try:
        values = json.loads((directory / NAME).read_text(encoding="utf-8"))
        return Provenance(**{**values, "sha256": dict(values["sha256"])})
    except (OSError, ValueError, KeyError, TypeError):
        return Provenance()
