"""The cache of parsed bundles: used for identical bytes and code only."""

import importlib
import json
import math
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import reporter
from reporter.data import bundle_rows, cache
from reporter.data.cache import digest_of_bundle
from reporter.site import build_site
from suite.bundle.reader import CachedBundle
from suite.files.paths import HOME_VARIABLE
from suite.files.tree import SITE_MARK
from tests.builders import run_id
from tests.reporter.test_site import files

# the package's attribute "load" is the function
loading = importlib.import_module("reporter.data.load")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without a cache."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The bundles that were read and not taken from the cache."""
    found: list[Path] = []

    def note(bundle: CachedBundle) -> bundle_rows.BundleRows | bundle_rows.Broken:
        found.append(bundle.path)
        return bundle_rows.read_rows(bundle)

    monkeypatch.setattr(loading, "read_rows", note)
    return found


@pytest.fixture
def given(runs: Path, tmp_path: Path) -> Path:
    shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "given" / "one")
    shutil.copytree(runs / "lenet-chainer-1", tmp_path / "given" / "two")
    return tmp_path / "given"


def test_a_second_load_reads_nothing_and_gives_the_same_frames(
    home: Path, read: list[Path], given: Path
) -> None:
    first, second = reporter.load([given]), reporter.load([given])
    assert len(read) == 2
    assert reporter.load(str(given)).runs.equals(first.runs), (
        "one path, as a person types it in a notebook"
    )
    for name in ("runs", "figures", "epochs", "entries", "entry_figures", "broken"):
        assert getattr(first, name).equals(getattr(second, name)), name
    assert first.verdicts == second.verdicts


@pytest.mark.parametrize(
    "change",
    [
        lambda bundle: (bundle / "output.txt").write_text("changed, and not sealed again"),
        lambda bundle: (bundle / "more.txt").write_text("a file that nobody listed"),
        lambda bundle: (bundle / "MANIFEST.sha256").unlink(),
        lambda bundle: (bundle / "link").symlink_to(bundle / "run.json"),
        lambda bundle: (bundle / "steps.parquet").rename(bundle / "steps.parquet.old"),
    ],
)
def test_a_changed_bundle_is_read_and_judged_again(
    change: Callable[[Path], object], home: Path, read: list[Path], given: Path
) -> None:
    reporter.load([given])
    read.clear()
    change(given / "one")
    loaded = reporter.load([given])
    assert read == [given / "one"]
    assert (
        not (loaded.runs["place"] == "one").any()
        or not loaded.verdicts[run_id("lenet-pytorch-1")].complies
    )


def test_a_change_that_keeps_size_and_time_is_detected(
    home: Path, read: list[Path], given: Path
) -> None:
    """File times are not trusted: archives and copies can set any."""
    reporter.load([given])
    read.clear()
    log = given / "one" / "log.txt"
    before = log.stat()
    log.write_text(
        log.read_text().replace('"key": "seed", "value": 1', '"key": "seed", "value": 2')
    )
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert log.stat().st_size == before.st_size
    assert not reporter.load([given]).verdicts[run_id("lenet-pytorch-1")].complies and read == [
        given / "one"
    ]


def test_other_code_does_not_use_the_cache(
    home: Path, read: list[Path], given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "digest_of_code", lambda: "the code before")
    reporter.load([given])
    del read[1]
    assert read == [given / "one"]
    monkeypatch.setattr(cache, "digest_of_code", lambda: "another version")
    reporter.load([given / "one"])
    assert read == [given / "one"] * 2
    monkeypatch.setattr(cache, "digest_of_code", lambda: "the code before")
    assert len(reporter.load([given / "two"]).runs) == 1 and len(read) == 3


