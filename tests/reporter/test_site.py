"""The site: deterministic, self-contained, and rebuilt incrementally."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import jinja2
import pandas
import pytest

from reporter.pages import templates
from reporter.pages.entry_page import EntryEvidence, entry_page
from reporter.pages.shared import Page
from reporter.site import SiteOptions, build_site
from suite.bundle.attached import BEFORE
from suite.bundle.layout import MANIFEST
from suite.bundle.layout import WITHDRAWN as WITHDRAWAL
from suite.bundle.log import MAX_LOG_BYTES
from suite.bundle.manifest import file_digests
from suite.compliance.checker import check_bundle
from suite.compliance.registry import all_rules
from suite.errors import SuiteError
from suite.files.paths import HOME_VARIABLE, repository_root
from suite.files.tree import SITE_MARK
from suite.metrics.left_out import leave_out
from tests.builders import RICH, Scenario, make_bundle, run_id
from tests.open_round import OPEN, SLUG
from tests.reporter.conftest import SCENARIOS
from tests.reporter.gallery import make_template, many_entries, render
from tests.reporter.test_hostile import Outline

pytestmark = pytest.mark.usefixtures("builds_a_site")


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of all runs; tests must not change it."""
    return build_site([runs], tmp_path_factory.mktemp("out") / "site").parent


def files(site: Path) -> dict[str, bytes]:
    return {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
    }


def test_the_same_bytes_from_another_path_and_in_another_order(
    runs: Path, site: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(runs, tmp_path / "somewhere" / "else")
    assert files(
        build_site(sorted(copy.iterdir(), reverse=True), tmp_path / "two").parent
    ) == files(site)


@pytest.mark.proof
def test_the_same_bytes_on_another_day_in_another_zone_and_language(
    everything: Path, whole_site: Path, tmp_path: Path
) -> None:
    """Another process with another hash seed, files of 2001, a clock of 2096, and no UTF-8 by
    default."""
    copy = shutil.copytree(everything, tmp_path / "copy")
    for file in copy.rglob("*"):
        os.utime(file, (1e9, 1e9))
    script = (
        "import sys, time; time.time = lambda: 4e9; from pathlib import Path; from reporter.site"
        " import build_site; build_site([Path('copy')], Path('site'))"
    )
    strange = {
        "PYTHONHASHSEED": "1",
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
    }
    child_environment = {
        **os.environ,
        **strange,
        "PYTHONPATH": str(repository_root()),
        HOME_VARIABLE: str(tmp_path / "home"),
    }
    subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=tmp_path, env=child_environment, timeout=300
    )
    assert files(tmp_path / "site") == files(whole_site)


def test_no_module_imports_clocks_or_the_host() -> None:
    clocks = {
        "time",
        "datetime",
        "calendar",
        "random",
        "secrets",
        "uuid",
        "getpass",
        "socket",
        "platform",
        "locale",
    }
    for module in sorted((repository_root() / "reporter").rglob("*.py")):
        assert not clocks & set(
            re.findall(r"^\s*(?:import|from) (\w+)", module.read_text(), flags=re.MULTILINE)
        ), module


def test_no_path_of_the_machine_is_on_a_page(runs: Path, site: Path) -> None:
    for page in site.rglob("*.html"):
        assert str(runs) not in page.read_text() and str(site) not in page.read_text()


def test_every_link_has_a_target_in_the_site(site: Path) -> None:
    ids = {
        page: {attributes.get("id") for _, attributes in Outline(page.read_text()).elements}
        for page in site.rglob("*.html")
    }
    for page in ids:
        for tag, attributes in Outline(page.read_text()).elements:
            for name in ("href", "src"):
                target = attributes.get(name)
                if not target or target == "data:,":
                    continue
                assert not re.match(r"[a-z]+:|//|/", target), f"{page}: <{tag} {name}={target}>"
                path, _, anchor = target.partition("#")
                file = (page.parent / path).resolve() if path else page
                assert file.is_file(), f"{page}: {target}"
                if anchor.startswith("?a="):
                    assert (
                        f'"id":"{anchor.removeprefix("?a=")}"'
                        in (site / "data" / "compare.js").read_text()
                    ), f"{page}: {target}"
                elif anchor:
                    assert anchor in ids[file], f"{page}: {target}"


