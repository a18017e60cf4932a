"""Writes the static site. Output is deterministic: it depends on the bundles only. Unchanged files
are not written again."""

import contextlib
import filecmp
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reporter.board.making import make_boards
from reporter.data.cache import digest_of_code
from reporter.data.frames import Frames, Row, records
from reporter.data.load import Found, found_below, load_with
from reporter.data.studies import StudyRecord, find_studies
from reporter.data.workers import Workers, seldom_scanned
from reporter.pages import page_kinds, templates
from reporter.pages.citations import citation_files, citation_places
from reporter.pages.entry_page import (
    EntryEvidence,
    entry_page,
    entry_place,
    evidence_of_entries,
    replication_files,
    with_figures,
)
from reporter.pages.headlines import newest_day
from reporter.pages.run_page import RunPages, evidence_of_run, run_pages
from reporter.pages.shared import Page, SiteContents, make_contents
from suite.errors import SuiteError
from suite.files.durable import refuse_existing
from suite.files.evidence_files import EvidenceFiles
from suite.files.tree import SITE_MARK, in_one_spelling

STATIC = Path(__file__).resolve().parent / "static"
REFERENCE = Path(__file__).resolve().parent / "demo"
"""Reference results of the demonstration's training, a submission."""


@dataclass(frozen=True)
class SiteOptions:
    """How a site is made. ``address`` is where it will be published: pictures of links and the feed
    need absolute addresses.

    ``beside_reference``: the first page shows the runs beside the project's reference results on
    the same data.
    """

    address: str | None = None
    beside_reference: bool = False
    evidence: str = EvidenceFiles.COPY.value

    def contents(self, contents: SiteContents) -> SiteContents:
        """The contents with what these options add."""
        address = None if self.address is None else f"{self.address.rstrip('/')}/"
        paths = zip(contents.frames.runs["run_id"], contents.frames.runs["path"], strict=True)
        own = (
            frozenset(str(run) for run, path in paths if REFERENCE not in Path(path).parents)
            if self.beside_reference
            else None
        )
        return replace(
            contents, address=address, own_runs=own, evidence=EvidenceFiles(self.evidence)
        )


WITHOUT = SiteOptions()


