"""The site in a browser, from files: sorting, filters, limits, addresses, downloads, keyboard,
dark, narrow; no errors, no network."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas
import pytest

import reporter
from reporter.board.making import make_boards
from reporter.figures.radar import AXES, MIN_AXES
from reporter.pages.board_view import instrument
from reporter.pages.shared import CHART_STYLE
from reporter.site import STATIC, build_site
from tests.browser import NARROW, Tab
from tests.builders import run_id
from tests.every_case import one_of_each, some
from tests.open_round import SLUG
from tests.reporter.figures.test_figures import radar_of
from tests.reporter.gallery import make_template, many_entries, render

pytestmark = pytest.mark.browser
BOARD = f"boards/lenet-closed-mnist-{SLUG}.html"


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site([runs], tmp_path_factory.mktemp("out") / "site").parent


def shown(tab: Tab) -> list[str]:
    """The frameworks of the shown rows, in order."""
    rows = (
        "[...document.querySelectorAll('#board tbody tr')].filter((row) => !row.hidden).map((row)"
        " => row.cells[2].textContent.trim())"
    )
    return list(tab.run(rows))


def of_every_kind(site: Path) -> Sequence[Path]:
    """A page of each folder; in a proof every page."""
    return one_of_each(sorted(site.rglob("*.html")), lambda page: page.relative_to(site).parts[0])


def test_every_page_opens_without_errors(tab: Tab, whole_site: Path) -> None:
    for page in of_every_kind(whole_site):
        tab.open(page.as_uri())
        assert tab.page.inner_text("h1").strip(), page


def test_a_heading_sorts_and_unknown_values_stay_last(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    assert shown(tab)[-1] == "Chainer"
    tab.page.click("#board th[data-key=score_s] button")
    up = shown(tab)
    tab.page.click("#board th[data-key=score_s] button")
    assert up[-1] == "Chainer" and shown(tab) == up[::-1]
    assert tab.page.get_attribute("#board th[data-key=score_s]", "aria-sort") == "descending"


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a table of 1,000 rows; ``parsed`` and ``begun`` count the rows laid out before
    and after the script ran."""
    rows = "".join(
        f"<tr id=row{number}><td data-v={number * 7919 % 1000}>{number}</td></tr>"
        for number in range(1000)
    )
    table = (
        "<table class='sortable board'><thead><tr><th"
        f" class=n>number</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    script, style = (STATIC / "site.js").as_uri(), (STATIC / "site.css").as_uri()
    parsed, begun = (
        f"parsed = {LAID_OUT}.length",
        f"addEventListener('DOMContentLoaded', () => begun = {LAID_OUT}.length)",
    )
    page = tmp_path_factory.mktemp("rows") / "page.html"
    begin = f"<!doctype html><title>rows</title><link rel=stylesheet href={style}>"
    page.write_text(
        f"{begin}<script defer src={script}></script>{table}<script>{parsed}; {begun}</script>"
    )
    return page.as_uri()


LAID_OUT = (
    "[...document.querySelectorAll('tbody tr')].filter((row) => getComputedStyle(row).display !=="
    " 'none')"
)
NUMBERS = f"{LAID_OUT}.map((row) => Number(row.cells[0].dataset.v))"


def test_many_rows_are_laid_out_in_steps(tab: Tab, many_rows: str) -> None:
    """The first 120 rows are shown before the others are laid out, on opening and on sorting;
    printed pages have all rows."""
    tab.open(many_rows)
    assert tab.run("[parsed, begun]") == [120, 120]
    tab.page.wait_for_selector("tr.later", state="detached")
    assert tab.run(NUMBERS) == [number * 7919 % 1000 for number in range(1000)]
    assert tab.run(f"(document.querySelector('th button').click(), {NUMBERS})") == list(range(120))
    tab.page.wait_for_selector("tr.later", state="detached")
    assert tab.run(NUMBERS) == list(range(1000))
    tab.open(f"{many_rows}#row900")
    assert tab.run("begun") == 121 and tab.run("scrollY") > 0, (
        "the row that a link points to does not wait"
    )
    tab.look(paper=True)
    assert len(tab.run(f"(document.querySelector('th button').click(), {NUMBERS})")) == 1000


def test_the_keyboard_alone_skips_sorts_limits_and_follows(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    tab.page.keyboard.press("Tab")
    assert tab.run("document.activeElement.className") == "skip"
    tab.page.keyboard.press("Enter")
    for _ in range(80):
        tab.page.keyboard.press("Tab")
        if tab.run("document.activeElement.closest('th[data-key=framework]') !== null"):
            break
    tab.page.keyboard.press("Enter")
    assert shown(tab) == ["Chainer", "PyTorch", "TensorFlow"]
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid", (
        "the keyboard focus is visible"
    )
    tab.page.focus("#filters > summary")
    tab.page.keyboard.press("Enter")
    tab.page.focus("input[name=mean_power_w]")
    tab.page.keyboard.press("Home")
    power = pandas.read_csv(site / "data" / f"{Path(BOARD).stem}.csv").set_index("framework")[
        "mean_power_w"
    ]
    assert [name.lower() for name in shown(tab)] == [power.idxmin()], (
        "the slider's left end is the lowest power"
    )
    tab.page.keyboard.press("Escape")
    assert (
        not tab.page.is_visible("#facets")
        and tab.run("document.activeElement.parentElement.id") == "filters"
    )
    tab.page.focus("#board tbody tr:not([hidden]) a")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_url("**/entries/*.html")


def test_a_view_is_in_its_address(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    tab.page.click("#board th[data-key=peak_memory_bytes] button")
    tab.page.click("#filters > summary")
    tab.page.check("input[name=framework][value=Chainer]")
    tab.page.click("#view > summary")
    tab.page.click("#columns label:nth-of-type(3) input")
    view = tab.page.inner_text("#board"), tab.page.inner_text("#count")
    address = tab.page.url
    assert "framework=Chainer" in address
    tab.open(address)
    assert (tab.page.inner_text("#board"), tab.page.inner_text("#count")) == view
    assert shown(tab) == ["Chainer"]
    tab.page.click("#tools button[type=reset]")
    tab.page.wait_for_url(lambda url: "#" not in url)
    assert len(shown(tab)) == 3


def test_an_invalid_address_is_ignored(tab: Tab, site: Path) -> None:
    tab.open(
        (site / BOARD).as_uri()
        + "#?framework=%3Cscript%3E&max.energy_per_epoch_j=NaN&sort=__proto__.up&columns=&relative=x"  # noqa: E501
    )
    assert len(shown(tab)) == 3
    said = tab.page.inner_text("#count")
    assert "ignored" in said and "framework=<script>" in said, "not silently everything"


def test_limits_hide_rows_and_move_the_pareto_front(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    front = "document.querySelector('#time-energy path.front').getAttribute('d')"
    whole = tab.run(front)
    tab.page.click("#filters > summary")
    tab.page.fill("input[name=mean_power_w]", "100")
    assert tab.page.inner_text("#active") == "1"
    assert "Chainer" not in shown(tab) and len(shown(tab)) == 2
    assert "2 of 3 entries" in tab.page.inner_text("#count")
    assert (
        tab.page.locator("#time-energy svg:first-child g.out").count()
        == tab.page.locator("#time-energy svg + svg g.out").count()
        == 1
    )
    tab.page.fill("input[name=mean_power_w]", "200")
    tab.page.fill("input[name=score_s]", "0")
    assert len(shown(tab)) == 1 and tab.page.locator("#board tr.front:not([hidden])").count() == 1
    tab.page.click("#tools button[type=reset]")
    tab.page.wait_for_url(lambda url: "#" not in url)
    assert tab.run(front) == whole, "the script draws the same front as the figure had"
    entries = "[...board.tBodies[0].rows].map((row) => [row.id.slice(2), [9, 9]])"
    faint = f"new Map([['faint', [0, 0]], ...{entries}])"
    tab.run(f"drawFront(document.querySelector('#time-energy svg'), {faint})")
    assert tab.run(front) == "", "no line passes by a faint dot that is on the front"


def test_numbers_relative_to_the_best_and_to_a_baseline(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    of_column = (
        "[...document.querySelectorAll('#board tbody tr')].map((row) => row.cells[3].textContent)"
    )
    measured = tab.run(of_column)
    tab.page.click("#view > summary")
    tab.page.select_option("#relative", "best")
    assert tab.run(of_column)[0] == "1.00 ×the best" and all(
        "×" in text for text in tab.run(of_column)
    ), "a relative number has its unit"
    tab.page.select_option(
        "#relative", tab.run("document.querySelector('#board tbody tr:last-child').id.slice(2)")
    )
    assert (
        tab.run(of_column)[-1].startswith("1.00 ×")
        and float(tab.run(of_column)[0].split(" ")[0]) < 1
    )
    tab.page.select_option("#relative", "")
    assert tab.run(of_column) == measured


@pytest.mark.parametrize("kind", some(["csv", "json", "parquet"]))
def test_downloads_hold_exactly_the_shown_rows_and_columns(
    kind: str, tab: Tab, site: Path, tmp_path: Path
) -> None:
    tab.open(
        (site / BOARD).as_uri() + "#?framework=Chainer&columns=time_to_target_s,energy_per_epoch_j"
    )
    with tab.page.expect_download() as download:
        tab.page.click(".menu:has([data-save]) > summary")
        tab.page.click(f"[data-save={kind}]")
    assert download.value.suggested_filename == f"lenet-closed-mnist-{SLUG}.{kind}"
    download.value.save_as(tmp_path / kind)
    read: dict[str, Any] = {
        "csv": pandas.read_csv,
        "json": partial(pandas.read_json, precise_float=True),
        "parquet": pandas.read_parquet,
    }
    frame = read[kind](tmp_path / kind)
    always = [
        "score_s",
        "score_s_spread",
        "score_energy_j",
        "score_energy_j_spread",
        "peak_memory_mib",
        "peak_memory_mib_spread",
        "runs",
    ]
    chosen = [
        "time_to_target_s",
        "time_to_target_s_spread",
        "energy_per_epoch_j",
        "energy_per_epoch_j_spread",
    ]
    names = ["entry_id", "rank", "device", "framework", *always, *chosen, "energy"]
    assert list(frame.columns) == names and frame["energy"].notna().all(), "with its instrument"
    whole = (
        pandas.read_csv(site / "data" / f"lenet-closed-mnist-{SLUG}.csv")
        .set_index("framework")
        .loc["chainer"]
    )
    row = frame.iloc[0]
    assert (row["framework"], row["entry_id"]) == ("Chainer", whole["entry_id"])
    assert (
        row["time_to_target_s"] == whole["time_to_target_s"]
        and row["energy_per_epoch_j_spread"] == whole["energy_per_epoch_j_spread"]
    )


TOO_SHORT = {
    **dict.fromkeys(("value", "low", "high", "spread")),
    "reason": "an epoch contains fewer than two readings",
}


@pytest.mark.parametrize("without", [(), ("energy_per_epoch_j", "mean_power_w")])
@pytest.mark.parametrize(("entries", "instruments"), [(2, 1), (4, 2)])
def test_energies_without_an_expected_one_are_saved_and_compared_by_instrument(
    entries: int, instruments: int, without: Sequence[str], tab: Tab, tmp_path: Path
) -> None:
    """An entry at a batch size without a reference point has the energy of an epoch only; a board
    of entries with too short epochs has that of trainings only."""
    template = make_template(tmp_path / "run")
    figures = [row | (TOO_SHORT if row["figure"] in without else {}) for row in template.figures]
    frames = many_entries(replace(template, figures=figures), entries)
    (board,) = make_boards(frames)
    named = [instrument(row) for row in board.accepted]
    assert len(set(named)) == instruments and (board.energy is None) == bool(without)
    tab.open((render(frames, tmp_path / "site") / BOARD).as_uri())
    tab.run("document.querySelector('#board .by')?.remove()")
    with tab.page.expect_download() as download:
        tab.page.click(".menu:has([data-save]) > summary")
        tab.page.click("[data-save=csv]")
    download.value.save_as(tmp_path / "saved.csv")
    assert pandas.read_csv(tmp_path / "saved.csv")["energy"].tolist() == named
    tab.page.click("#view > summary")
    tab.page.select_option("#relative", "best")
    head = "[...document.querySelectorAll('#board th')].findIndex((one) => 'energy' in one.dataset)"
    rows = "[...document.querySelectorAll('#board tbody tr')]"
    cells = tab.run(f"{rows}.map((row) => row.cells[{head}].textContent)")
    assert sum(cell.startswith("1.00 ×") for cell in cells) == instruments, "each has its best"


def test_a_cell_links_to_its_evidence(tab: Tab, site: Path) -> None:
    """From a number of the leaderboard to its entry, its run and the line of the log."""
    tab.open((site / BOARD).as_uri())
    tab.page.click("#board tbody tr:last-child summary")
    tab.page.click("#board tbody tr:last-child td a[href$='#time_to_target_s']")
    assert tab.page.inner_text("th:target").startswith("measured time to target")
    tab.page.click('tr:has(:target) a[href*="runs/"]')
    assert tab.page.inner_text("th:target").startswith("measured time to target")
    tab.page.click("tr:has(:target) td a")
    tab.page.click(':target a[href^="#line-"]:last-of-type')
    assert "eval_accuracy" in tab.page.inner_text(":target")


def test_every_download_exists(tab: Tab, whole_site: Path) -> None:
    page = whole_site / "runs" / run_id("lenet-pytorch-1") / "index.html"
    tab.open(page.as_uri())
    for address in tab.run(
        "[...document.querySelectorAll('a[download]')].map((link) => link.getAttribute('href'))"
    ):
        assert (page.parent / address).resolve().is_file(), address


def test_dark_and_light_differ_and_both_can_be_read(tab: Tab, site: Path) -> None:
    colours = {}
    for dark in (False, True):
        tab.look(dark=dark)
        tab.open((site / "index.html").as_uri())
        colours[dark] = tab.run(
            "['backgroundColor', 'color'].map((name) => getComputedStyle(document.body)[name])"
        )
    assert colours[False] != colours[True]
    assert all(contrast(*pair) > 7 for pair in colours.values())


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast of two colours, as rgb(r, g, b)."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("axes", some(range(MIN_AXES, len(AXES) + 1)))
def test_the_labels_of_a_radar_are_not_cut_off(
    axes: int, tab: Tab, runs: Path, tmp_path: Path
) -> None:
    """With the text widths of the browser."""
    svg = radar_of(reporter.load([runs]), axes).svg
    width, height = map(float, re.findall(r'viewBox="0 0 (\S+) (\S+)"', svg)[0])
    shutil.copy(CHART_STYLE, tmp_path / "chart.css")
    (tmp_path / "radar.html").write_text(
        "<!doctype html><meta charset=utf-8><title>radar</title><link rel=stylesheet"
        f" href=chart.css>{svg}"
    )
    tab.open((tmp_path / "radar.html").as_uri())
    corners = (
        "((box) => [text.textContent, box.x, box.y, box.x + box.width, box.y +"
        " box.height])(text.getBBox())"
    )
    for text, left, top, right, bottom in tab.run(
        f"[...document.querySelectorAll('text')].map((text) => {corners})"
    ):
        assert left >= 0 and top >= 0 and right <= width and bottom <= height, text


def test_a_narrow_screen_never_scrolls_sideways(tab: Tab, whole_site: Path) -> None:
    tab.look(NARROW)
    for page in of_every_kind(whole_site):
        tab.open(page.as_uri())
        assert tab.run("document.documentElement.scrollWidth") <= NARROW[0], page


def test_the_figures_of_a_run_are_within_a_phone_s_width(tab: Tab, site: Path) -> None:
    """Name, value, spread and unit: nothing to scroll to, as in the table of a wide screen."""
    tab.look(NARROW)
    tab.open(next(iter(sorted(site.glob("runs/*/index.html")))).as_uri())
    right = (
        "Math.max(...[...document.querySelectorAll('#figures tbody :is(th, td)')].map((cell) =>"
        " cell.getBoundingClientRect().right))"
    )
    assert 0 < tab.run(right) <= NARROW[0]


def test_a_run_s_page_begins_with_what_came_out(tab: Tab, site: Path) -> None:
    """The sentence, the verdict and three cards are in a phone's first view, with the digits that
    an interval leaves; what is needed to check them is folded, and an address opens it."""
    tab.look((390, 664))
    page = site / "runs" / run_id("lenet-chainer-1", "chainer") / "index.html"
    tab.open(page.as_uri())
    assert re.search(
        r"^Chainer on .*, seed 1, reached 99 % in [\d.]+ s\.$", tab.page.inner_text("h1")
    )
    cards = tab.page.locator(".numbers li")
    assert cards.count() == 3 and "complies" in tab.page.inner_text(".lead")
    box = cards.nth(2).bounding_box()
    assert box is not None and box["y"] + box["height"] <= 664
    cited = tab.run("document.querySelector('.log li').id")
    tab.open(f"{page.as_uri()}#{cited}")
    assert tab.page.is_visible(f"#{cited}")


def test_the_checked_rules_are_filtered_by_words_and_an_address_opens_one(
    tab: Tab, site: Path
) -> None:
    tab.open((site / "checks.html").as_uri())
    tab.page.fill(".find input", "WITNESS clock")
    shown = tab.page.locator(".book .fold:visible")
    texts = [text.lower() for text in shown.all_text_contents()]
    assert texts and all("witness" in text and "clock" in text for text in texts)
    assert tab.page.inner_text(".find output") == f"{len(texts)} rule{'s' * (len(texts) > 1)}"
    tab.page.fill(".find input", "")
    assert not tab.page.is_visible("details:has(#closed-data) ul")
    tab.open(f"{(site / 'checks.html').as_uri()}#closed-data")
    assert tab.page.is_visible("details:has(#closed-data) ul")


def test_printed_pages_have_figures_and_no_controls(tab: Tab, site: Path) -> None:
    tab.look(paper=True)
    tab.open((site / BOARD).as_uri())
    assert not tab.page.is_visible("#tools") and not tab.page.is_visible("nav")
    assert tab.page.locator(".dots:visible summary:visible").count() > 0, "rows have their names"
    assert tab.page.is_visible("#board") and tab.page.is_visible("#time-energy svg")
    assert tab.page.is_visible("#board td[data-v] a[href$='#score_s']") and not tab.page.is_visible(
        "#board summary"
    )
    assert tab.run("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible", (
        "nothing is cut off at a table's right"
    )


def test_pages_are_complete_without_scripts(tab: Tab, site: Path, many_rows: str) -> None:
    context = tab.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    try:
        page = context.new_page()
        page.goto((site / BOARD).as_uri())
        assert (
            page.locator("#board tbody tr").count() == 3
            and page.is_visible("#time-energy svg")
            and not page.is_visible("#tools")
        )
        page.goto(many_rows)
        assert page.locator("tbody tr:visible").count() == 1000
    finally:
        context.close()