def test_every_rule_has_an_id_on_the_page_that_the_rulebook_links_to(site: Path) -> None:
    text, checks = ((site / f"{name}.html").read_text() for name in ("rules", "checks"))
    assert '<h2 id="timing-boundaries">' in text
    assert '<a href="checks.html#closed-data"><code>closed-data</code></a>' in text
    assert all(
        checks.count(f'<details class="fold"><summary><h3 id="{rule.id}">') == 1
        for rule in all_rules()
    )
    assert (site / "changelog.html").read_text().count('<details class="fold" open>') == 1
    for page in (text, checks):
        assert "generated:" not in page and not re.search(r'href="[^"]*\.md', page)


def test_ids_are_unique_on_every_page(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = [
            attributes["id"]
            for _, attributes in Outline(page.read_text()).elements
            if "id" in attributes
        ]
        assert len(found) == len(set(found)), page


def test_every_number_of_a_leaderboard_links_to_its_evidence(site: Path) -> None:
    page = (site / "boards" / f"lenet-closed-mnist-{SLUG}.html").read_text()
    table = page[page.index('id="board"') :].partition("</table>")[0]
    cells = re.findall(
        r"<td data-v=[^ >]+ data-s=[^ >]+(?: data-place=\d+)?>(<a (?:tabindex=-1 )?href=([^ >]+))?",
        table,
    )
    assert len(cells) == 3 * 14 and all(
        re.fullmatch(r"\.\./entries/[0-9a-f]{10}\.html#\w+", address) for _, address in cells
    )


def test_evidence_links_to_lines_of_the_log(site: Path) -> None:
    page = (site / "runs" / run_id("lenet-pytorch-1") / "index.html").read_text()
    log = (site / "runs" / run_id("lenet-pytorch-1") / "log.txt").read_text().splitlines()
    row = page[page.index('<th id="time_to_target_s">') :].partition("\n")[0]
    (place,) = re.findall(r"href=#(f\d+)", row)
    evidence = page[page.index(f"<tr id={place}>") :].partition("\n")[0]
    pointed = [int(number) for number in re.findall(r"href=#line-(\d+)", evidence)]
    assert '"key": "run_start"' in log[pointed[0] - 1] and '"value": 0.9905' in log[pointed[1] - 1]
    assert all(f'id="line-{number}"' in page for number in pointed)


def test_an_unknown_value_is_a_dash_with_its_reason_never_zero(site: Path) -> None:
    page = (site / "boards" / f"lenet-open-digits-{SLUG}.html").read_text()
    unknown = page[page.index("Unknown in all rows: ") :].partition("</p>")[0]
    assert (
        "energy per epoch (no power sensor was read)" in unknown
        and "time to target (the target was not reached)" in unknown
    )
    assert 'data-key="time_to_target_s"' not in page, (
        "a column that is empty in every row is not shown"
    )


def test_other_data_than_the_workloads_own_has_a_marked_leaderboard(site: Path) -> None:
    assert "data: digits, not the workload" in (site / "index.html").read_text()
    assert "fake" not in (site / "boards" / f"lenet-closed-mnist-{SLUG}.html").read_text()


def test_ranks_are_shown_or_have_a_reason(runs: Path, site: Path, tmp_path: Path) -> None:
    rows = pandas.read_csv(site / "data" / f"lenet-closed-mnist-{SLUG}.csv").set_index("framework")
    assert rows["rank"].to_dict() == {"pytorch": 1, "tensorflow": 2, "chainer": 3}
    assert rows.loc["chainer", ["not_distinguishable_from", "status"]].tolist() == [0, "confirmed"]
    page = (
        build_site([runs / "lenet-pytorch-1"], tmp_path / "site").parent
        / "boards"
        / f"lenet-closed-mnist-{SLUG}.html"
    )
    title = "the entry has 1 of the 3 runs needed for a rank"
    assert f'title="{title}"><small>provisional</small>' in page.read_text()


def test_entries_of_a_workload_without_a_target_are_marked_as_characterisation_and_have_no_rank(
    tmp_path: Path,
) -> None:
    site = render(
        many_entries(make_template(tmp_path / "run"), 3, ("mobilenetv3",)), tmp_path / "site"
    )
    text = (site / "boards" / f"mobilenetv3-closed-photographs-{SLUG}.html").read_text()
    reason = "the workload has no established target: its entries are compared without a rank"
    assert f"No ranks: {reason}." in text
    assert text.count(f'title="{reason}"><small>characterisation</small>') == 3


def test_the_data_files_hold_the_rows_of_the_page(site: Path) -> None:
    csv = pandas.read_csv(site / "data" / f"lenet-closed-mnist-{SLUG}.csv")
    parquet = pandas.read_parquet(site / "data" / f"lenet-closed-mnist-{SLUG}.parquet")
    rows = json.loads((site / "data" / f"lenet-closed-mnist-{SLUG}.json").read_text())
    assert (
        list(csv.columns) == list(parquet.columns) == list(rows[0])
        and len(csv) == len(parquet) == len(rows) == 3
    )
    assert (
        csv["time_to_target_s"].tolist()
        == parquet["time_to_target_s"].tolist()
        == [row["time_to_target_s"] for row in rows]
    )
    assert csv["best_accuracy_percent"].tolist() == [99.05] * 3
    assert csv["energy"].nunique() == 1 and csv["energy"].notna().all(), "all rows share it"


def test_a_refused_run_is_listed_separately(
    runs: Path, tmp_path: Path, edit: Callable[..., None]
) -> None:
    bad = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "bad")
    edit(bad, "run.json", lambda run: run.update(run_id="lenet-pytorch-z"))
    edit(
        bad,
        "summary.json",
        lambda summary: summary["figures"]["time_to_epoch_s"].update(value=0.001),
    )
    site = build_site([runs, bad], tmp_path / "site").parent
    page = (site / "boards" / f"lenet-closed-mnist-{SLUG}.html").read_text()
    assert page.count("#verdict>refused</a>") == 1 and page.index(
        "Refused by the checker"
    ) < page.index("#verdict>refused</a>")
    assert "figures-recompute" in (site / "runs" / "lenet-pytorch-z" / "index.html").read_text()
    rows = pandas.read_csv(site / "data" / f"lenet-closed-mnist-{SLUG}.csv")
    assert rows["state"].tolist() == ["accepted"] * 3 + ["refused"]
    assert rows["status"].tolist() == ["confirmed"] * 3 + ["unranked"]
    figure = (site / "figures" / f"lenet-closed-mnist-{SLUG}-time-to-target.svg").read_text()
    assert figure.count('class="name') == 3


