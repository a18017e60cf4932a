"""What the project itself gives as examples complies with the rules of this round."""

import pytest

from suite.compliance.folders import FolderKind, folder_kinds
from suite.files.paths import repository_root

EXAMPLES = repository_root() / "examples" / "papers"


@pytest.mark.parametrize(
    "kind", [kind for kind in folder_kinds() if kind.find(EXAMPLES)], ids=lambda kind: kind.title
)
def test_the_records_of_the_papers_examples_comply(kind: FolderKind) -> None:
    for folder in kind.find(EXAMPLES):
        assert kind.check(folder).findings == (), folder
