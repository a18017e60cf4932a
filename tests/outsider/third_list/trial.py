"""Tries the edits on copies of the reference submission: `python -m tests.outsider.third_list.trial`.

Three columns: whether `suite check` refuses the edited bundle, whether an audit of the edited run contradicts it, and whether the record of
a witness would, had it stamped the run before the edit.
"""

import argparse
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from suite.files.paths import repository_root
from tests.outsider.second_list.forged_copy import ForgedCopy
from tests.outsider.second_list.trial import judged
from tests.outsider.third_list.edits import Edit
from tests.outsider.third_list.runs import RUNS
from tests.outsider.third_list.submissions import SUBMISSIONS

REFERENCE = repository_root() / "submissions" / "v0.2" / "reference"
FRAMEWORKS = ("chainer", "pytorch", "tensorflow")
EDITS = (*RUNS, *SUBMISSIONS)


def of_framework(submission: Path, framework: str) -> Path:
    """The first run of a framework in a submission."""
    return submission / "lenet" / framework / "run_1"


def edited(entry: Edit, folder: Path) -> Path:
    """The edited copy below ``folder``: of one run, or of the whole submission."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the edited values may be impossible
        if entry.sample == "submission":
            path = Path(shutil.copytree(REFERENCE, folder / "v0.2" / "reference"))
            entry.change(path)
            return path
        path = Path(shutil.copytree(of_framework(REFERENCE, entry.sample), folder / "run"))
        for framework in FRAMEWORKS:
            shutil.copytree(of_framework(REFERENCE, framework), folder / "others" / framework)
        copy = ForgedCopy(path)
        entry.change(copy)
        copy.save()
        return path


def tried(entry: Edit) -> dict[str, Any]:
    """What `suite check` says of one edit."""
    with tempfile.TemporaryDirectory() as folder:
        return judged(edited(entry, Path(folder)))


def main() -> int:
    """Try the edits, one line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a name")
    options = parser.parse_args()
    for entry in EDITS:
        if options.only in entry.name:
            result = tried(entry)
            print(f"{result['outcome']:22}{entry.level:16}{entry.name:40}{' '.join(result.get('invalid', []))}{result.get('error', '')}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