def test_a_withdrawn_entry_is_kept_with_its_reason(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "given" / "good")
    shutil.move(
        tmp_path / "given" / "good" / "lenet-chainer-1", tmp_path / "given" / "vendor" / "run"
    )
    (tmp_path / "given" / "vendor" / WITHDRAWAL).write_text("Cooled with ice.")
    page = (
        build_site([tmp_path / "given"], tmp_path / "site").parent
        / "boards"
        / f"lenet-closed-mnist-{SLUG}.html"
    ).read_text()
    assert page.index("<h2>Withdrawn</h2>") < page.index("Cooled with ice.")


def test_a_broken_bundle_is_listed(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs, tmp_path / "given")
    (tmp_path / "given" / "lenet-chainer-1" / "summary.json").unlink()
    told: list[str] = []
    page = build_site([tmp_path / "given"], tmp_path / "site", say=told.append).read_text()
    assert told == ["not shown: lenet-chainer-1: summary.json is missing"]
    assert "<code>lenet-chainer-1</code>: summary.json is missing" in page
    boards = {"mnist": "3 entries, 8 runs", "digits": "1 entry, 1 run"}
    assert all(f": {text}" in page for text in boards.values()) and len(SCENARIOS) == 10


def test_without_a_run_that_can_be_shown_there_is_no_site(
    good_bundle: Path, tmp_path: Path
) -> None:
    record = json.loads((good_bundle / "run.json").read_text())
    for text in (json.dumps(record | {"status": "running"}), "{"):
        (good_bundle / "run.json").write_text(text)
        with pytest.raises(SuiteError, match=r"No run can be shown, .* (status|not valid JSON)"):
            build_site([good_bundle], tmp_path / "site")
        assert not (tmp_path / "site").exists()


