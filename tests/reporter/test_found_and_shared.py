"""The pages of machines and submitters, search, feed, badges, citations, previews, prices."""

import io
import json
import re
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from PIL import Image

import reporter
from reporter import site as site_module
from reporter.board.making import make_boards
from reporter.data.machine_names import machine_name, machine_title
from reporter.data.text import significant
from reporter.data.words import day_of, moment_of
from reporter.pages import templates, unbroken
from reporter.pages.addresses import machine_slug, submitter_slug, with_digest
from reporter.pages.citations import badge_svg
from reporter.pages.devices import machine_pages
from reporter.pages.entry_lines import entry_lines, trends
from reporter.pages.previews import SIZE, picture, previews
from reporter.pages.shared import make_contents
from reporter.pages.standings import NO_PRICE, _cost, _costs
from reporter.site import REFERENCE, SiteOptions, build_site
from suite import api
from suite.catalog.devices import load_devices
from suite.catalog.literature import load_literature
from suite.catalog.prices import LIFETIME_S, SystemPart, load_prices, system_prices
from suite.errors import SuiteError
from suite.files.paths import repository_root
from tests import builders
from tests.browser import NARROW, Tab
from tests.builders import Scenario, make_bundle
from tests.every_case import some
from tests.open_round import OPEN, SLUG
from tests.relabelled import relabelled
from tests.reporter.conftest import MACHINE, edit_json
from tests.reporter.test_accessibility import violations

pytestmark = pytest.mark.usefixtures("builds_a_site")

STEPS_OF_DIGITS = 90
"""Of an epoch, in mini-batches of 16."""
MODEL = builders.MACHINE["cpu_model"]
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"device": "orin", "cpu_model": "ARMv8", "board": "NVIDIA Orin"}, "orin"),
        (
            {
                "device": "generic",
                "cpu_model": "Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz",
                "board": "LENOVO 20L8",
            },
            "Intel Core i5-8250U",
        ),
        (
            {
                "device": "generic",
                "cpu_model": "Intel(R) Xeon(R) Processor",
                "gpu": "NVIDIA H200",
                "accelerator": "cuda",
            },
            "NVIDIA H200",
        ),
        (
            {
                "device": "generic",
                "cpu_model": "Intel(R) Xeon(R) Processor",
                "gpu": "NVIDIA H200",
                "accelerator": "cpu",
            },
            "Intel Xeon",
        ),
        ({"device": "generic", "cpu_model": None, "board": "Radxa ROCK 5B"}, "Radxa ROCK 5B"),
        ({"device": "generic", "cpu_model": float("nan")}, "unknown machine"),
        ({"device": "another-board", "cpu_model": "X"}, "another-board"),
    ],
)
def test_a_machine_is_called_by_profile_gpu_that_trained_processor_or_board(
    entry: dict[str, object], name: str
) -> None:
    assert machine_name(entry) == name
    if entry["device"] != "orin":
        assert machine_title(entry) == name


def test_the_pages_of_a_site_name_no_generic_machine(whole_site: Path) -> None:
    """The profile's own page, its name in the list of devices, and what a person typed in commands
    are no names of machines."""
    for page in sorted(whole_site.rglob("*.html")):
        if page.relative_to(whole_site).parts[0] in (
            "index.html",
            "boards",
            "compare.html",
            "submitters",
            "frameworks.html",
            "studies",
        ):
            assert not re.search(r">[^<]*\bgeneric\b", page.read_text()), page


def test_slugs_tell_names_apart_that_look_alike() -> None:
    names = ["AMD EPYC", "AMD-EPYC", "amd epyc", "АМD EPYC", "orin"]
    slugs = {machine_slug({"device": "generic", "cpu_model": name}) for name in names}
    assert (
        len(slugs) == len(names)
        and "orin" not in slugs
        and all(re.fullmatch("[a-z0-9-]+", slug) for slug in slugs)
    )
    assert (
        submitter_slug("pies-ltd") == "pies-ltd"
        and submitter_slug("../x") != "../x"
        and with_digest("\ud800")
    )


