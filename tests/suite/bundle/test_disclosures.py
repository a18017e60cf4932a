"""What names somebody in a bundle's files."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pandas
import pytest

from suite.bundle.disclosures import (
    MAX_LINE_BYTES,
    find_disclosures,
)
from suite.bundle.frames import write_table

MAIL, IP = "jane@example.org", "10.1.2.3"
NEARLY = "x" * (MAX_LINE_BYTES - 5)
"""After it, a name lies across the pieces in which a line is read."""


def disclosed(folder: Path, name: str, content: bytes, *names: str) -> str:
    """Where, and what, in a file with this content."""
    (folder / name).write_bytes(content)
    found = find_disclosures(folder, [folder / name], names)
    return ", ".join(f"{each.where} {each.text}" for each in found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            f"one\nto {MAIL}\n{MAIL} {IP} {MAIL}\n",
            f"line 2 {MAIL}, line 3 {IP}, line 3 {MAIL}",
        ),
        (f"{NEARLY} {MAIL}\nat {IP}", f"line 1 {MAIL}, line 2 {IP}"),
        (f"{NEARLY[100:]} {MAIL} {NEARLY}\n\n{MAIL}\n", f"line 1 {MAIL}, line 3 {MAIL}"),
        (f"{IP}\n" * 25, ", ".join(f"line {number} {IP}" for number in range(1, 21))),
    ],
    ids=["each once a line", "between two pieces", "in two pieces", "twenty of a file"],
)
def test_a_line_is_named_by_its_number_also_of_a_packed_file(
    text: str, found: str, tmp_path: Path
) -> None:
    assert disclosed(tmp_path, "output.txt", text.encode()) == found
    assert disclosed(tmp_path, "trace.csv.gz", gzip.compress(text.encode())) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            f'{{"a": [{{"b": "{MAIL}"}}, "{IP}"], "c": "{IP}"}}',
            f"a.0.b {MAIL}, a.1 {IP}, c {IP}",
        ),
        (f'{{"a": {{"{MAIL}": {{"b": 1}}}}}}', f"a {MAIL}"),
        (
            f'{{"libraries": {{"x": "{IP}"}}, "of": {{"libraries": "{IP}"}}, "library": "{IP}"}}',
            f"library {IP}",
        ),
        (
            f'{{"token": "{MAIL}", "a": {{"token": ["{MAIL}"]}}, "tokens": "{MAIL}"}}',
            f"tokens {MAIL}",
        ),
        ('{"a": {"Serial": "AB12CD34"}}', "a.Serial Serial: AB12CD34"),
        ('{"hostname": "kitchen"}', "hostname hostname: kitchen"),
        ('{"net.hostname": "kitchen"}', "net.hostname hostname: kitchen"),
        ('{"hosts": "kitchen", "serials": "AB12CD34"}', ""),
        ('{"a": "jane\\u0040example.org"}', f"a {MAIL}"),
        (f'{{"a":\n "{MAIL}"', f"line 2 {MAIL}"),
    ],
)
def test_a_text_of_a_json_file_is_named_by_its_key(text: str, found: str, tmp_path: Path) -> None:
    assert disclosed(tmp_path, "system.json", text.encode()) == found


def test_tables_and_names_of_files_are_searched_and_links_are_not_followed(tmp_path: Path) -> None:
    write_table(pandas.DataFrame({"note": ["a", MAIL, MAIL], "n": [1, 2, 3]}), tmp_path / "t")
    content = (tmp_path / "t").read_bytes()
    assert disclosed(tmp_path, "t.parquet", content) == f"column note {MAIL}"
    (tmp_path / "below").mkdir()
    (file := tmp_path / f"below/{IP}.txt").write_text(MAIL)
    (tmp_path / "link.txt").symlink_to(file)
    found = list(find_disclosures(tmp_path, [tmp_path / "link.txt", file]))
    assert [(each.file, each.where, each.line) for each in found] == [
        (f"below/{IP}.txt", "its name", None),
        (f"below/{IP}.txt", "line 1", 1),
    ]
    words = b"the Kitchen, not kitchens\n"
    assert disclosed(tmp_path, "output.txt", words, "kitchen") == "line 1 Kitchen"


def test_a_long_text_takes_memory_for_a_few_copies(tmp_path: Path) -> None:
    path = tmp_path / "system.json"
    path.write_text(json.dumps({"a": "x" * 2**20}))
    tracemalloc.start()
    try:
        assert not list(find_disclosures(tmp_path, [path]))
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()
