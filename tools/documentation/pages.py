"""The source of the documentation site: the repository's Markdown in the site's folders, and
generated reference pages.

The Markdown stays readable as plain files: links are between files of the repository. Here they
become links between pages; a link to a file that is no page becomes text, because the site is
complete without the repository.
"""

import posixpath
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.documentation.commands import command_reference

HOME = "docs/README.md"
ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
NAVIGATION: Mapping[str, tuple[str, ...]] = {
    "Tutorials": (
        "docs/tutorials/owner.md",
        "docs/tutorials/vendor.md",
        "docs/tutorials/researcher.md",
        "docs/tutorials/maintainer.md",
    ),
    "Measure": (
        "docs/boards.md",
        "docs/tuning.md",
        "docs/environments.md",
        "docs/data.md",
        "docs/models.md",
        "docs/arithmetic.md",
        "docs/measuring.md",
        "docs/meters.md",
        "docs/loggers.md",
        "docs/memory.md",
        "docs/containers.md",
        "docs/cluster.md",
        "docs/multi-node.md",
        "docs/scaling.md",
        "docs/linpack.md",
        "docs/mistakes.md",
    ),
    "Extensions": tuple(
        path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("extensions/*/README.md"))
    ),
    "Implement and extend": (
        "docs/implementing.md",
        "docs/contract.md",
        "docs/draws.md",
        "docs/layers.md",
        "docs/verifying.md",
        "docs/extending.md",
    ),
    "Submit and review": (
        "docs/submitting.md",
        "docs/checking.md",
        "docs/auditing.md",
        "docs/reproducing.md",
        "docs/maintaining.md",
        "submissions/README.md",
        "submissions/REVIEW.md",
    ),
    "Results": (
        "docs/reporting.md",
        "docs/api.md",
        "docs/columns.md",
        "docs/ranking.md",
        "docs/papers.md",
        "docs/results.md",
    ),
    "Reference": (
        "rules/RULES.md",
        "rules/CHECKS.md",
        "reference/commands.md",
        "reference/library.md",
        "docs/json.md",
    ),
    "Design": ("docs/architecture.md", "docs/decisions.md"),
    "Evidence": (
        "docs/evidence/README.md",
        *(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/benchmarks.md")),
        *(
            f"docs/evidence/{path.name}"
            for path in sorted(EVIDENCE.glob("*.md"))
            if path.name != "README.md"
        ),
    ),
    "Project": ("CHANGELOG.md", "rules/CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
}
"""Files of the repository, and generated pages (``reference/``), by the heading of the navigation
that they are under. The page of `make bench` is there once a full run wrote it."""
DOCUMENTED_MODULES = ("suite.api", "reference_impls.contract", "reporter.data.frames")
IMAGE_SUFFIXES = (".svg", ".png")
_LINK = re.compile(r"(?P<mark>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^()\s]+)\)")
_FENCE = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)


def write_source(folder: Path, root: Path) -> None:
    """Write every page and picture of the site below ``folder``; raises FileNotFoundError for a
    page of the navigation that is not there."""
    for name in (HOME, *listed()):
        if not name.startswith("reference/"):
            _write(
                folder / site_name(name), on_site((root / name).read_text(encoding="utf-8"), name)
            )
    for path in (path for path in (root / "docs").rglob("*") if path.suffix in IMAGE_SUFFIXES):
        target = folder / site_name(path.relative_to(root).as_posix())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    _write(folder / "reference/commands.md", command_reference())
    _write(folder / "reference/library.md", library_reference())
    home = folder / site_name(HOME)
    _write(home, home.read_text(encoding="utf-8") + "".join(_navigation()))


def listed() -> Iterator[str]:
    """The pages of the navigation."""
    for names in NAVIGATION.values():
        yield from names


def site_name(name: str) -> str:
    """The place of a repository's file on the site: ``docs`` is its top."""
    return "index.md" if name == HOME else name.removeprefix("docs/")


def on_site(text: str, name: str) -> str:
    """The Markdown of the file ``name`` with its links as links between pages. Fenced code stays as
    it is."""
    return "".join(
        part if part.startswith("```") else _LINK.sub(lambda link: _link(link, name), part)
        for part in _FENCE.split(text)
    )


def _link(link: "re.Match[str]", name: str) -> str:
    address, _, anchor = link["target"].partition("#")
    if not address or "://" in address:
        return link[0]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), address))
    is_on_site = (
        target == HOME
        or target in listed()
        or (target.startswith("docs/") and target.endswith(IMAGE_SUFFIXES))
    )
    if not is_on_site:
        return link["text"]
    relative = posixpath.relpath(site_name(target), posixpath.dirname(site_name(name)) or ".")
    return f"{link['mark']}[{link['text']}]({relative}{'#' + anchor if anchor else ''})"


def library_reference() -> str:
    """The page of the documented modules, from their docstrings."""
    modules = "".join(
        f"\n## {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n  "
        " :undoc-members:\n```\n"
        for name in DOCUMENTED_MODULES
    )
    return (
        "# The library, from its docstrings\n\nThe functions that [programs use](../api.md), the"
        f" contract of implementations, and frames.\n{modules}"
    )


def _navigation() -> Iterator[str]:
    for caption, names in NAVIGATION.items():
        pages = "\n".join(site_name(name).removesuffix(".md") for name in names)
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{pages}\n```\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