def test_times_that_no_calendar_holds_are_unknown() -> None:
    assert (day_of(1_800_000_000_000), moment_of(1_800_000_000_000)) == (
        "2027-01-15",
        "2027-01-15T08:00:00Z",
    )
    assert {day_of(value) for value in (None, float("nan"), -1, 10**30)} == {"unknown"}


def test_a_machine_has_a_page_with_its_boards_modes_and_dates(whole_site: Path) -> None:
    page = (
        whole_site / "devices" / f"{machine_slug({'device': 'generic', 'cpu_model': MODEL})}.html"
    )
    text = page.read_text()
    heading = text[text.index("<h1") : text.index("</h1>")]
    assert f"<em>{MACHINE}</em> trains LeNet-5" in heading, "its answer, not its name alone"
    assert (
        f"boards/lenet-closed-mnist-{SLUG}.html" in text
        and "2027-01-15" in text
        and 'id="trend"' not in text
    )
    assert f'href="{page.name}"' in (whole_site / "devices" / "generic.html").read_text()


def test_a_board_s_front_of_time_and_energy_is_on_the_machine_s_page(whole_site: Path) -> None:
    page = (
        whole_site / "devices" / f"{machine_slug({'device': 'generic', 'cpu_model': MODEL})}.html"
    )
    assert f'id="lenet-closed-mnist-{SLUG}-time-energy"' in page.read_text()


def test_a_narrow_drawing_shows_numbers_and_lines_of_its_own_figure(whole_site: Path) -> None:
    """A machine's page has the same chart of several boards."""
    pages = [page.read_text() for page in (whole_site / "devices").glob("*.html")]
    figures = [part for page in pages for part in page.split('<figure class="chart" id="')[1:]]
    shown = [
        (part.partition('"')[0], name)
        for part in figures
        for name in re.findall(r'<use href="#([^"]+)"', part.partition("</figure>")[0])
    ]
    assert any(figure.endswith("time-energy") for figure, _ in shown)
    assert all(name.startswith(f"{figure}-") for figure, name in shown)


def test_the_page_of_a_machine_is_not_titled_by_a_cluster_that_begins_with_it(runs: Path) -> None:
    """Which stands before it on a leaderboard."""
    frames = reporter.load([runs])
    others = frames.entries["framework"].map({"pytorch": "1 x Intel J4125"}).fillna("alike")
    changed = replace(frames, entries=frames.entries.assign(node_machines=others))
    pages = machine_pages(make_contents(changed, tuple(make_boards(changed))))
    titles = {page.slug: page.title for page in pages}
    own = {"device": "generic", "cpu_model": MODEL}
    assert titles[machine_slug(own)] == machine_title(own)


def test_trends_need_two_rounds_or_versions(runs: Path) -> None:
    frames = reporter.load([runs])
    assert trends(entry_lines(make_boards(frames), frames)) == ()
    versions = {"pytorch": "0.1.0", "chainer": "0.1.0", "tensorflow": "0.2.0"}
    changed = replace(
        frames,
        entries=frames.entries.assign(
            suite_version=frames.entries["framework"].map(versions).fillna("0.2.0")
        ),
    )
    of_score, of_epoch = trends(entry_lines(make_boards(changed), changed))
    assert (of_score.heading, of_epoch.heading) == ("expected time", "time per epoch")
    best = [
        (row.suite_version, row.entries, row.best.row.entry["framework"])
        for row, _ in of_score.rows
    ]
    assert best == [("0.1.0", 2, "pytorch"), ("0.2.0", 1, "tensorflow")]


def test_figures_of_one_bar_are_not_drawn(runs: Path, tmp_path: Path) -> None:
    site = build_site([runs / "lenet-pytorch-1"], tmp_path / "site").parent
    assert not list((site / "figures").glob("*time-to-epoch*")) and not list(
        (site / "figures").glob("*stacked*")
    )
    assert list((site / "figures").glob("*accuracy*")), "a curve of one run shows something"


def test_the_feed_has_the_newest_results_first_with_the_runs_times(whole_site: Path) -> None:
    feed = ElementTree.parse(whole_site / "feed.xml").getroot()
    entries = feed.findall(f"{ATOM}entry")
    updated = [str(entry.findtext(f"{ATOM}updated")) for entry in entries]
    assert updated == sorted(updated, reverse=True) and updated[0].startswith("2027-01-15T0")
    assert len({entry.findtext(f"{ATOM}id") for entry in entries}) == len(entries) > 3
    for entry in entries:
        link = entry.find(f"{ATOM}link")
        assert link is not None and (whole_site / str(link.get("href"))).is_file()


