"""The site: the same bundles give the same bytes, nothing comes from outside, and nothing that a submission says can break a page."""

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import reporter
from reporter.figures import FIGURES
from reporter.figures.scale import ticks
from reporter.site import build
from suite import bundle
from suite.errors import SuiteError
from tests.builders import Scenario, make_bundle

RUNS = (
    Scenario(name="lenet-pytorch-a", framework="pytorch"),
    Scenario(name="lenet-chainer-b", framework="chainer", step_s=0.01),
    Scenario(name="lenet-fake-c", framework="fake", division="open", data="digits", accuracies=(0.5,)),
)
HOSTILE = ("<script>document.title='owned'</script>", "\"onmouseover='x", "</title><b>", "\u202egpj.exe", "{{ 7 * 7 }}", "w" * 10_000, "&amp;\x00")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for scenario in RUNS:
        make_bundle(folder / scenario.name, scenario)
    return folder


def pages(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}


def edit(folder: Path, name: str, change: object) -> None:
    path = folder / name
    value = json.loads(path.read_text())
    change(value)  # type: ignore[operator]
    path.write_text(json.dumps(value))
    (folder / bundle.MANIFEST).unlink()
    bundle.seal(folder)


class Outline(HTMLParser):
    """Elements with their attributes, as a browser would read them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))


def test_frames_are_tidy(runs: Path) -> None:
    frames = reporter.load([runs])
    assert list(frames.runs["run_id"]) == sorted(scenario.name for scenario in RUNS)
    assert frames.runs["complies"].all()
    one = frames.figures.set_index(["run_id", "figure"]).loc[("lenet-pytorch-a", "time_to_epoch_s")]
    assert one["value"] == pytest.approx(469 * 0.002, rel=1e-3) and one["unit"] == "s" and one["count"] == 2
    assert set(frames.epochs[frames.epochs["run_id"] == "lenet-pytorch-a"]["epoch"]) == {1, 2, 3}


def test_the_same_bytes_from_another_path_and_in_another_order(runs: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(runs, tmp_path / "somewhere" / "else")
    build([runs], tmp_path / "one")
    build(sorted(copy.iterdir(), reverse=True), tmp_path / "two")
    assert pages(tmp_path / "one") == pages(tmp_path / "two")


def test_every_link_leads_to_something_in_the_site_and_none_outside(runs: Path, tmp_path: Path) -> None:
    build([runs], tmp_path / "site")
    for page in (tmp_path / "site").rglob("*.html"):
        for tag, attributes in Outline(page.read_text()).elements:
            for name in ("href", "src"):
                target = attributes.get(name)
                if not target or target.startswith("data:"):
                    continue
                assert not re.match(r"[a-z]+:|//|/", target), f"{page}: <{tag} {name}={target}>"
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                assert file.is_file(), f"{page}: {target}"
                if anchor:
                    assert f'id="{anchor}"' in file.read_text(), f"{page}: {target}"


def test_an_unknown_value_is_a_dash_with_its_reason_never_zero(runs: Path, tmp_path: Path) -> None:
    page = build([runs], tmp_path / "site").read_text()
    assert 'title="no power sensor was read">—</a>' in page
    assert 'title="the target was not reached">—</a>' in page


def test_data_that_are_not_the_workloads_own_are_said_to_be(runs: Path, tmp_path: Path) -> None:
    assert "data: digits, not the workload's own" in build([runs], tmp_path / "site").read_text()


def test_a_run_that_the_checker_refuses_stands_apart(runs: Path, tmp_path: Path) -> None:
    bad = shutil.copytree(runs / "lenet-pytorch-a", tmp_path / "bad")
    edit(bad, "run.json", lambda run: run.update(run_id="lenet-pytorch-z"))
    edit(bad, "summary.json", lambda summary: summary["figures"]["time_to_epoch_s"].update(value=0.001))
    page = build([runs, bad], tmp_path / "site").read_text()
    assert page.index("Refused by the checker") < page.index("lenet-pytorch-z/index.html")
    assert "summary-recomputes" in (tmp_path / "site" / "runs" / "lenet-pytorch-z" / "index.html").read_text()


@pytest.mark.parametrize("spoil", ["no summary", "unfinished", "twice", "bad name"])
def test_a_broken_bundle_is_listed_and_the_site_is_built(spoil: str, runs: Path, tmp_path: Path) -> None:
    bad = shutil.copytree(runs / "lenet-pytorch-a", tmp_path / "bad")
    if spoil == "no summary":
        (bad / "summary.json").unlink()
    elif spoil == "unfinished":
        edit(bad, "run.json", lambda run: run.update(status="running"))
    elif spoil == "bad name":
        edit(bad, "run.json", lambda run: run.update(run_id="../../etc/passwd"))
    page = build([runs, bad], tmp_path / "site").read_text()
    assert "Not shown" in page and bad.as_posix() in page
    assert page.count('<th scope="row">') == len(RUNS)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_string_of_a_bundle_becomes_markup(text: str, runs: Path, tmp_path: Path) -> None:
    clean = build([runs / "lenet-pytorch-a"], tmp_path / "clean")
    bad = shutil.copytree(runs / "lenet-pytorch-a", tmp_path / "bad")
    edit(bad, "system.json", lambda system: system.update(cpu_model=text, framework_version=text, operating_system=text))
    edit(
        bad,
        "run.json",
        lambda run: run.update(command=["suite", text], device_evidence=text, meters=[{"name": text, "available": False, "reason": text}]),
    )
    hostile = build([bad], tmp_path / "site")
    for name in ("index.html", "runs/lenet-pytorch-a/index.html"):
        tags = [[tag for tag, _ in Outline((page.parent / name).read_text()).elements] for page in (clean, hostile)]
        assert set(tags[1]) <= set(tags[0]) | {"h3", "p", "br", "small", "table", "thead", "tbody", "tr", "th", "td", "div", "li"}
        assert tags[1].count("script") == tags[0].count("script") == 1
        attributes = [attributes for _, attributes in Outline((hostile.parent / name).read_text()).elements]
        assert not [entry for entry in attributes if any(key.startswith("on") for key in entry)]


def test_a_folder_that_is_no_site_is_not_replaced(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(SuiteError, match="no site"):
            build([runs], tmp_path / "site", force=force)
    assert (tmp_path / "site" / "mine.txt").exists()


def test_an_old_site_is_replaced_only_when_asked(runs: Path, tmp_path: Path) -> None:
    build([runs], tmp_path / "site")
    with pytest.raises(SuiteError, match="--force"):
        build([runs], tmp_path / "site")
    build([runs / "lenet-pytorch-a"], tmp_path / "site", force=True)
    assert len(list((tmp_path / "site" / "runs").iterdir())) == 1


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_says_in_words_what_it_shows(name: str, runs: Path) -> None:
    svg = FIGURES[name](reporter.load([runs]))
    assert 'role="graphics-document"' in svg and "<title" in svg and "<desc" in svg


@pytest.mark.parametrize(
    ("highest", "expected"),
    [(1.0, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (7, [0, 2, 4, 6, 8]), (0, [0, 1]), (0.0011, [0, 0.0002, 0.0004, 0.0006, 0.0008, 0.001, 0.0012])],
)
def test_ticks_are_round_and_reach_the_highest(highest: float, expected: list[float]) -> None:
    assert ticks(highest) == pytest.approx(expected)


@pytest.mark.browser
def test_a_browser_sorts_the_table_and_finds_no_error(runs: Path, tmp_path: Path) -> None:
    """Headless Chromium on the page as a file: a click on a heading sorts, unknown values stay last, nothing is logged."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is missing: apt-get install chromium")
        pytest.skip("needs Chromium: apt-get install chromium")
    index = build([runs], tmp_path / "site")
    script = (index.parent / "site.js").read_text()
    probe = (
        "addEventListener('error', (event) => document.documentElement.dataset.error = event.message);"
        + script
        + "\nfor (const button of document.querySelectorAll('th:nth-child(7) button')) { button.click(); button.click(); }"
    )
    (index.parent / "site.js").write_text(probe)
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    command = [chromium, *flags, f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", index.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    assert "data-error" not in dom
    assert 'aria-sort="descending"' in dom
    closed = dom[dom.index("closed division") :].partition("</table>")[0]
    assert closed.index("lenet-chainer-b") < closed.index("lenet-pytorch-a"), "the slower run comes first when sorted downwards"
