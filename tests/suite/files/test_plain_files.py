"""Files as they are written and read: places, lines, records, names and trees."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from suite.errors import FileError, SuiteError
from suite.files import json_file, tree
from suite.files.appended import lines_after, read_after
from suite.files.canonical import canonical_json, sha256_of_lines, sha256_of_text
from suite.files.durable import output_errors, publish, refuse_no_folder
from suite.files.json_file import flatten, read_as, read_json, read_record, write_json
from suite.files.name_forms import find_known
from suite.files.names import plain_name
from suite.files.paths import nearest_existing, suite_home
from suite.files.tree import SITE_MARK, files_below, folders_below, refuse_large


def test_a_file_that_was_not_written_whole_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text("old")
    with publish(path) as one, publish(path, has_rivals=True) as two:
        one.write_text("new")
        two.write_text("rival's")
        assert path.read_text() == "old"
    assert (one.name, two.name[:13], path.read_text()) == (".record.json", one.name + ".", "new")
    with pytest.raises(KeyError), publish(path) as broken:
        broken.write_text("half")
        raise KeyError
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]
    write_json(path, {"a": 1})
    with pytest.raises(ValueError):
        write_json(path, {"a": float("nan")})
    assert path.read_text() == '{\n "a": 1\n}\n' and path.stat().st_mode & 0o777 == 0o644
    with pytest.raises(SuiteError, match=r"No space left.* another --output"), output_errors(path):
        raise OSError(28, "No space left")


def test_a_folder_that_can_be_made_is_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("")
    refuse_no_folder(tmp_path / "there/a/b")
    refuse_no_folder(tmp_path / "there")
    with pytest.raises(OSError):
        refuse_no_folder(tmp_path / "file/a")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "there"]
    assert nearest_existing(tmp_path / "there/a/b") == tmp_path / "there"


def test_whole_lines_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    assert lines_after(path, 7) == (b"", 7)
    path.write_bytes(b"one\ntwo\nthr")
    assert lines_after(path, 4) == (b"two\n", 8) and lines_after(path, 8) == (b"", 8)
    assert read_after(path, 8) == (b"thr", 11)


def test_equal_values_have_one_text_and_one_digest() -> None:
    assert canonical_json({"é": [1, 2.5], "a": {"c": None, "b": "\n"}}) == (
        '{"a":{"b":"\\n","c":null},"é":[1,2.5]}'
    )
    assert sha256_of_lines("a", "b") == sha256_of_text("a\nb\n")
    with pytest.raises(ValueError):
        canonical_json(float("inf"))


@dataclass(frozen=True)
class Record:
    name: str
    count: int = 3
    place: str = "here"


def test_a_record_has_the_keys_of_its_schema_and_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, added = tmp_path / "record.json", {2: ("count",), 3: ("place",)}
    for schema, more, missing in (
        (1, {}, None),
        (2, {}, "count"),
        (2, {"count": 4}, None),
        (3, {"place": ""}, "count"),
        (3, {"count": 4}, "place"),
    ):
        write_json(path, {"schema": schema, "name": "a", **more})
        if missing is None:
            assert read_as(path, Record, 1, 2, 3, added=added) == Record("a", **more)
        else:
            with pytest.raises(FileError, match=f"the key '{missing}' is missing"):
                read_as(path, Record, 1, 2, 3, added=added)
    with pytest.raises(FileError, match=r"has schema 3; .* reads schema 1 and 2"):
        read_record(path, 1, 2)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(FileError, match="is missing"):
        read_record(tmp_path / "link", 3)
    path.write_text('{"a": [1, 2], "b": 3}')
    monkeypatch.setattr(json_file, "MAX_JSON_VALUES", 4)
    assert dict(flatten({"x": read_json(path), "y": 0})) == {"x.a": [1, 2], "x.b": 3, "y": 0}
    monkeypatch.setattr(json_file, "MAX_JSON_VALUES", 3)
    with pytest.raises(FileError, match="more than 3 values"):
        read_json(path)


@pytest.mark.parametrize(
    ("typed", "similar"),
    [("Łódź Lab", "lodz-lab"), ("a" * 61, "a" * 60), ("..", None), ("日本", None)],
)
def test_a_name_that_becomes_a_folder_s_is_plain(typed: str, similar: str | None) -> None:
    with pytest.raises(SuiteError) as refused:
        plain_name(typed, "--org")
    assert (f"; {similar!r} would do" if similar else "a folder is named after it.") in str(
        refused.value
    )
    assert [plain_name(name, "") for name in ("a", "0.b_c-d", "a" * 60)] == [
        "a",
        "0.b_c-d",
        "a" * 60,
    ]


def test_the_suite_s_folder_is_the_user_s_choice_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/x")
    for own, cache, found in (
        ("/own", "/cache", "/own"),
        ("~/own", "", "/home/x/own"),
        ("", "/cache", "/cache/edge-training-suite"),
        ("", "", "/home/x/.cache/edge-training-suite"),
    ):
        monkeypatch.setenv("SUITE_HOME", own)
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        assert suite_home() == Path(found)


def test_sites_below_hold_copies_and_no_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b/run.json", "a/c/run.json", f"site/{SITE_MARK}", "site/d/run.json", "a/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    (tmp_path / "b/study.json").symlink_to(tmp_path / "b/run.json")
    names = [
        path.relative_to(tmp_path).as_posix()
        for path in files_below(tmp_path, "run.json", "study.json")
    ]
    assert names == ["a/c/run.json", "b/run.json"]
    folders = [path.relative_to(tmp_path).as_posix() for path in folders_below(tmp_path)]
    assert folders == ["a", "a/c", "b"]
    for place, words in (("site", "site is a site"), ("site/d", "d is in .*/site, a site")):
        for below in (files_below, folders_below):
            with pytest.raises(SuiteError, match=words):
                below(tmp_path / place)
    for most, limit in ((2, "MAX_FILES"), (10, "MAX_BYTES")):
        with monkeypatch.context() as patched:
            patched.setattr(tree, limit, most)
            refuse_large(tmp_path / "a")
            patched.setattr(tree, limit, most - 1)
            with pytest.raises(SuiteError, match="holds 2 files"):
                refuse_large(tmp_path / "a")


def test_known_names_are_whole_words() -> None:
    found = find_known("Jane, janet, x-jane_2", ("jane",))
    assert [(each.text, each.start) for each in found] == [("Jane", 0), ("jane", 15)]