def test_what_is_bold_among_the_changes_is_a_record(whole_site: Path) -> None:
    changes = (whole_site / "changes.html").read_text()
    bold = set(re.findall("<strong>(.*?)</strong>", changes))
    assert ": refused</li>" in changes and "the first" in bold
    assert all(each == "the first" or each.endswith("the best before") for each in bold)


def test_a_result_is_the_fastest_until_then_only_where_it_surely_is(tmp_path: Path) -> None:
    """Of round v0.1, TensorFlow's time is a hundredth below that of PyTorch, which came first, and
    their interval holds 1."""
    site = build_site([repository_root() / "submissions/v0.1"], tmp_path / "site").parent
    of_day = (site / "changes.html").read_text().split("<li>")[1:]
    assert ["PyTorch" in each for each in of_day if "<strong>the first</strong>" in each] == [True]
    assert "the best before" not in "".join(of_day) and len(of_day) == 3


def test_absolute_addresses_only_where_the_site_s_is_known(runs: Path, tmp_path: Path) -> None:
    given = [runs / "lenet-pytorch-1"]
    without = build_site(given, tmp_path / "without").parent
    assert not list(without.glob("previews/*")) and not [
        page for page in without.rglob("*.html") if "og:" in page.read_text()
    ]
    published = build_site(
        given, tmp_path / "published", options=SiteOptions("https://example.org/edge")
    ).parent
    board = (published / "boards" / f"lenet-closed-mnist-{SLUG}.html").read_text()
    assert (
        f'og:image" content="https://example.org/edge/previews/lenet-closed-mnist-{SLUG}.png"'
        in board
    )
    assert Image.open(published / "previews" / f"lenet-closed-mnist-{SLUG}.png").size == SIZE
    said = re.search(r'<meta name="description" content="([^"]+)">', board)
    assert said and f'og:description" content="{said[1]}"' in board
    entry = next(published.glob("entries/*.html"))
    assert (
        f'rel="canonical" href="https://example.org/edge/entries/{entry.name}"' in entry.read_text()
    )
    assert (
        'rel="self" href="https://example.org/edge/feed.xml"'
        in (published / "feed.xml").read_text()
    )
    with pytest.raises(SuiteError, match="whole address"):
        api.report(given, tmp_path / "third", address="example.org")


def test_every_page_has_a_description(whole_site: Path) -> None:
    for page in whole_site.rglob("*.html"):
        assert re.search(r'<meta name="description" content="[^"]+">', page.read_text()), page