def test_pages_say_what_they_are_from(site: Path) -> None:
    front = (site / "index.html").read_text()
    assert re.search(r"Data of \d{4}-\d\d-\d\d · made by version [\d.]+, code <code>\w{12}", front)
    assert "Apache-2.0" in front and 'href="submit.html">submit yours' in front
    chapters = re.findall(r'<nav class="contents".*?</nav>', (site / "rules.html").read_text())[0]
    assert chapters.count("<a href=") > 10 and 'href="#runs-and-scoring"' in chapters
    assert (
        'href="changelog.html"' in front
        and f'<h2 id="{OPEN[1:].replace(".", "-")}' in (site / "changelog.html").read_text()
    )
    steps = re.findall("<li>.*?</li>", (site / "submit.html").read_text(), re.DOTALL)
    assert "make setup" in steps[0] and f"submissions/{OPEN}/NAME" in steps[-1]
    assert not [step for step in steps if "--help" in step]
    index = json.loads((site / "data" / "index.json").read_text())
    for board in index["leaderboards"]:
        assert board["headline"] in (site / board["page"]).read_text().replace("</em>", "").replace(
            "<em>", ""
        )
        assert all((site / name).is_file() for name in board["files"])


@pytest.mark.parametrize("evidence", ["link", "archive"])
def test_the_files_of_bundles_are_linked_or_packed(evidence: str, tmp_path: Path) -> None:
    """All that the manifest lists, also those from before a meter was left out: a reader can
    check the run again."""
    bundle = make_bundle(tmp_path / "run", RICH)
    leave_out(bundle, "um25c", "its shunt is loose")
    build_site([bundle], tmp_path / "site", options=SiteOptions(evidence=evidence))
    (folder,) = (tmp_path / "site" / "runs").iterdir()
    page = (folder / "index.html").read_text()
    listed = [line.partition("  ")[2] for line in (bundle / MANIFEST).read_text().splitlines()]
    assert {"data.json", "power.json", "before_attach/power.json"} < set(listed)
    if evidence == "link":
        assert all((folder / name).samefile(bundle / name) for name in listed)
        assert all(f'href="{name}"' in page for name in listed)
        return
    assert not (folder / "log.txt").exists() and 'href="bundle.tar.gz"' in page
    with tarfile.open(folder / "bundle.tar.gz") as packed:
        packed.extractall(tmp_path / "again")
    assert file_digests(tmp_path / "again") == file_digests(bundle)
    assert check_bundle(tmp_path / "again").findings == check_bundle(bundle).findings


def test_files_that_a_link_in_a_bundle_leads_to_are_not_published(
    runs: Path, tmp_path: Path
) -> None:
    bundle, other = (shutil.copytree(runs / "lenet-pytorch-1", tmp_path / name) for name in "ab")
    (bundle / BEFORE).symlink_to(other)
    build_site([bundle], tmp_path / "site")
    (folder,) = (tmp_path / "site" / "runs").iterdir()
    assert (folder / "log.txt").is_file() and not (folder / BEFORE).exists()


def test_a_site_made_again_has_the_files_of_bundles_as_asked_for_now(
    runs: Path, tmp_path: Path
) -> None:
    bundle, site = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "run"), tmp_path / "site"
    for evidence in ("copy", "link", "copy"):
        build_site([bundle], site, force=True, options=SiteOptions(evidence=evidence))
        (folder,) = (site / "runs").iterdir()
        assert (folder / "log.txt").samefile(bundle / "log.txt") == (evidence == "link")


def test_a_folder_that_is_not_a_site_is_not_replaced(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mine.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(SuiteError, match="not a site"):
            build_site([runs], tmp_path / "site", force=force)
    assert (tmp_path / "site" / "mine.txt").exists()


def test_an_old_site_is_replaced_only_with_force(runs: Path, tmp_path: Path) -> None:
    build_site([runs], tmp_path / "site")
    with pytest.raises(SuiteError, match="--force"):
        build_site([runs], tmp_path / "site")
    with pytest.raises(SuiteError, match="nope does not exist"):
        build_site([tmp_path / "nope"], tmp_path / "site")
    build_site([runs / "lenet-pytorch-1"], tmp_path / "site", force=True)
    assert len(list((tmp_path / "site" / "runs").iterdir())) == 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".site")]


def test_a_site_that_a_link_names_is_replaced_in_its_own_place(runs: Path, tmp_path: Path) -> None:
    given, link = runs / "lenet-pytorch-1", tmp_path / "site"
    site = build_site([given], tmp_path / "published").parent
    before = files(site)
    for named in ("published", site):
        link.unlink(missing_ok=True)
        link.symlink_to(named)
        build_site([given], link, force=True)
        assert link.is_symlink() and files(site) == before
        assert sorted(path.name for path in tmp_path.iterdir()) == ["published", "site"]