def test_the_digest_of_the_code_is_of_every_file_that_makes_rows_and_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        "suite/__init__.py",
        "reporter/data/load.py",
        "rules/power.toml",
        "reference_impls/a.py",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("same")
    monkeypatch.setattr(cache, "suite", SimpleNamespace(__file__=tmp_path / names[0]))
    monkeypatch.setattr(cache, "repository_root", lambda: tmp_path)
    found = [cache.digest_of_code.__wrapped__()]
    for name in names:
        (tmp_path / name).write_text(name)
        found.append(cache.digest_of_code.__wrapped__())
    (tmp_path / "rules/power.toml").rename(tmp_path / "rules/rail.toml")
    found.append(cache.digest_of_code.__wrapped__())
    assert len(set(found)) == len(found)
    (tmp_path / "suite/__pycache__").mkdir()
    (tmp_path / "suite/__pycache__/x.pyc").write_text("compiled")
    assert cache.digest_of_code.__wrapped__() == found[-1]


def test_rows_are_unpacked_as_they_were_packed(given: Path) -> None:
    rows = bundle_rows.read_rows(CachedBundle(given / "one"))
    assert isinstance(rows, bundle_rows.BundleRows)
    for generated, studied in ((True, False), (False, True)):
        packed = replace(rows, is_generated=generated, is_studied=studied)
        found = cache._unpacked(cache._packed(packed))
        assert replace(found, verdict=packed.verdict) == packed
        assert replace(found.verdict, path=packed.verdict.path) == packed.verdict


def test_a_damaged_cache_file_is_ignored(home: Path, read: list[Path], given: Path) -> None:
    home.mkdir()
    (home / "report-cache.sqlite").write_bytes(
        b"not a database, but long enough to be taken for one" * 100
    )
    assert len(reporter.load([given]).runs) == 2
    assert len(reporter.load([given]).runs) == 2


def test_rows_that_cannot_be_unpacked_hide_no_others(home: Path, given: Path) -> None:
    whole, infinite = (bundle_rows.read_rows(CachedBundle(given / name)) for name in ("one", "two"))
    assert isinstance(whole, bundle_rows.BundleRows)
    assert isinstance(infinite, bundle_rows.BundleRows)
    infinite.figures[0]["value"] = math.inf
    cache.store_rows({"infinite": infinite, "whole": whole})
    assert list(cache.cached_rows(["infinite", "whole"])) == ["whole"]


def test_a_broken_bundle_is_not_cached(home: Path, read: list[Path], given: Path) -> None:
    (given / "one" / "run.json").write_text("{")
    reporter.load([given])
    reporter.load([given])
    assert read.count(given / "one") == 2 and read.count(given / "two") == 1


def test_a_bundle_that_changes_while_it_is_read_is_not_cached(
    home: Path, given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meddle(bundle: CachedBundle) -> bundle_rows.BundleRows | bundle_rows.Broken:
        rows = bundle_rows.read_rows(bundle)
        (bundle.path / "output.txt").write_text("changed meanwhile")
        return rows

    monkeypatch.setattr(loading, "read_rows", meddle)
    reporter.load([given])
    assert (
        cache.cached_rows([digest_of_bundle(given / "one"), digest_of_bundle(given / "two")]) == {}
    )


def test_the_page_of_a_bundle_that_changed_while_read_is_rendered_again(
    home: Path, given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that it was made from are unknown."""

    def meddle(bundle: CachedBundle) -> bundle_rows.BundleRows | bundle_rows.Broken:
        rows = bundle_rows.read_rows(bundle)
        (bundle.path / "output.txt").write_text("changed meanwhile")
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(loading, "read_rows", meddle)
        site = build_site([given], tmp_path / "site").parent
    assert set(json.loads((site / SITE_MARK).read_text())["runs"].values()) == {None}
    build_site([given], site, force=True)
    assert None not in json.loads((site / SITE_MARK).read_text())["runs"].values()
    assert (
        "does not comply" in (site / "runs" / run_id("lenet-pytorch-1") / "index.html").read_text()
    )


@pytest.mark.proof
def test_worker_processes_give_the_same_site(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reporter.data import workers

    sites = []
    for name, tasks in (("one", 10**6), ("many", 2)):
        monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / f"home-{name}"))
        monkeypatch.setattr(workers, "MIN_TASKS_PER_WORKER", tasks)
        monkeypatch.setattr(workers.os, "sched_getaffinity", lambda _: {0, 1})
        sites.append(files(build_site([runs], tmp_path / name).parent))
    assert sites[0] == sites[1]
