"""What a reader sees first, by position in a real browser: the sentence, and the first five devices
with number, dot and whisker, on boards of 34 and of 1,000 entries and at three widths."""

import html
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from reporter.board.boards import Leaderboard
from reporter.board.dot_chart import time_chart
from reporter.board.making import make_boards
from reporter.data.frames import Frames
from reporter.pages.headlines import headline
from tests.browser import Tab
from tests.every_case import some
from tests.open_round import OPEN
from tests.reporter.gallery import make_template, many_entries, render
from tests.reporter.test_accessibility import violations

pytestmark = pytest.mark.browser

WIDE = (1440, 800)
SIZES = some(((390, 664), (768, 1024), WIDE))
LONG = "a name that goes on " * 8
NAMES = {
    "device": LONG,
    "framework": '"><img src=x onerror="document.title=\'owned\'">',
    "power_mode": "W" * 140,
    "organization": LONG,
}
MAX_FOCUSED = 200
"""Elements that the keyboard reaches on a board of 34 entries."""
REACHED = """[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')].filter(
    (one) => one.tabIndex >= 0 && one.checkVisibility())"""  # noqa: E501


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Frames:
    template = make_template(tmp_path_factory.mktemp("bundle") / "run")
    return many_entries(template, 34, ("lenet", "resnet18"))