def test_unchanged_files_are_not_written_again(runs: Path, tmp_path: Path) -> None:
    given = shutil.copytree(runs, tmp_path / "given")
    build_site([given], tmp_path / "site")
    before = {
        path.relative_to(tmp_path): path.stat().st_ino
        for path in (tmp_path / "site").rglob("*")
        if path.is_file()
    }
    make_bundle(
        given / "new", Scenario(name="new", data="digits", division="open", accuracies=(0.98,))
    )
    build_site([given], tmp_path / "site", force=True)
    after = {
        path.relative_to(tmp_path): path.stat().st_ino
        for path in (tmp_path / "site").rglob("*")
        if path.is_file()
    }
    touched = {path.as_posix() for path in after if before.get(path) != after[path]}
    assert not {
        path for path in touched if "/runs/" in path and f"/runs/{run_id('new')}/" not in path
    }
    assert not {path for path in touched if "closed-mnist" in path}
    assert "site/index.html" in touched and f"site/{SITE_MARK}" in touched


@pytest.mark.proof
def test_a_log_that_is_too_large_is_not_read_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any size: nothing reads the whole file."""
    log = make_bundle(tmp_path / "runs" / "large", Scenario(name="large")) / "log.txt"
    with log.open("ab") as stream:
        stream.write(log.read_bytes()[:1000] * (MAX_LOG_BYTES // 1000 + 1))
    for name in ("read_bytes", "read_text"):
        monkeypatch.setattr(Path, name, unless_larger(getattr(Path, name)))
    with pytest.raises(SuiteError, match=f"large: log.txt .* larger than {MAX_LOG_BYTES} bytes"):
        build_site([tmp_path / "runs"], tmp_path / "site")


def unless_larger(read: Callable[..., bytes | str]) -> Callable[..., bytes | str]:
    """Path.read_bytes or read_text, which must not be called for larger files than a log may
    have."""

    def checked(path: Path, *arguments: object, **options: object) -> bytes | str:
        assert path.stat().st_size <= MAX_LOG_BYTES, path
        return read(path, *arguments, **options)

    return checked


def test_an_entry_of_one_run_leads_to_the_run_for_other_figures_than_leaderboards(
    site: Path,
) -> None:
    run = site / "runs" / run_id("lenet-fake-digits", "fake") / "index.html"
    (entry,) = [
        page.read_text()
        for page in site.glob("entries/*.html")
        if f"{run.parent.name}/index.html" in page.read_text()
    ]
    ids = set(re.findall(r'id="(\w+)"', entry))
    assert {"time_to_epoch_s", "energy_per_epoch_j", "fetch_stall_s"} < ids
    assert "compute_s" not in ids and 'id="compute_s"' in run.read_text()
    assert f'href="../runs/{run.parent.name}/index.html#figures"' in entry


@pytest.mark.proof
def test_pages_of_an_unchanged_entry_are_not_made_again(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = shutil.copytree(runs, tmp_path / "given")
    build_site([given], tmp_path / "site")
    before, made = files(tmp_path / "site"), []

    def render(evidence: EntryEvidence, environment: jinja2.Environment) -> Page:
        made.append(evidence.entry["entry_id"])
        return entry_page(evidence, environment)

    monkeypatch.setattr("reporter.site.entry_page", render)
    build_site([given], tmp_path / "site", force=True)
    assert files(tmp_path / "site") == before and not made
    badge = next((tmp_path / "site" / "badges").iterdir())
    badge.unlink()
    build_site([given], tmp_path / "site", force=True)
    assert files(tmp_path / "site") == before and made == [badge.stem]
    make_bundle(given / "new", Scenario(name="lenet-pytorch-new", seed=99))
    build_site([given], tmp_path / "site", force=True)
    build_site([given], tmp_path / "fresh")
    assert files(tmp_path / "site") == files(tmp_path / "fresh") and len(made) > 1


@pytest.mark.proof
def test_an_incremental_site_is_the_same_as_a_fresh_one(runs: Path, tmp_path: Path) -> None:
    build_site([runs / "lenet-pytorch-1", runs / "lenet-fake-digits"], tmp_path / "grown")
    build_site([runs], tmp_path / "grown", force=True)
    build_site([runs], tmp_path / "fresh")
    assert files(tmp_path / "grown") == files(tmp_path / "fresh")


def test_a_failure_leaves_the_old_site_and_nothing_else(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_site([runs / "lenet-pytorch-1"], tmp_path / "site")
    before = files(tmp_path / "site")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("os.link", "shutil.copyfile"):
        monkeypatch.setattr(f"reporter.site.{name}", full)
    with pytest.raises(SuiteError, match="No space left on device"):
        build_site([runs], tmp_path / "site", force=True)
    assert files(tmp_path / "site") == before and [path.name for path in tmp_path.iterdir()] == [
        "site"
    ]


def test_a_site_is_made_again_where_files_cannot_be_linked(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a USB stick, or where the old site is another user's."""
    site = build_site([runs / "lenet-pytorch-1"], tmp_path / "site").parent
    before = files(site)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("reporter.site.os.link", refuse)
    build_site([runs / "lenet-pytorch-1"], site, force=True)
    assert files(site) == before


