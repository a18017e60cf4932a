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


@pytest.mark.parametrize("kind", folder_kinds(), ids=lambda kind: kind.title)
def test_every_kind_is_found_by_the_file_that_it_seals(kind: FolderKind) -> None:
    assert kind.described()[0].file == kind.record