def build_site(
    paths: Iterable[Path],
    output: Path,
    force: bool = False,
    options: SiteOptions = WITHOUT,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Render the bundles at or below ``paths`` into ``output``; returns the front page's path.
    ``say`` gets a line for each that is not shown.

    A site that this function made is replaced if ``force`` is true, also where a link names it;
    unchanged files keep their inode and time. Raises SuiteError for any other existing folder, and
    for paths without a bundle that can be shown.
    """
    given = in_one_spelling([*paths, *([REFERENCE] if options.beside_reference else [])])
    found = found_below(given)  # what is wrong with the input is said first
    _refuse_foreign(output, force)
    with seldom_scanned():
        _build(given, found, output.resolve() if output.is_symlink() else output, options, say)
    return output / "index.html"


def _build(
    given: Sequence[Path],
    found: Sequence[Found],
    output: Path,
    options: SiteOptions,
    say: Callable[[str], None],
) -> None:
    with Workers() as workers:
        frames, (studies, broken) = load_with(workers, given, found), find_studies(given)
        frames = frames.with_broken(broken)
        _refuse_nothing(frames, studies)
        for each in frames.broken.to_dict("records"):
            say(f"not shown: {each['place']}: {each['reason']}")
        boards = tuple(make_boards(frames, options.beside_reference))
        _write(options.contents(make_contents(frames, boards, studies)), output, workers)


def _refuse_nothing(frames: Frames, studies: Sequence[StudyRecord]) -> None:
    """Raises SuiteError where every page would be about runs that cannot be shown."""
    if not len(frames.broken) or len(frames.runs) or len(frames.linpacks) or studies:
        return
    first, more = frames.broken.iloc[0], len(frames.broken) - 1
    raise SuiteError(
        f"No run can be shown, so no page was made: {first['place']}: {first['reason'].rstrip('.')}"
        f"{f', and {more} more' if more else ''}. `suite check` shows what is wrong with each."
    )


def _write(contents: SiteContents, output: Path, workers: Workers) -> None:
    folder = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}."))
        _swap(folder, output, _fill(contents, folder, output, workers))
    except OSError as error:
        raise SuiteError(
            f"The site could not be written to {output}: {error.strerror or error}. Free some space"
            " or choose another --output."
        ) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _refuse_foreign(output: Path, force: bool) -> None:
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    if not (output / SITE_MARK).is_file():
        raise SuiteError(
            f"{output} exists and is not a site that `suite report` made; choose another --output."
        )
    refuse_existing(output, force)


def _fill(contents: SiteContents, folder: Path, old: Path, workers: Workers) -> list[str]:
    """Write the site, without the pages of unchanged runs; returns the folders of these."""
    for file in sorted(STATIC.iterdir()):
        _place(folder, old, Page(file.name, file))
    keys: Keys = {
        ENTRIES: {},
        RUNS: {run["run_id"]: _key(run, contents) for run in records(contents.frames.runs)},
    }
    unchanged: list[str] = []
    # renders pages with many entries while workers render those of one entry or run
    with ThreadPoolExecutor(1) as aside:
        of_many = aside.submit(
            _write_pages_of_many, contents, _pages_key(contents, keys[RUNS]), folder, old
        )
        for _ in workers.map(_run_task, _tasks(contents, folder, old, keys, unchanged)):
            pass
        keys[PAGES] = of_many.result()
    _place(folder, old, Page(SITE_MARK, json.dumps(keys, indent=1, sort_keys=True) + "\n"))
    return unchanged


def _write_pages_of_many(
    contents: SiteContents, key: str | None, folder: Path, old: Path
) -> dict[str, str | None]:
    """Write the pages of many entries, or link all of them where the old ones have this key;
    returns the keys by place."""
    before = _old_keys(old)[PAGES]
    is_unchanged = key is not None and bool(before) and all(one == key for one in before.values())
    if is_unchanged and _link(before, folder, old):
        return dict(before)
    environment, made = templates(contents.address, newest_day(contents.frames)), list[str]()
    for page in (page for kind in page_kinds() for page in kind.make(contents, environment)):
        _place(folder, old, page)
        made.append(page.place)
    return dict.fromkeys(made, key)


def _write_pages(pages: Iterable[Page], folder: Path, old: Path) -> None:
    for page in pages:
        _place(folder, old, page)


Task = Callable[[], None]
Keys = dict[str, dict[str, str | None]]
"""Digests of what the pages of each entry and of each run are made from, by kind and id, and those
of many entries, by place; None: they are made each time."""
ENTRIES, RUNS, PAGES = "entries", "runs", "pages"


def _run_task(task: Task) -> None:
    task()


def _tasks(
    contents: SiteContents, folder: Path, old: Path, keys: Keys, unchanged: list[str]
) -> Iterator[Task]:
    """Tasks of the workers: the pages of every changed entry and run. Those of unchanged entries
    are linked from ``old``; ``unchanged`` receives the folders of unchanged runs, ``keys`` the keys
    of entries."""
    before = _old_keys(old)
    for entry in evidence_of_entries(contents.frames, contents.boards):
        name = str(entry.entry["entry_id"])
        keys[ENTRIES][name] = key = _entry_key(entry, contents)
        is_unchanged = key is not None and before[ENTRIES].get(name) == key
        if not (is_unchanged and _link([entry_place(name), *citation_places(name)], folder, old)):
            evidence = with_figures(entry, contents.frames)
            yield partial(_write_entry, evidence, contents.address, folder, old)
    for run in records(contents.frames.runs):
        name = run["run_id"]
        key = keys[RUNS][name]
        is_unchanged = key is not None and before[RUNS].get(name) == key
        if is_unchanged and _is_inside(f"runs/{name}", old) and (old / "runs" / name).is_dir():
            unchanged.append(f"runs/{name}")
        else:
            yield partial(
                _write_run,
                RunPages(
                    evidence_of_run(run, contents.frames), contents.colours, contents.evidence
                ),
                contents.address,
                folder,
                old,
            )


def _is_inside(place: str, old: Path) -> bool:
    """Whether the place is one of the old site, and neither it nor a folder above it is a link."""
    path = Path(place)
    return not (
        path.is_absolute()
        or ".." in path.parts
        or any((old / each).is_symlink() for each in (path, *path.parents[:-1]))
    )


def _link(places: Collection[str], folder: Path, old: Path) -> bool:
    """Link files of the old site, if all of them are there."""
    if not all(_is_inside(place, old) and (old / place).is_file() for place in places):
        return False
    files = [(old / place, folder / place) for place in places]
    for parent in {target.parent for _, target in files}:
        parent.mkdir(parents=True, exist_ok=True)
    for before, target in files:
        _link_or_copy(before, target)
    return True


def _write_entry(evidence: EntryEvidence, address: str | None, folder: Path, old: Path) -> None:
    _place(folder, old, entry_page(evidence, templates(address)))
    _write_pages(citation_files(evidence, address), folder, old)
    _write_pages(replication_files(evidence), folder, old)


def _write_run(pages: RunPages, address: str | None, folder: Path, old: Path) -> None:
    _write_pages(run_pages(pages, templates(address)), folder, old)


def _place(folder: Path, old: Path, page: Page) -> None:
    """Write a file, or link the old site's if it has the same content (same inode, same time).

    A file that is to be linked is not kept as a copy, nor the other way round."""
    target, before = folder / page.place, old / page.place
    content = (
        page.content.encode("utf-8", errors="replace")
        if isinstance(page.content, str)
        else page.content
    )
    if not target.parent.is_dir():  # most are: an attempt waits for the folder above
        target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, Path) and page.is_link and _is_linked(content, target):
        return
    if not before.is_symlink() and before.is_file() and _has(before, content):
        _link_or_copy(before, target)
    elif isinstance(content, Path):
        shutil.copyfile(content, target)
    else:
        target.write_bytes(content)


def _is_linked(file: Path, target: Path) -> bool:
    """Link the file, and say whether that was possible: not to another file system."""
    with contextlib.suppress(OSError):
        os.link(file, target)
        return True
    return False


def _link_or_copy(file: Path, target: Path) -> None:
    """Link the file; copy it where its file system has no links, or it is another user's."""
    if not _is_linked(file, target):
        shutil.copyfile(file, target)


def _has(file: Path, content: bytes | Path) -> bool:
    """Whether a file has this content, or is a copy of the other file."""
    if isinstance(content, Path):
        return not file.samefile(content) and filecmp.cmp(content, file, shallow=False)
    return file.stat().st_size == len(content) and file.read_bytes() == content


def _swap(folder: Path, output: Path, unchanged: Iterable[str]) -> None:
    """Replace the old folder with the finished one by renaming; ``unchanged`` folders of the old
    one move into it."""
    folder.chmod(0o755)
    if not output.exists():
        folder.rename(output)
        return
    aside = Path(tempfile.mkdtemp(dir=output.parent, prefix=f".{output.name}.old."))
    output.rename(aside / "site")
    for place in unchanged:
        (folder / place).parent.mkdir(exist_ok=True)
        (aside / "site" / place).rename(folder / place)
    folder.rename(output)
    shutil.rmtree(aside, ignore_errors=True)


def _key(run: Row, contents: SiteContents) -> str | None:
    """Digest of what a run's page is made from: bundle, code, verdict, colour, row of the run; None
    if the bundle's digest is unknown."""
    if (digest := contents.frames.digests[run["run_id"]]) is None:
        return None
    verdict = [str(finding) for finding in contents.frames.verdicts[run["run_id"]].findings]
    row = {name: str(value) for name, value in _without_place(run).items()}
    inputs = [
        digest,
        digest_of_code(),
        verdict,
        contents.colours[run["framework"]],
        row,
        contents.address,
        contents.evidence,
    ]
    return _digest(json.dumps(inputs))


def _pages_key(contents: SiteContents, runs: Mapping[str, str | None]) -> str | None:
    """Digest of what the pages of many entries are made from: what those of the ``runs`` are, and
    the runs' places. None where records besides bundles are shown, or a run has no key."""
    frames = contents.frames
    if contents.studies or frames.replications or len(frames.linpacks) or None in runs.values():
        return None
    own = None if contents.own_runs is None else sorted(contents.own_runs)
    inputs = [runs, list(frames.runs["place"]), frames.broken.to_dict("records"), own]
    return _digest(json.dumps(inputs))


def _entry_key(evidence: EntryEvidence, contents: SiteContents) -> str | None:
    """Digest of what an entry's page, badge and citations are made from: its evidence, less the
    places of its runs, and the code. The digests of the runs' bundles stand for all figures.

    None for an entry with replications, whose records are copied, or with an unknown digest.
    """
    digests = [contents.frames.digests[run["run_id"]] for run in evidence.runs]
    if evidence.replications or None in digests:
        return None
    verdicts = [replace(verdict, path=Path()) for verdict in evidence.verdicts]
    inputs = {
        **vars(evidence),
        "figures": digests,
        "scores": (),
        "runs": [_without_place(run) for run in evidence.runs],
        "verdicts": verdicts,
    }
    return _digest(repr([digest_of_code(), inputs, contents.address]))


def _digest(inputs: str) -> str:
    """The first 32 digits of SHA-256: a site of thousands of runs lists them all."""
    return hashlib.sha256(inputs.encode()).hexdigest()[:32]


def _without_place(run: Row) -> Row:
    return {name: value for name, value in run.items() if name not in ("place", "path")}


def _old_keys(old: Path) -> Mapping[str, Mapping[str, Any]]:
    try:
        found = json.loads((old / SITE_MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    kinds = found if isinstance(found, Mapping) else {}
    return {
        kind: keys if isinstance(keys := kinds.get(kind), Mapping) else {}
        for kind in (ENTRIES, RUNS, PAGES)
    }