def test_a_run_on_several_nodes_shows_its_ranks_and_links_all_files(tmp_path: Path) -> None:
    make_bundle(tmp_path / "run", Scenario(name="two", ranks=2, nodes=2, power_w=5.0, idle_w=2.0))
    folder = build_site([tmp_path / "run"], tmp_path / "site").parent / "runs" / run_id("two")
    page = (folder / "index.html").read_text()
    ranks = page[page.index('<section id="ranks">') :].partition("</section>")[0]
    assert re.findall(
        r'<th scope="row" class="n">(\d)</th><td>(\w+)</td><td class="n">(\d+)</td>', ranks
    ) == [
        ("0", "node0", "90000"),
        ("1", "node1", "90000"),
    ]
    # power is drawn for one node, the figure is a sum of both
    assert "baseload_power_w" in page and "baseload: " not in page
    assert page.count("Of the first node only.") == len(("power", "load"))
    for name in ("nodes.json", "readings.node1.parquet", "baseload.node1.parquet", "log.rank1.txt"):
        assert (folder / name).read_bytes() == (
            tmp_path / "run" / name
        ).read_bytes() and f'href="{name}"' in page


def test_unknown_figures_come_last_with_each_reason_once(site: Path) -> None:
    page = (site / "runs" / run_id("lenet-pytorch-1") / "index.html").read_text()
    known, _, unknown = page.partition("<h3>Unknown, with the reasons</h3>")
    assert '<th id="time_to_target_s">' in known and '<span id="gpu_utilisation">' in unknown
    reasons = re.findall("<dt>(.*?)<dd><span", unknown.partition("</dl>")[0])
    assert "the run had one rank" in reasons and len(reasons) == len(set(reasons))


def test_a_list_of_the_system_is_text(site: Path) -> None:
    page = (site / "runs" / run_id("lenet-pytorch-1") / "index.html").read_text()
    links = re.findall(r"<dt>links<dd>(.*?)<", page)
    assert links and "{" not in links[0] and "[" not in links[0]


def test_pages_of_many_entries_are_made_again_only_where_a_run_or_a_page_changed(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, site = shutil.copytree(runs, tmp_path / "given"), tmp_path / "site"
    made = list[Path]()

    def find(*arguments: object) -> object:
        made.append(site)
        return templates(*arguments)

    build_site([given], site)
    before = files(site)
    monkeypatch.setattr("reporter.site.templates", find)
    build_site([given], site, force=True)
    assert files(site) == before and not made
    (site / "index.html").unlink()
    build_site([given], site, force=True)
    assert files(site) == before and len(made) == 1
    mark = json.loads((site / SITE_MARK).read_text())
    mark["pages"]["../mine.txt"] = mark["pages"]["index.html"]
    (site / SITE_MARK).write_text(json.dumps(mark))
    (tmp_path / "mine.txt").write_text("mine")
    build_site([given], site, force=True)
    assert files(site) == before and len(made) == 2, "a place outside the site is not believed"
    for name in ("boards", "runs"):
        (site / name).rename(tmp_path / name)
        (site / name).symlink_to(tmp_path / name)
    build_site([given], site, force=True)
    assert files(site) == before and len(made) > 2, "nor a folder that is a link"
    assert any((tmp_path / "runs").iterdir()), "of which nothing is moved"
