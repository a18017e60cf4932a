"""The house style of pages, of every sentence that the program says, and of commits' subjects:
`python -m tools.house_style` prints what breaks it and ends with exit code 1; with `--list` it
prints every sentence with its place, for people to read.

Sentences of the program are the strings of its modules that have three words or more, the text of
templates, and the strings of its TOML files. What is not written so is in ``house_style.toml``.
"""

import ast
import html
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from suite.files.paths import repository_root
from suite.files.toml_file import read_table

SPOKEN = ("suite", "extensions", "reporter", "rules")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "extensions/*/README.md", "rules/*.md")
PINNED = ("rules/rounds/", "rules/CHANGELOG.md", "docs/evidence/", "docs/mistakes.md")
"""What a closed round pins, what was published, and what proofs write."""
WORD = re.compile(r"[A-Za-z][a-z’']+")
CODE = re.compile(r"^```.*?^```", re.M | re.S)
BLOCK = re.compile(r"<(?!/?(?:a|b|code|em|small|span|strong)\b)[^>]*>")
MIN_WORDS = 3
COMMITS = 50


class Sentence(NamedTuple):
    """A text of the program or of a page, and its place."""

    file: str
    line: int
    text: str


def spoken(root: Path) -> Iterator[Sentence]:
    """Every sentence that the program says."""
    for top in SPOKEN:
        for path in sorted((root / top).rglob("*")):
            name = path.relative_to(root).as_posix()
            read = READERS.get(path.suffix)
            if read and not path.is_symlink() and not name.startswith(PINNED):
                for line, text in read(path):
                    if len(WORD.findall(text)) >= MIN_WORDS:
                        yield Sentence(name, line, " ".join(text.split()))


def written(root: Path) -> Iterator[Sentence]:
    """Every paragraph, list item and cell of a page, without its code."""
    for path in sorted(found for pattern in PAGES for found in root.glob(pattern)):
        name = path.relative_to(root).as_posix()
        if not name.startswith(PINNED):
            text = CODE.sub(lambda code: "\n" * code[0].count("\n"), path.read_text("utf-8"))
            for part in re.finditer(r"(?:^(?!\s*$|    ).+\n?)+", text, re.M):
                line = text.count("\n", 0, part.start()) + 1
                for row in re.split(r"\n(?=[-|#>\d])|\s\|\s", part[0]):
                    yield Sentence(name, line, re.sub(r"`[^`]*`", "`", " ".join(row.split())))


def _of_module(path: Path) -> Iterator[tuple[int, str]]:
    """Strings except docstrings; ``{…}`` stands for what is filled in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        part
        for node in ast.walk(tree)
        if isinstance(node, (ast.JoinedStr, ast.Expr))
        for part in (node.values if isinstance(node, ast.JoinedStr) else [node.value])
    }
    for node in ast.walk(tree):
        if node not in inside and isinstance(node, (ast.Constant, ast.JoinedStr)):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            yield (
                node.lineno,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in parts
                ),
            )


def _of_template(path: Path) -> Iterator[tuple[int, str]]:
    """The text between block tags."""
    source = path.read_text(encoding="utf-8")
    source = re.sub(r"\{#.*?#\}|\{%.*?%\}", " ", source, flags=re.S)
    source = re.sub(r"\{\{.*?\}\}", "{…}", source, flags=re.S)
    source = BLOCK.sub(lambda tag: "\0" + "\n" * tag[0].count("\n"), source)
    for text in re.finditer(r"[^\0]+", source):
        plain = html.unescape(re.sub(r"<[^>]*>", "", text[0]))
        yield source.count("\n", 0, text.start()) + 1, plain


def _of_toml(path: Path) -> Iterator[tuple[int, str]]:
    """Strings, except machines' own configuration files."""
    source = path.read_text(encoding="utf-8")
    for text in _strings(read_table(path)):
        yield source.count("\n", 0, max(source.find(text[:20]), 0)) + 1, text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        if "PARAM TYPE=" not in value:
            yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


READERS = {".py": _of_module, ".html": _of_template, ".toml": _of_toml}


def broken(sentences: Iterator[Sentence], style: dict[str, Any]) -> Iterator[str]:
    """What breaks the style, one line each: place, words, and what to write instead."""
    patterns = [
        (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead)
        for pattern, instead in style["instead"].items()
    ]
    for one in sentences:
        place = f"{one.file}:{one.line}"
        for pattern, instead in patterns:
            if match := pattern.search(one.text):
                yield f"{place}: {match[0]!r}; write: {instead}"
        for part in re.split(r"(?<=[.:;?!])\s", one.text):
            if (count := len(WORD.findall(part))) > style["max_words"]:
                yield f"{place}: a sentence of {count} words: {part[:60]}…"


def long_subjects(root: Path, max_characters: int) -> Iterator[str]:
    """Of the checkout's last commits those whose subject is too long; none without git or its
    history."""
    if not (root / ".git").exists():
        return
    command = ["git", "log", f"-{COMMITS}", "--no-merges", "--format=%h %s"]
    try:
        log = subprocess.run(
            command, cwd=root, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except FileNotFoundError:
        return
    for line in log.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > max_characters:
            yield (
                f"commit {commit}: its subject has {len(subject)} characters, {max_characters} are"
                f" allowed; shorten it (git commit --amend, git rebase): {subject[:40]}…"
            )


def main(words: list[str]) -> int:
    root = repository_root()
    if words == ["--list"]:
        for one in spoken(root):
            print(f"{one.file}:{one.line}: {one.text}")
        return 0
    style = read_table(Path(__file__).with_suffix(".toml"))
    found = [
        *broken(spoken(root), style),
        *broken(written(root), style),
        *long_subjects(root, style["max_subject_characters"]),
    ]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
