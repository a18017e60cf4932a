"""Parts of pages: the site's contents, kinds of pages, and charts placed on a page."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from reporter.board.boards import Leaderboard
from reporter.data.discovery import declarations
from reporter.data.entries import STRICT
from reporter.data.frames import GENERATED, Frames, Row, grouped
from reporter.data.studies import StudyRecord
from reporter.data.words import workload_title
from reporter.figures import charts_for
from reporter.figures.chart import MAX_ROWS, Caption, Chart, Context, Described, Drawing
from reporter.figures.model import Missing, Plot
from suite.catalog.extensions import ExtensionPart
from suite.catalog.rounds import judging_round
from suite.errors import SuiteError
from suite.files.evidence_files import EvidenceFiles

CHART_STYLE = Path(__file__).resolve().parent.parent / "static" / "chart.css"
TEXTS = re.compile(
    r'<text x="[\d.-]+" y="[\d.-]+"( class="[\w ]+")>[^<]*</text>'
    r'(?:<text x="[\d.-]+" y="[\d.-]+"\1>[^<]*</text>)+'
)
"""Texts of one style, one after the other."""
SAID = re.compile(
    ' xmlns="[^"]*"| role="graphics-document" aria-label="[^"]*"'
    "|<title>[^<]*</title><desc>[^<]*</desc>"
)
NUMBERS = re.compile(r'<(?:rect|circle|line)(?: \w+="[\d.-]+")+(?= )')
"""The places and sizes of a shape; HTML needs no quotes around them."""


@dataclass(frozen=True)
class SiteContents:
    """Contents of the site. ``colours`` are the numbers of the frameworks' colours in the style
    sheet.

    ``address`` is where it will be published, with a slash at its end; None where that is not
    known. ``own_runs``: the ids of the runs that the first page shows beside reference results;
    None for a page of leaderboards.
    """

    frames: Frames
    boards: tuple[Leaderboard, ...]
    colours: Mapping[str, int]
    studies: tuple[StudyRecord, ...] = ()
    address: str | None = None
    own_runs: frozenset[str] | None = None
    evidence: EvidenceFiles = EvidenceFiles.COPY

    def context(self, root: str) -> Context:
        """The context of figures on a page; ``root`` is the relative path from it to the site's
        root."""
        return Context(root, self.colours)

    @property
    def off_boards(self) -> Mapping[str, Any]:
        """The runs on generated data, and what could not be read."""
        runs, broken = self.frames.runs, self.frames.broken
        generated = runs[runs["state"] == GENERATED]
        return {"generated": generated.to_dict("records"), "broken": broken.to_dict("records")}


@dataclass(frozen=True)
class Page:
    """A file of the site: its path from the site's root and its content, or the file that is copied
    there, whatever its size, or linked where ``is_link``."""

    place: str
    content: str | bytes | Path
    is_link: bool = False


def render_page(
    environment: jinja2.Environment, template: str, place: str, here: str, **contents: Any
) -> Page:
    """The page at ``place``, from its template; ``here`` is its name in the site's menu."""
    found, root = environment.get_template(template), "../" * place.count("/")
    return Page(place, found.render(root=root, place=place, here=here, **contents))


@dataclass(frozen=True)
class MenuItem:
    """An entry of the site's menu: ``name`` is what its pages' templates call ``here``, ``place``
    the page, ``text`` what is shown."""

    name: str
    place: str
    text: str


@dataclass(frozen=True)
class PageKind:
    """Pages that ``make`` renders from the site's contents. ``position`` is the place of ``menu``,
    if there is one, in the site's menu."""

    make: Callable[[SiteContents, jinja2.Environment], Iterator[Page]]
    position: int
    menu: MenuItem | None = None


@dataclass(frozen=True)
class LeaderboardSection:
    """A section that an extension adds to the pages of leaderboards: a template, which gets what
    ``find`` finds in the board as ``found``, and ``root``. Nothing is shown where that is empty."""

    template: Path
    find: Callable[[Leaderboard], Sequence[object]]

    def render(
        self, board: Leaderboard, environment: jinja2.Environment, root: str
    ) -> markupsafe.Markup:
        """The section of a board."""
        found = self.find(board)
        template = environment.from_string(self.template.read_text(encoding="utf-8"))
        return markupsafe.Markup(template.render(found=found, root=root) if found else "")


@cache
def board_sections() -> tuple[LeaderboardSection, ...]:
    """The sections that extensions declare as BOARD_SECTION."""
    return declarations(None, ExtensionPart.PAGE, "BOARD_SECTION", LeaderboardSection)


@dataclass(frozen=True)
class PlacedChart:
    """A chart on a page, with the path of its file; empty where it has none."""

    chart: Caption
    figure: Plot
    svg: markupsafe.Markup
    narrow: markupsafe.Markup
    file: str


@dataclass(frozen=True)
class Charts:
    """The charts of a page, (title, reason) of those that could not be drawn, and the files of the
    former."""

    placed: tuple[PlacedChart, ...]
    not_drawn: tuple[tuple[str, str], ...]
    files: tuple[Page, ...]


def make_contents(
    frames: Frames, boards: tuple[Leaderboard, ...], studies: tuple[StudyRecord, ...] = ()
) -> SiteContents:
    """The site's contents; a framework has the same colour on all pages."""
    frameworks = sorted(set(frames.runs["framework"]))
    return SiteContents(
        frames, boards, {name: index % 8 for index, name in enumerate(frameworks)}, studies
    )


