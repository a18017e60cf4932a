"""The house style is checked in everything that the program says and that pages say."""

import subprocess
from pathlib import Path

from suite.files.toml_file import read_table
from tools import house_style

STYLE = read_table(Path(house_style.__file__).with_suffix(".toml"))


def test_sentences_are_found_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "said.py").write_text(
        '"""Nobody hears this sentence."""\n\nsay(f"{path} is no file; "\n  "name one.")\n'
    )
    (tmp_path / "suite" / "page.html").write_text("<p>{{ count }} runs\n<b>went on</b> here</p>")
    (tmp_path / "suite" / "help.toml").write_text('help = "List what was measured."\n')
    assert {tuple(found) for found in house_style.spoken(tmp_path)} == {
        ("suite/said.py", 3, "{…} is no file; name one."),
        ("suite/page.html", 1, "{…} runs went on here"),
        ("suite/help.toml", 1, "List what was measured."),
    }


def test_what_breaks_the_style_is_named_and_code_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "A run is no result.\n\n```\nis no text\n```\n\n- `is no word`\n- " + "word " * 70 + "\n"
    )
    found = list(house_style.broken(house_style.written(tmp_path), STYLE))
    assert [each.partition("; ")[0] for each in found[:1]] == ["README.md:1: 'is no result'"]
    assert "70 words" in found[1] and len(found) == 2


def test_a_commit_whose_subject_is_too_long_is_named(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True)

    assert list(house_style.long_subjects(tmp_path, 72)) == []
    git("init", "-q")
    assert list(house_style.long_subjects(tmp_path, 72)) == []
    for subject in ("a" * 72, "ä" * 73):
        git("commit", "-q", "--allow-empty", "-m", subject)
    (said,) = house_style.long_subjects(tmp_path, 72)
    assert "its subject has 73 characters" in said