def test_one_of_a_kind_is_not_called_several(
    whole_site: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs, findings, entries and results, on pages, in the feed and in pictures of links."""
    pages = (*whole_site.rglob("*.html"), whole_site / "feed.xml")
    told = "\n".join(page.read_text() for page in pages)
    assert '<p class="lead">1 run (entry' in told and " 1 run, 2027-" in told
    assert re.findall(r"(?<![\w.])1 (?:run that|runs|findings|entries|results)\b[^/].*", told) == []
    monkeypatch.setattr("reporter.pages.previews.picture", lambda *words: words[1])
    frames = reporter.load([runs / "lenet-pytorch-1"])
    contents = make_contents(frames, tuple(make_boards(frames)))
    site, _ = previews(replace(contents, address="https://example.org/"), templates())
    assert site.content == "1 result on 1 leaderboard"


def test_a_preview_cuts_what_does_not_fit() -> None:
    content = picture("w" * 500, "x" * 500, [("y" * 500, "1.5 s", 1.0), ("\u202e<&", "2 s", 0.5)])
    assert Image.open(io.BytesIO(content)).size == SIZE


def test_badges_and_citations(whole_site: Path) -> None:
    names = {path.stem for path in (whole_site / "entries").glob("*.html")}
    assert {path.stem for path in (whole_site / "badges").glob("*.svg")} == names
    for name in names:
        ElementTree.parse(whole_site / "badges" / f"{name}.svg")
        (cited,) = json.loads((whole_site / "entries" / f"{name}.csl.json").read_text())
        assert cited["number"] == name and cited["type"] == "dataset" and cited["author"]
        bibtex = (whole_site / "entries" / f"{name}.bib").read_text()
        assert bibtex.startswith(f"@misc{{edge-training-{name},\n") and bibtex.count(
            "{"
        ) == bibtex.count("}")
    assert [
        path
        for path in (whole_site / "badges").glob("*.svg")
        if re.search(r"\d s expected to target · 1st(, not [\w ]+)? of \d", path.read_text())
    ]


def test_a_badge_holds_any_text() -> None:
    assert (
        ElementTree.fromstring(badge_svg('<&">', True)).get("aria-label") == 'edge training: <&">'
    )


def test_prices_name_who_said_them_and_when() -> None:
    devices = {device.name for device in load_devices()}
    for prices in load_prices():
        assert prices.name in devices and all(
            quote.said_by and quote.source and quote.date for quote in prices.quotes
        )


def test_published_times_name_a_device_and_stand_on_its_page(whole_site: Path) -> None:
    devices = {device.name for device in load_devices()}
    for literature in load_literature():
        assert literature.name in devices
        page = (whole_site / "devices" / f"{literature.name}.html").read_text()
        for one in literature.results:
            assert f">{significant(one.time_per_1000_samples_s)}</td>" in page
            energy_j = one.energy_per_1000_samples_j
            shown = "not published" if energy_j is None else significant(energy_j)
            assert f">{shown}</td>" in page and one.place in page
    (xavier,) = (each for each in load_literature() if each.name == "agx-xavier")
    energies_j = {one.model: one.energy_per_1000_samples_j for one in xavier.results}
    assert energies_j["ResNet-18"] == pytest.approx(494.8 / 22.5)
    (pi5,) = (each for each in load_literature() if each.name == "raspberry-pi-5")
    found = {one.model: one.time_per_1000_samples_s for one in pi5.results}
    assert found["ResNet-18"] == pytest.approx(116.85059 / 320 * 1000)
    page = (whole_site / "devices" / "raspberry-pi-5.html").read_text()
    assert "suite run --division closed --device raspberry-pi-5" in page


PRICES = """name = "orin"
[[quotes]]
part = "board"
item = "Developer Kit"
configuration = "64 GB"
price = 2000
currency = "USD"
said_by = "A shop"
source = "its page"
date = "2024-01-02"
"""
OTHERS = "".join(
    f'[[quotes]]\npart = "{part}"\nitem = "{part}"\nprice = {price}\ncurrency = "USD"\nsaid_by = "A'
    f' shop"\nsource = "its page"\ndate = "{date}"\n'
    for part, price, date in (
        ("supply", 0, "2024-01-02"),
        ("storage", 90, "2023-01-02"),
        ("storage", 60, "2024-01-02"),
        ("cooling", 0, "2024-01-02"),
    )
)


def price_list(root: Path, text: str) -> Path:
    folder = root / "rules" / "prices"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "orin.toml").write_text(text)
    return root


def test_a_cost_is_the_share_of_three_years_of_the_whole_system(tmp_path: Path) -> None:
    (prices,) = load_prices(price_list(tmp_path, PRICES + OTHERS))
    (system,) = system_prices(prices)
    assert (system.price, system.currency, system.reason) == (
        2060.0,
        "USD",
        None,
    ), "of two quotes for a part the newer one counts"
    assert system.cost_of(LIFETIME_S / 2060) == pytest.approx(1.0)
    costs = [_cost(system, LIFETIME_S / 2060, nodes) for nodes in (1, 4)]
    assert [cost for _, cost, _ in costs] == ["1.00 USD", "4.00 USD"], "every node is paid for"


@pytest.mark.parametrize(
    ("others", "is_priced"), [("alike", True), ("1 x Raspberry Pi 4 Model B", False)]
)
def test_the_price_of_one_machine_is_not_that_of_another(
    others: str, is_priced: bool, tmp_path: Path
) -> None:
    prices = load_prices(price_list(tmp_path, PRICES + OTHERS))
    entry = {"device": "raspberry-pi-5", "nodes": 2, "node_machines": others}
    (cost,) = _costs(entry, None, {"raspberry-pi-5": system_prices(prices[0])})
    assert (cost[2] != NO_PRICE) == is_priced


def test_without_a_price_of_every_part_there_is_no_cost(tmp_path: Path) -> None:
    (system,) = system_prices(load_prices(price_list(tmp_path, PRICES))[0])
    assert (
        system.price is None
        and system.cost_of(10.0) is None
        and system.reason == "the price of the system's supply and storage and cooling is unknown"
    )
    mixed = PRICES + OTHERS.replace("USD", "EUR", 1)
    assert (
        system_prices(load_prices(price_list(tmp_path, mixed))[0])[0].reason
        == "the system's prices are in EUR and USD"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("2000", "-1"), "price of at least 0"),
        (('"USD"', '"$"'), "a currency such as USD"),
        (("2024-01-02", "soon"), "a date such as"),
        (('"A shop"', '""'), "`said_by` and `source`"),
        (('"board"', '"case"'), "part"),
    ],
)
def test_a_quote_that_cannot_be_one_is_refused(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(SuiteError, match=said):
        load_prices(price_list(tmp_path, PRICES.replace(*change)))


def test_every_part_of_a_system_is_priced() -> None:
    assert [part.value for part in SystemPart] == ["board", "supply", "storage", "cooling"]


@pytest.mark.browser
def test_words_find_pages_without_a_server(whole_site: Path, tab: Tab) -> None:
    tab.open(f"{(whole_site / 'search.html').as_uri()}#?q=chainer%20{MACHINE.split()[0]}")
    found = tab.run("[...document.querySelectorAll('#found a')].map((link) => link.href)")
    assert found and all(address.startswith("file:") for address in found)
    tab.page.fill("#search input", "loss-falls nothing-like-this")
    assert tab.page.inner_text("#found-count").startswith("0 found")
    tab.page.fill("#search input", "pies")
    tab.page.fill("#search input", f"fastest {MACHINE.split()[0]}")
    assert re.search(r": [\d.]+ m?s, expected time", tab.page.inner_text("#found")), (
        "with its number"
    )
    tab.page.fill("#search input", "pies")
    assert "pies-ltd" in tab.page.inner_text("#found") and "#?q=pies" in tab.run("location.hash")
    for link in tab.run(
        "[...document.querySelectorAll('#found a')].map((link) => link.getAttribute('href'))"
    ):
        assert (whole_site / link.partition("#")[0]).is_file()


def test_every_page_has_one_heading_and_it_stands_above_the_contents(whole_site: Path) -> None:
    """The first thing to read is what came out, not where to go."""
    for path in whole_site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert text.count("<h1") == 1, path
        assert text.index("<h1") < text.find('class="contents"') or "contents" not in text, path


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("entries/*", r"<em>[^<]+ on [^<]+</em> trains LeNet-5 on \w+: "),
        ("submitters/index", r"\d+ of \d+ entries are audited or reproduced by others"),
        ("submitters/pies-ltd", r"<em>[^<]+</em>: \d+ entr"),
        ("changes", r"Newest record, \d{4}-\d\d-\d\d: <em>"),
        ("boards/*-figures", r" fastest|not distinguishable|no confirmed result| trains "),
    ],
)
def test_the_heading_is_the_answer(place: str, said: str, whole_site: Path) -> None:
    paths = list(whole_site.glob(f"{place}.html"))
    assert paths
    for path in paths:
        heading = path.read_text(encoding="utf-8").partition("<h1")[2].partition("</h1>")[0]
        assert re.search(said, re.sub(r"</?span[^>]*>", "", heading)), path


def test_as_many_devices_are_said_to_wait_as_are_listed(whole_site: Path) -> None:
    """Machines without a profile wait for nothing."""
    page = (whole_site / "devices" / "index.html").read_text(encoding="utf-8")
    pattern = r"<h2>(\d+) devices? with a profile waits?.*?</h2>\s*<p>(.*?)</p>"
    count, listed = re.findall(pattern, page)[0]
    assert listed.count(".html") == int(count) + 1, "and where to submit"
    assert "Any Linux machine" not in listed and 'href="generic.html"' in page


def test_the_definitions_name_all_their_sections(whole_site: Path) -> None:
    page = (whole_site / "about.html").read_text(encoding="utf-8")
    assert re.findall('<a href="#([^"]*)">', page[page.index("contents") :]) == re.findall(
        '<section id="([^"]*)">', page
    )


@pytest.mark.parametrize(
    ("replications", "said"),
    [
        ((), "Nobody has replicated these runs yet"),
        (("unsigned",), '<a href="#replications">1 listed'),
    ],
)
def test_replications_that_earn_no_badge_are_named_too(
    replications: tuple[str, ...], said: str
) -> None:
    standing = SimpleNamespace(
        machine="", machine_page="", submitter="", submitter_page="", rank="", dates="", badge=""
    )
    standing.costs, standing.is_compared = (), False
    html = (
        templates()
        .get_template("standing.html")
        .render(
            root="",
            entry={"entry_id": "e"},
            standing=standing,
            scores=SimpleNamespace(epochs=None, reason="no runs"),
            badges=(),
            replications=replications,
        )
    )
    assert f"<dt>replications</dt><dd>{said}" in html


def test_a_number_and_its_unit_stand_in_one_line() -> None:
    whole = '<span class="whole">{}</span>'
    assert unbroken("5.6 h, 1.6 times < 93 % on 2027-01-15") == (
        f"{whole.format('5.6 h')}, 1.6 times &lt; {whole.format('93 %')} on"
        f" {whole.format('2027-01-15')}"
    )


def test_what_is_found_is_said_in_words_and_ids_are_not_shown(whole_site: Path) -> None:
    script = (whole_site / "data" / "search.js").read_text()
    index = json.loads(script.partition("SEARCH_INDEX = ")[2].rstrip().removesuffix(";"))
    entries = [(said, words, page) for kind, _, said, words, page in index if kind == "entry"]
    for said, words, page in entries:
        name = Path(page).stem
        assert name in words and name not in said and " · " in said


def test_every_indexed_page_exists(whole_site: Path) -> None:
    index = json.loads(
        (whole_site / "data" / "search.js")
        .read_text()
        .partition("SEARCH_INDEX = ")[2]
        .rstrip()
        .removesuffix(";")
    )
    assert {kind for kind, *_ in index} == {
        "leaderboard",
        "device",
        "submitter",
        "study",
        "entry",
        "rule",
        "page",
    }
    for sought, page in (("csv", "about.html"), ("audited", "rules.html")):
        assert page in {place for *texts, place in index if sought in " ".join(texts).lower()}
    assert all((whole_site / page.partition("#")[0]).is_file() for *_, page in index)


@pytest.mark.browser
@pytest.mark.parametrize(
    "page",
    some(
        [
            "compare.html",
            "search.html",
            "submitters/pies-ltd.html",
            "devices/index.html",
            "index.html",
        ]
    ),
)
def test_new_pages_fit_a_phone(page: str, whole_site: Path, tab: Tab) -> None:
    tab.look(NARROW)
    tab.open((whole_site / page).as_uri())
    assert tab.run("document.documentElement.scrollWidth") <= NARROW[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The demonstration's reference results, as of the open round."""
    *_, newest = sorted(REFERENCE.glob("*/reference"))
    folder = tmp_path_factory.mktemp("demo")
    relabelled(newest, folder / OPEN / "reference")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_module, "REFERENCE", folder)
        yield folder