@pytest.fixture(scope="module")
def site(frames: Frames, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return render(frames, tmp_path_factory.mktemp("site"))


def page_of(site: Path, board: Leaderboard) -> str:
    return (site / "boards" / f"{board.slug}.html").as_uri()


def boxes(tab: Tab, text: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of every element whose own text this is and that nothing covers
    or cuts off."""
    script = """(text) => [...document.querySelectorAll('main *')].filter((one) => one.childNodes.length && [...one.childNodes].some(
        (node) => node.nodeType === 3 && node.textContent.trim() === text)).map((one) => {
        const range = document.createRange();
        range.selectNodeContents([...one.childNodes].find((node) => node.nodeType === 3 && node.textContent.trim() === text));
        const { left, top, right, bottom } = range.getBoundingClientRect();
        const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        const cut = one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== 'visible';
        return seen && (one.contains(seen) || seen.contains(one)) && !cut ? [left, top, right, bottom] : null; }).filter(Boolean)"""  # noqa: E501
    return [tuple(box) for box in tab.page.evaluate(script, text)]


def is_inside(box: tuple[float, float, float, float], size: tuple[int, int]) -> bool:
    left, top, right, bottom = box
    return 0 <= left < right <= size[0] and 0 <= top < bottom <= size[1]


def the_answer_is_in_the_first_view(board: Leaderboard, size: tuple[int, int], tab: Tab) -> None:
    """The sentence's end, and of the first five devices name, number, dot and whisker."""
    assert tab.run("scrollY") == 0
    bottom = "document.querySelector('h1').getBoundingClientRect().bottom"
    assert tab.page.inner_text("h1") == headline(board).text and tab.run(bottom) < size[1]
    rows = tab.page.locator(".v:not([hidden]) .dots tbody tr")
    for row in time_chart(board).rows[:5]:
        for text in (row.name, row.cell.quantity):
            assert any(is_inside(box, size) for box in boxes(tab, text)), (
                f"{text!r} is not in the first view of {board.slug} at {size}"
            )
        assert row.dot is not None and row.dot.low is not None
        for mark in (".d", ".w"):
            box = rows.nth(row.place - 1).locator(f"svg {mark}").bounding_box()
            assert box is not None and 0 <= box["x"] < box["x"] + box["width"] <= size[0]
            assert box["y"] + box["height"] <= size[1] + 1, (mark, row.name, box)
    # the axis's lines are elsewhere in the page, and take their colour from where they are used
    assert tab.run("getComputedStyle(document.querySelector('tbody use')).stroke") != "none"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_sentence_and_the_first_five_devices_are_in_the_first_view(
    size: tuple[int, int], frames: Frames, site: Path, tab: Tab
) -> None:
    tab.look(size)
    first, *others = make_boards(frames)
    tab.open(page_of(site, first))
    the_answer_is_in_the_first_view(first, size, tab)
    tab.open((site / "index.html").as_uri())
    heaviest = next(board for board in (first, *others) if board.workload == "resnet18")
    the_answer_is_in_the_first_view(heaviest, size, tab)


@pytest.mark.proof
def test_on_a_phone_what_to_choose_by_is_in_view(frames: Frames, site: Path, tab: Tab) -> None:
    tab.look((390, 664))
    tab.open(page_of(site, make_boards(frames)[0]))
    for one in (
        *(f"label:has([value={name}])" for name in ("time", "energy", "memory")),
        "nav.tabs",
    ):
        box = tab.page.locator(f".choose {one} >> nth=0").bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390, one


@pytest.mark.proof
def test_so_they_are_at_a_thousand_entries(tab: Tab, tmp_path: Path) -> None:
    frames = many_entries(make_template(tmp_path / "run"), 1000)
    site, (board,) = render(frames, tmp_path / "site"), make_boards(frames)
    for size in SIZES:
        tab.look(size)
        for page in (page_of(site, board), (site / "index.html").as_uri()):
            tab.open(page)
            the_answer_is_in_the_first_view(board, size, tab)


def test_a_row_opens_a_panel_is_hidden_and_compared_and_the_address_keeps_it(
    frames: Frames, site: Path, tab: Tab
) -> None:
    """Ratios are to the best of the rows that are shown."""
    tab.look(SIZES[-1])
    tab.open(page_of(site, make_boards(frames)[0]))
    rows = (
        "[...document.querySelectorAll('.dots tbody tr')].filter((row) => row.checkVisibility())"
        ".map((row) => [row.dataset.name, row.cells[3].firstChild.textContent])"
    )
    tab.page.click(".dots:visible summary:has-text('Jetson AGX Thor')")
    panel = tab.page.locator(".panel:visible")
    assert "best of 2 settings" in panel.inner_text() and panel.locator("a").count() == 2
    panel.get_by_label("this system costs, in your currency,").fill("500")
    panel.get_by_label("a kWh costs").fill("0.3")
    assert "0.00458 for its share of three years of the system, " in panel.inner_text()
    assert "price=500+Jetson+AGX+Thor" in tab.page.url
    tab.run("document.querySelector('tr:has(details[open] > .panel)').dataset.time = ''")
    panel.get_by_label("a kWh costs").fill("0.4")
    assert "three years" not in panel.inner_text(), "of an unknown time"
    panel.get_by_text("Hide this row").click()
    assert tab.run(rows)[0] == ["Jetson AGX Orin", "best"]
    assert tab.run(rows)[1] == ["Jetson Orin NX", "×2.1"]
    tab.page.fill("[name=find]", "nvidia 8 gb")
    assert {name for name, _ in tab.run(rows)} == {
        "Jetson Orin NX",
        "Jetson Orin Nano",
        "Jetson Xavier NX",
    }
    tab.page.fill("[name=watts]", "18")
    assert tab.run(rows)[0] == ["Jetson Orin NX", "best"], "one of its settings fits"
    fitting = tab.page.locator("tr[data-name='Jetson Orin NX']:visible")
    assert fitting.locator("th > small").inner_text() == "PyTorch · MODE_25W"
    assert fitting.locator(".beside small").inner_text().startswith("13.")
    assert [name for name, _ in tab.run(rows)[1:]] == ["Jetson Orin Nano", "Jetson Xavier NX"]
    tab.page.fill("[name=watts]", "")
    assert "MAXN_SUPER" in fitting.locator("th > small").inner_text()
    tab.page.fill("[name=find]", "raspberry")
    assert {name for name, _ in tab.run(rows)} == {
        "4 × Raspberry Pi 5",
        "Raspberry Pi 5",
        "Raspberry Pi 4",
    }
    address = tab.page.url
    tab.open(address)
    assert "hide=Jetson+AGX+Thor" in address and len(tab.run(rows)) == 3
    answer = tab.page.locator("h1")
    assert answer.inner_text().startswith("Rows shown: 3 of 11. The first: 4 × Raspberry Pi 5, ")
    assert tab.page.locator("h1 + .lead").inner_text().startswith("Of all rows, by time: Jetson")
    tab.page.click(".find button")
    tab.page.wait_for_url(lambda url: "#" not in url)
    assert tab.run(rows)[0] == ["Jetson AGX Thor", "fastest"]
    assert answer.inner_text().startswith("Jetson AGX Thor trains ")


def test_a_price_is_that_of_the_system_whose_entry_a_row_shows(
    frames: Frames, site: Path, tab: Tab
) -> None:
    tab.look(SIZES[-1])
    tab.open(f"{page_of(site, make_boards(frames)[0])}#?per=framework")
    tab.page.click(".dots:visible summary:has-text('PyTorch')")
    panel = tab.page.locator(".panel:visible")
    price = panel.get_by_label("this system costs, in your currency,")
    price.fill("2000")
    assert "price=2000+Jetson+AGX+Thor" in tab.run("location.hash")
    tab.page.fill("[name=find]", "raspberry")
    assert price.input_value() == "" and "three years" not in panel.inner_text()
    tab.page.fill("[name=find]", "")
    assert price.input_value() == "2000" and "three years" in panel.inner_text()


def test_the_address_keeps_the_views_of_all_tables_of_a_page(site: Path, tab: Tab) -> None:
    """A row that only the first leaderboard of a device has stays hidden."""
    text = (site / "devices" / "orin.html").read_text(encoding="utf-8")
    before, first, *others = text.split('class="dots-view"')
    first = first.replace('"Jetson AGX Thor"', '"here only"')
    page = site / "devices" / "several.html"
    page.write_text('class="dots-view"'.join((before, first, *others)), encoding="utf-8")
    view = {"hide": ["here only", "Jetson Orin NX"], "price": ["500 here only"]}
    tab.open(f"{page.as_uri()}#?{urlencode(view, doseq=True)}")
    assert others and parse_qs(urlsplit(tab.page.url).fragment[1:]) == view
    assert tab.page.locator("tr[data-name='here only']:visible").count() == 0


def test_an_open_page_shows_the_view_of_its_address_and_links_within_it_keep_it(
    frames: Frames, site: Path, tab: Tab
) -> None:
    tab.look(SIZES[-1])
    tab.open(page_of(site, make_boards(frames)[0]))
    tab.page.check("input[value=energy]", force=True)
    tab.page.dispatch_event("#board th[data-key=runs] button", "click")
    tab.run(
        "new Promise((done) => { addEventListener('hashchange', () => done());"
        " location.hash = '#?find=raspberry'; })"
    )
    assert tab.page.locator(".dots tbody tr:visible").count() == 3, "by time"
    assert tab.page.locator("#board [aria-sort]").count() == 0
    tab.page.click("a[href='#entries']")
    tab.page.click("#view > summary")
    tab.page.check("#columns input >> nth=0")
    assert parse_qs(tab.run("location.hash.slice(2)")).keys() == {"find", "columns"}


def test_rows_to_compare_are_chosen_by_clicking_them(frames: Frames, site: Path, tab: Tab) -> None:
    """One button begins it, with the rows of the last choice; each click on a row chooses it, or no
    longer; one button ends it."""
    tab.look(SIZES[-1])
    tab.open(page_of(site, make_boards(frames)[0]))
    summary = ".dots:visible summary:has-text('{}') >> nth=0"
    picked, ends = tab.page.locator(".picked"), tab.page.locator(".picked button")
    begins = tab.page.locator(".panel:visible").get_by_text("Compare with others of this table")
    tab.page.click(summary.format("Jetson AGX Thor"))
    begins.click()
    assert ends.inner_text() == "Stop choosing"
    for name in ("Jetson Xavier NX", "Jetson Orin Nano", "Jetson Xavier NX"):
        tab.page.click(summary.format(name))
    assert "Chosen: Jetson AGX Thor, Jetson Orin Nano." in picked.inner_text()
    assert tab.page.locator(".panel:visible").count() == 0
    ends.click()
    rows = tab.page.locator(".dots tbody tr:visible")
    assert [row.get_attribute("data-name") for row in rows.all()] == [
        "Jetson AGX Thor",
        "Jetson Orin Nano",
    ]
    assert not picked.is_visible() and "only=Jetson+AGX+Thor" in tab.run("location.hash")
    tab.page.click(summary.format("Jetson AGX Thor"))
    begins.click()
    assert "Chosen: Jetson AGX Thor, Jetson Orin Nano." in picked.inner_text()
    ends.click()
    tab.page.check("input[value=framework]", force=True)
    assert rows.count() == 3, "names of devices choose no frameworks"
    tab.page.click(summary.format("PyTorch"))
    begins.click()
    assert "Chosen: PyTorch." in picked.inner_text()


def test_the_choice_of_measure_and_rows_needs_no_script(
    frames: Frames, site: Path, tab: Tab
) -> None:
    context = tab.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    try:
        page = context.new_page()
        page.goto(page_of(site, make_boards(frames)[0]))
        assert page.locator(".dots:visible").count() == 1 and not page.is_visible(".find")
        page.check("input[value=energy]", force=True)
        assert "least expected energy" in page.inner_text("h1")
        assert page.locator(".dots:visible").count() == 4, "a table for each instrument"
        page.check("input[value=framework]", force=True)
        assert page.locator(".dots:visible tbody tr").count() == 11
        page.locator(".dots:visible summary").first.click()
        assert page.locator(".panel:visible").is_visible()
    finally:
        context.close()


LABELS = """[...document.querySelectorAll('figure svg')].flatMap((svg) => {
    const edge = svg.getBoundingClientRect(), of = (text) => text.getBoundingClientRect();
    const all = [...svg.querySelectorAll('text')].filter((text) => of(text).width), found = [];
    for (const text of all) if (of(text).left < edge.left - 1 || of(text).right > edge.right + 1) found.push(text.textContent);
    all.forEach((one, place) => all.slice(place + 1).forEach((two) => {
        const [a, b] = [of(one), of(two)], across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        if (across > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) found.push(`${one.textContent} / ${two.textContent}`); }));
    return found; })"""  # noqa: E501

CUT = """[...document.querySelectorAll('#board thead th')].filter(
    (head) => head.scrollWidth > head.clientWidth).map((head) => head.textContent)"""
AXES = """(() => {
    const at = (svg) => { const { left, width } = svg.getBoundingClientRect(); return [left, width].map(Math.round).join(); };
    const axis = at(document.querySelector('#board thead .x'));
    return [...document.querySelectorAll('#board tbody .p')].map(at).filter((place) => place !== axis); })()"""  # noqa: E501


@pytest.mark.parametrize("size", some(SIZES[::-1]), ids=lambda size: f"{size[0]}x{size[1]}")
def test_no_label_of_a_figure_is_cut_or_overlaps(
    size: tuple[int, int], frames: Frames, site: Path, tab: Tab
) -> None:
    tab.look(size)
    tab.open(page_of(site, make_boards(frames)[-1]))
    assert tab.run("document.querySelectorAll('figure svg text').length") > 100
    assert tab.run(LABELS) == []
    tab.look(WIDE)
    assert tab.run(CUT) == []
    assert tab.run(AXES) == [], "the labels of the table of entries stand over its dots"


@pytest.mark.proof
@pytest.mark.parametrize("dark", some([False, True]), ids=lambda dark: "dark" if dark else "light")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_no_serious_violation(
    size: tuple[int, int], dark: bool, frames: Frames, site: Path, tab: Tab
) -> None:
    tab.look(size, dark)
    for page in (site / "index.html", site / "boards" / f"{make_boards(frames)[0].slug}.html"):
        tab.open(page.as_uri())
        tab.run(
            "document.querySelectorAll('#filters, #board details').forEach((details, place) => {"
            " details.open = place < 2; })"
        )
        assert violations(tab) == []
        assert tab.run("document.documentElement.scrollWidth") <= size[0]
        assert tab.run(
            "((menu) => menu.scrollWidth <= menu.clientWidth)(document.querySelector('.bar nav'))"
        ), "the menu scrolls sideways"


@pytest.mark.proof
def test_a_keyboard_reaches_few_elements_and_skips_the_table(
    frames: Frames, site: Path, tab: Tab
) -> None:
    tab.open(page_of(site, make_boards(frames)[0]))
    assert tab.run(f"{REACHED}.length") <= MAX_FOCUSED
    tab.page.focus("a[href='#after-board']")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Tab")
    assert tab.run(
        "document.activeElement.closest('#board') === null &&"
        " document.activeElement.compareDocumentPosition(board) === 2"
    )


@pytest.mark.proof
def test_the_table_is_one_to_a_screen_reader(frames: Frames, site: Path, tab: Tab) -> None:
    """The grid layout of rows keeps the roles: a table with its caption as name, column headers,
    and a header in every row."""
    tab.open(page_of(site, make_boards(frames)[0]))
    session = tab.page.context.new_cdp_session(tab.page)
    found = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()  # an open one keeps later tests from seeing the page as printed
    roles = [node["role"]["value"] for node in found if not node.get("ignored")]
    assert roles.count("rowheader") >= 34 and "columnheader" in roles
    names = [
        node["name"]["value"]
        for node in found
        if node.get("role", {}).get("value") == "table" and "name" in node
    ]
    assert f"LeNet-5 on MNIST, closed division, round {OPEN}" in names


@pytest.mark.proof
def test_a_row_opens_without_a_script(frames: Frames, site: Path, tab: Tab) -> None:
    context = tab.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    try:
        page = context.new_page()
        page.goto(page_of(site, make_boards(frames)[0]))
        row = page.locator("#board tbody tr").first
        accuracy = row.locator("a[href$='#best_accuracy']")
        assert (
            not accuracy.is_visible()
            and not page.is_visible("#tools")
            and page.is_visible(".dots .d")
        )
        row.locator("summary").click()
        assert (
            accuracy.inner_text() == "99.05 %" and row.locator("a[href*='devices/']").is_visible()
        )
    finally:
        context.close()


@pytest.mark.proof
def test_limits_of_an_energy_are_within_one_instrument(
    frames: Frames, site: Path, tab: Tab
) -> None:
    board = make_boards(frames)[0]
    tab.open(page_of(site, board))
    tab.page.click("#filters > summary")
    tab.page.fill("input[name=score_energy_j]", "100")
    assert tab.run(
        "[...new Set([...board.tBodies[0].rows].filter((row) => !row.hidden).map((row) =>"
        " Number(row.cells[4].dataset.place)))]"
    ) == [min(row.instrument for row in board.accepted)]
    assert "hidden: measured by another instrument" in tab.page.inner_text("#count")
    tab.page.keyboard.press("Escape")
    tab.page.click("#tools button[type=reset]")
    tab.page.wait_for_url(lambda url: "#" not in url)
    tab.page.click("#board th[data-key=score_energy_j] button")
    places = tab.run("[...board.tBodies[0].rows].map((row) => Number(row.cells[4].dataset.place))")
    assert places == sorted(places) and len(set(places)) == 4


def test_a_submitter_s_energies_are_sorted_within_their_instrument(site: Path, tab: Tab) -> None:
    """As on a leaderboard's page."""
    tab.open((site / "submitters" / "none.html").as_uri())
    tab.page.click("th[data-energy] button >> nth=0")
    places = tab.run(
        "[...document.querySelectorAll('table:has(th[aria-sort]) td[data-place]')].map((cell) =>"
        " Number(cell.dataset.place))"
    )
    assert places == sorted(places) and len(set(places)) == 4


@pytest.mark.proof
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("names", [{}, NAMES], ids=["plain", "hostile"])
def test_few_entries_and_hostile_names_fit(
    count: int, names: dict[str, str], tab: Tab, tmp_path: Path
) -> None:
    site = render(
        many_entries(make_template(tmp_path / "run"), count, ("lenet", "resnet18"), names),
        tmp_path / "site",
    )
    for size in SIZES:
        tab.look(size)
        for page in (site / "index.html", *sorted((site / "boards").glob("*.html"))):
            tab.open(page.as_uri())
            assert tab.run("document.documentElement.scrollWidth") <= size[0], page
            assert (
                tab.run("document.querySelectorAll('main img').length") == 0
                and "owned" not in tab.page.title()
            )


def test_devices_are_listed_with_what_the_front_page_says_of_them(site: Path) -> None:
    """The heaviest workload first, as on their own pages."""
    listed = (site / "devices" / "index.html").read_text(encoding="utf-8")
    assert "<h1>10 devices have results</h1>" in listed
    submit = (site / "submit.html").read_text(encoding="utf-8")
    waiting = submit[submit.index("without a confirmed") :].count('href="devices/')
    assert f"<h2>{waiting} devices with a profile wait" in listed, "as many as there"
    heads = re.findall(r'<th scope="col" class="n">([^<]*) <small>([^<]*)<', listed)
    assert heads[0] == ("ResNet-18 on CIFAR-10", "measured time to 93 %")
    times = re.findall(r'data-label="ResNet-18 [^>]*>(?:<a[^>]*>)?([\d.]+ \w+)', listed)
    assert times[:2] == ["2.33 h", "3.66 h"] and len(times) == 10, "the fastest first"
    cluster = (site / "devices" / "raspberry-pi-5.html").read_text(encoding="utf-8")
    assert ">4 × Raspberry Pi 5</a></td>" in cluster, "which of its entries are of several nodes"
    own = (site / "devices" / "orin.html").read_text(encoding="utf-8")
    assert own.index("trains ResNet-18") < own.index("trains LeNet-5")
    assert own.index("Power modes") < own.index('class="dots"'), "its own numbers first"


@pytest.mark.proof
def test_a_device_s_power_modes_have_times_and_energies_without_a_score(site: Path) -> None:
    """ResNet-18 has no reference points: the modes are compared by what was measured, and no cell
    is a dash."""
    page = (site / "devices" / "orin.html").read_text()
    modes = page[page.index('id="b-resnet18') :]
    table = modes[modes.index("Power modes") : modes.index("</table>", modes.index("Power modes"))]
    assert (
        "best measured time to target" in table
        and "least measured energy to target" in table
        and "MODE_50W" in table
        and "—" not in table
    )


def test_the_frameworks_can_be_filtered_by_workload_and_device(site: Path, tab: Tab) -> None:
    tab.look(SIZES[-1])
    tab.open((site / "frameworks.html").as_uri())
    rows = tab.page.locator(".overview tbody tr:visible")
    every = rows.count()
    tab.page.get_by_label("filter rows").fill("resnet orin nx")
    left = [row.locator("th").inner_text() for row in rows.all()]
    assert left and all("ResNet" in text and "Orin NX" in text for text in left)
    assert tab.page.locator(".find output").inner_text() == f"{len(left)} of {every} rows"


def test_a_page_says_once_what_its_tables_share(site: Path) -> None:
    """The words and numbers by which an entry is found, and the lines of a table's axis."""
    page = (site / "index.html").read_text()
    shared = re.findall(r"data-entries='([^']*)'", page)
    entries = json.loads(html.unescape(shared[0]))
    assert len(shared) == 1 and len(entries) == 34
    assert {row for row in re.findall(r'data-entry="(\w+)"', page)} <= set(entries)
    longest = max((words for words, *_ in entries.values()), key=len)
    assert page.count(longest) == sum(words == longest for words, *_ in entries.values())
    rows = page.partition("<tbody>")[2]
    grids = re.findall(r'<g id="(grid-[^"]+)">', page)
    assert 'y2="100%"' not in rows.partition("</tbody>")[0] and len(set(grids)) == len(grids)
    assert set(re.findall(r'<use href="#(grid-[^"]+)"', page)) == set(grids)