def board_title(board: Leaderboard) -> str:
    """A leaderboard in words: workload, division and round, and whether it has devices."""
    title = f"{trained_title(board)}, {board.division}, round {board.round}"
    return f"{title}, reference systems" if board.is_reference else title


def trained_title(board: Leaderboard) -> str:
    """What the entries of a leaderboard train, and in which precision if it is not the strict
    one."""
    title = title_of(vars(board))
    return title if board.precision in ("", STRICT) else f"{title} in {board.precision}"


def title_of(entry: Row) -> str:
    """The title of the entry's workload in its round; its name if this version does not know it,
    with the data set's name if that is not the workload's own."""
    title = workload_title(str(entry["workload"]), str(entry["round"]))
    return title if entry["own_data"] else f"{title.partition(' on ')[0]} on {entry['data']}"


def target_percent(board: Leaderboard) -> str | None:
    """The target accuracy of the board's runs, in percent; None if there is none."""
    try:
        workload = judging_round(board.round).workload(board.workload)
    except SuiteError:
        return None
    targets = {
        workload.data: workload.target_accuracy,
        **{other.data: other.target_accuracy for other in workload.other_data},
    }
    target = targets.get(board.data)
    return None if target is None else f"{100 * target:g} %"


def unknown_figures(figures: Iterable[Row]) -> list[tuple[str, list[str]]]:
    """The names of the figures without a value, by the reason, which is said once."""
    unknown = [figure for figure in figures if figure["value"] is None]
    by_reason = grouped(unknown, lambda figure: str(figure["reason"] or figure.get("method") or ""))
    return [(why, [str(each["figure"]) for each in found]) for why, found in by_reason.items()]


def place_charts(
    kind: str,
    frames: Frames,
    contents: SiteContents,
    root: str,
    slug: str,
    max_rows: int = MAX_ROWS,
    prefix: str = "",
) -> Charts:
    """Draw the charts of a kind of page with at most ``max_rows`` rows each; ``slug`` begins the
    names of their files in figures/. ``prefix`` begins the charts' names, and the ids in them, on a
    page that has the same charts several times."""
    context = replace(contents.context(root), max_rows=max_rows)
    return place_drawings(
        [
            (
                replace(chart, name=f"{prefix}{chart.name}"),
                partial(with_enough_rows, chart, frames),
            )
            for chart in charts_for(kind)
        ],
        context,
        f"figures/{slug}-",
    )


def with_enough_rows(chart: Chart, frames: Frames, context: Context) -> Plot | Missing:
    """The chart; Missing where it compares entries and has fewer rows than it must."""
    found = chart.describe(frames, context)
    return (
        Missing("too few entries to compare")
        if isinstance(found, Plot) and chart.pages and len(found.rows) < chart.min_rows
        else found
    )


def place_drawings(
    described: Sequence[Described], context: Context, stem: str | None = None
) -> Charts:
    """Draw figures for a page of that context; ``stem`` begins the paths of their files from the
    site's root. Without it there are none."""
    placed, not_drawn, files = [], [], []
    for caption, describe in described:
        figure = describe(context)
        if isinstance(figure, Missing):
            not_drawn.append((caption.title, figure.reason))
            continue
        file = f"{stem}{caption.name}.svg" if stem is not None else ""
        drawing = alone = Drawing(caption, figure)
        svg, narrow = map(_within_page, (drawing.svg, drawing.narrow))
        placed.append(PlacedChart(caption, figure, svg, narrow, file))
        if stem is None:
            continue
        up = "../" * file.count("/")
        if up != context.root:
            elsewhere = describe(replace(context, root=up))
            assert isinstance(elsewhere, Plot)
            alone = Drawing(caption, elsewhere)
        files.append(Page(file, _with_style(alone.svg)))
    return Charts(tuple(placed), tuple(not_drawn), tuple(files))


def _within_page(svg: str) -> markupsafe.Markup:
    """The drawing in less HTML: without its title and description, which the page's caption and the
    region around it say, without quotes around numbers, and with the style of texts said once."""
    shown = SAID.sub("", svg, count=3)
    shown = NUMBERS.sub(lambda found: found[0].replace('"', ""), shown)
    return markupsafe.Markup(TEXTS.sub(_in_group, shown))


def _in_group(texts: re.Match[str]) -> str:
    plain = re.sub('<text x="([^"]*)" y="([^"]*)" class="[^"]*"', r"<text x=\1 y=\2", texts[0])
    return f"<g{texts[1]}>{plain}</g>"


def _with_style(svg: str) -> str:
    head, separator, rest = svg.partition("<title>")
    return f"{head}<style>{_style()}</style>{separator}{rest}\n"


@cache
def _style() -> str:
    """The style sheet of a figure's file: the light colours written out, since few programs besides
    browsers know var() and media queries."""
    light, _, dark = CHART_STYLE.read_text(encoding="utf-8").partition("@media")
    rules = light + dark.partition("} }\n")[2]
    for name, colour in re.findall(r"--(\w+): (#[0-9a-f]{6});", light):
        rules = rules.replace(f"var(--{name})", colour)
    return re.sub(r"--\w+: #[0-9a-f]{6};\s*", "", rules)
