"""The site in a real browser, as files: sorting, filters, limits, addresses, files, keyboard, dark, narrow, without network or complaint."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

from reporter.site import build
from tests.browser import Tab, browser

pytestmark = pytest.mark.browser
BOARD = "boards/lenet-closed-mnist.html"


@pytest.fixture(scope="module")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build([runs], tmp_path_factory.mktemp("out") / "site").parent


@pytest.fixture(scope="module")
def one_browser() -> Iterator[Tab]:
    with browser() as opened:
        yield opened


@pytest.fixture
def tab(one_browser: Tab) -> Iterator[Tab]:
    """A tab; whatever the test did, nothing was complained of and nothing was asked for but files."""
    one_browser.look(1300, 900)
    one_browser.errors.clear()
    one_browser.requests.clear()
    yield one_browser
    assert one_browser.errors == []
    assert not [address for address in one_browser.requests if not address.startswith(("file:", "data:", "about:", "blob:"))]


def shown(tab: Tab) -> list[str]:
    """The frameworks of the rows that are shown, in order."""
    rows = "[...document.querySelectorAll('#board tbody tr')].filter((row) => !row.hidden).map((row) => row.cells[2].textContent.trim())"
    return list(tab.run(rows))


def set_value(tab: Tab, selector: str, value: object) -> None:
    """Choose a value as a reader does."""
    tab.run(
        f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.value = {json.dumps(value)};"
        " field.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )


def click(tab: Tab, selector: str) -> None:
    tab.run(f"document.querySelector({json.dumps(selector)}).click()")


def test_every_page_opens_without_complaint(tab: Tab, site: Path) -> None:
    for page in sorted(site.rglob("*.html")):
        tab.open(page.as_uri())
        assert tab.run("document.querySelector('h1').textContent.trim().length") > 0, page


def test_a_heading_sorts_and_unknown_values_stay_last(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    assert shown(tab)[-1] == "chainer"
    click(tab, "th[data-key=time_to_epoch_s] button")
    up = shown(tab)
    click(tab, "th[data-key=time_to_epoch_s] button")
    assert up[-1] == "chainer" and shown(tab) == up[::-1]
    assert tab.run("document.querySelector('th[data-key=time_to_epoch_s]').getAttribute('aria-sort')") == "descending"


def test_the_keyboard_sorts_too(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    tab.run("document.querySelector('th[data-key=framework] button').focus()")
    tab.press("Enter", 13)
    assert shown(tab) == ["chainer", "pytorch", "tensorflow"]


def test_a_view_is_in_its_address(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    click(tab, "th[data-key=peak_rss_bytes] button")
    set_value(tab, "select[name=framework]", "chainer")
    click(tab, "#columns label:nth-child(3) input")
    view = tab.run("[document.querySelector('#board').innerText, document.querySelector('#count').textContent]")
    address = tab.run("location.href")
    assert "framework=chainer" in address
    tab.open(address)
    assert tab.run("[document.querySelector('#board').innerText, document.querySelector('#count').textContent]") == view
    assert shown(tab) == ["chainer"]
    click(tab, "button[type=reset]")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert len(shown(tab)) == 3 and "#" not in tab.run("location.href")


def test_a_nonsense_address_does_no_harm(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri() + "#?framework=%3Cscript%3E&max.energy_per_epoch_j=NaN&sort=__proto__.up&columns=&relative=x")
    assert len(shown(tab)) == 3


def test_limits_leave_what_fits_them_and_the_front_among_it(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    front = "document.querySelector('#time-energy path.front').getAttribute('d')"
    whole = tab.run(front)
    set_value(tab, "input[name=mean_power_w]", 100)
    assert "chainer" not in shown(tab) and len(shown(tab)) == 2
    assert "2 of 3 entries" in tab.run("document.querySelector('#count').textContent")
    assert tab.run("document.querySelectorAll('#time-energy g.out').length") == 1
    set_value(tab, "input[name=mean_power_w]", 200)
    set_value(tab, "input[name=time_to_target_s]", 0)
    assert len(shown(tab)) == 1 and tab.run("document.querySelectorAll('#board tr.front:not([hidden])').length") == 1
    click(tab, "button[type=reset]")
    tab.run("new Promise((done) => setTimeout(done, 50))")
    assert tab.run(front) == whole, "the script draws the same front as the figure had"


def test_numbers_relative_to_the_best_and_to_a_baseline(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    of_column = "[...document.querySelectorAll('#board tbody tr')].map((row) => row.cells[4].textContent)"
    measured = tab.run(of_column)
    set_value(tab, "#relative", "best")
    assert tab.run(of_column)[0] == "1.00×" and all(text.endswith("×") for text in tab.run(of_column))
    set_value(tab, "#relative", tab.run("document.querySelector('#board tbody tr:last-child').id.slice(2)"))
    assert tab.run(of_column)[-1] == "1.00×" and float(tab.run(of_column)[0][:-1]) < 1
    set_value(tab, "#relative", "")
    assert tab.run(of_column) == measured


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_files_hold_exactly_what_is_shown(kind: str, tab: Tab, site: Path, tmp_path: Path) -> None:
    tab.open((site / BOARD).as_uri() + "#?framework=chainer&columns=framework,time_to_target_s,energy_per_epoch_j")
    catch = "URL.createObjectURL = (blob) => { window.saved = blob; return 'data:,'; }; HTMLAnchorElement.prototype.click = () => {}; 0"
    tab.run(catch)
    click(tab, f"[data-save={kind}]")
    content = bytes(tab.run("window.saved.arrayBuffer().then((buffer) => [...new Uint8Array(buffer)])"))
    (tmp_path / kind).write_bytes(content)
    read: dict[str, Any] = {"csv": pandas.read_csv, "json": pandas.read_json, "parquet": pandas.read_parquet}
    frame = read[kind](tmp_path / kind)
    names = ["entry_id", "rank", "framework", "time_to_target_s", "time_to_target_s_spread", "energy_per_epoch_j", "energy_per_epoch_j_spread"]
    assert list(frame.columns) == names
    whole = pandas.read_csv(site / "data" / "lenet-closed-mnist.csv").set_index("framework").loc["chainer"]
    row = frame.iloc[0]
    assert (row["framework"], row["entry_id"]) == ("chainer", whole["entry_id"])
    assert row["time_to_target_s"] == whole["time_to_target_s"] and row["energy_per_epoch_j_spread"] == whole["energy_per_epoch_j_spread"]


def test_a_cell_leads_to_its_evidence(tab: Tab, site: Path) -> None:
    tab.open((site / BOARD).as_uri())
    tab.open(tab.run("document.querySelector('#board tbody tr:last-child td:nth-child(5) a').href"))
    tab.open(tab.run("document.querySelector(':target a[href*=\"runs/\"]').href"))
    assert tab.run("document.querySelector(':target th').textContent").startswith("time to target")
    assert "eval_accuracy" in tab.run("document.querySelector(':target a[href^=\"#line-\"]:last-of-type').textContent")


def test_dark_and_light_differ_and_both_can_be_read(tab: Tab, site: Path) -> None:
    colours = {}
    for dark in (False, True):
        tab.look(1300, 900, dark)
        tab.open((site / "index.html").as_uri())
        colours[dark] = tab.run("['backgroundColor', 'color'].map((name) => getComputedStyle(document.body)[name])")
    assert colours[False] != colours[True]
    assert all(contrast(*pair) > 7 for pair in colours.values())


def contrast(one: str, other: str) -> float:
    """WCAG 2's contrast of two colours, as rgb(r, g, b)."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("page", ["index.html", BOARD, "frameworks.html", "runs/lenet-pytorch-1/index.html", "devices/orin.html", "rules.html"])
def test_a_narrow_screen_never_scrolls_sideways(page: str, tab: Tab, site: Path) -> None:
    tab.look(360, 740)
    tab.open((site / page).as_uri())
    assert tab.run("document.documentElement.scrollWidth") <= 360