def epoch_s_of_reference() -> float:
    """Of PyTorch: the mean of its runs."""
    summaries = [
        json.loads(path.read_text()) for path in REFERENCE.rglob("pytorch/run_*/summary.json")
    ]
    return statistics.fmean(each["figures"]["time_to_epoch_s"]["value"] for each in summaries)


@pytest.fixture(scope="module")
def own_site(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """After `make demo`: one run of the demonstration's training, twice as slow as the
    reference."""
    folder = tmp_path_factory.mktemp("own")
    own = Scenario(
        name="own",
        division="open",
        data="digits",
        batch_size=16,
        learning_rate=0.005,
        jitter=0.01,
        step_s=2 * epoch_s_of_reference() / STEPS_OF_DIGITS,
        accuracies=(0.5, 0.6, 0.7),
    )
    bundle = make_bundle(folder / "run", own)
    edit_json(bundle, "system.json", lambda system: system.update(cpu_model="Own(R) Processor 7"))
    return build_site([bundle], folder / "site", options=SiteOptions(beside_reference=True)).parent


def test_one_sentence_says_how_many_times_a_named_machine(own_site: Path) -> None:
    page = (own_site / "index.html").read_text()
    said = re.search(r'<p class="answer">(.*?)<small>(.*?)</small>', page)
    assert said
    sentence = (
        r"Own 7 trains an epoch of LeNet-5 on digits with PyTorch in (.*) s: (.*) times as long as"
        r" the reference machine, .*, which takes (.*) s\."
    )
    found = re.search(sentence, said[1])
    assert found and [float(number) for number in found.groups()] == pytest.approx(
        [2 * epoch_s_of_reference(), 2, epoch_s_of_reference()], rel=0.05
    )
    assert "an interval needs 3 runs; you have 1" in said[2]


def test_the_owner_s_row_stands_among_all_three_frameworks(own_site: Path) -> None:
    page = (own_site / "index.html").read_text()
    row = r'(?s)<tr data-name="(.*?)"[^>]*?( class="own")?><td.*?href="(entries/\w+\.html)'
    rows = re.findall(row, page)
    assert sorted(name.split(", ", 1)[1] for name, *_ in rows) == [
        "Chainer (reference)",
        "PyTorch (reference)",
        "PyTorch (yours)",
        "TensorFlow (reference)",
    ]
    assert [name for name, own, _ in rows if own] == ["Own 7, PyTorch (yours)"]
    assert all((own_site / place).is_file() for *_, place in rows)
    values = [float(value) for value in re.findall('data-value="(.*?)"', page)]
    assert len(values) == 4 and values[:3] == sorted(values[:3]), "the lowest one is first"
    said = re.search(r"Accuracy: [\d.]+ %; target 97 %, not reached\.", page)
    assert said, "quality beside time"
    assert "is the standard deviation of the epoch times within the run" in page
    assert 'id="accuracy"' in page, "the curve of the run"


def test_it_says_what_was_not_measured_and_what_to_type_next(own_site: Path) -> None:
    page = (own_site / "index.html").read_text()
    assert "energy of the run: no power sensor was read" in page
    assert "--framework pytorch --seed $seed" in page and "suite doctor" in page


def test_the_reference_results_comply() -> None:
    assert api.check([REFERENCE]).complies


@pytest.mark.browser
def test_the_first_page_has_no_serious_violation(own_site: Path, tab: Tab) -> None:
    for dark in (False, True):
        tab.look(NARROW, dark)
        tab.open((own_site / "index.html").as_uri())
        assert (
            violations(tab) == [] and tab.run("document.documentElement.scrollWidth") <= NARROW[0]
        )


def test_a_refused_run_is_shown_with_what_helps(tmp_path: Path) -> None:
    bundle = make_bundle(tmp_path / "run", Scenario(name="own", division="open", data="digits"))
    edit_json(
        bundle,
        "summary.json",
        lambda summary: summary["figures"]["time_to_epoch_s"].update(value=0.001),
    )  # type: ignore[index]
    page = build_site(
        [bundle], tmp_path / "site", options=SiteOptions(beside_reference=True)
    ).read_text()
    assert "None of your runs is accepted" in page and "What helps:" in page


def test_a_run_on_generated_data_is_named_beside_reference_results(tmp_path: Path) -> None:
    """It is on no leaderboard, and its entry's page leads back to where it is named."""
    bundle = make_bundle(tmp_path / "run", Scenario(name="own", division="open"))
    edit_json(bundle, "run.json", lambda run: run["request"]["data"].update(synthetic=True))
    page = build_site(
        [bundle], tmp_path / "site", options=SiteOptions(beside_reference=True)
    ).read_text()
    assert "None of your runs is on a leaderboard." in page
    named = page.partition('<section id="generated">')[2]
    assert f'href="runs/{builders.run_id("own")}/index.html"' in named
