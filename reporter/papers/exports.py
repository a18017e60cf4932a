"""A paper's figure as CSV, LaTeX and a page: the numbers that are drawn, and what the paper states
beside ours."""

import io
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape

from reporter.data.text import latex_text
from reporter.figures.model import (
    Estimate,
    Keys,
    Marks,
    Panel,
    PaperFigure,
    Plane,
    Radar,
    Rows,
    Table,
)
from reporter.papers.comparing import ComparedValue
from suite.files.spreadsheet import write_rows

COLUMNS = ("panel", "row", "part", "x", "value", "low", "high")
SYMBOLS = {
    **{
        "±": r"$\pm$",
        "≈": r"$\approx$",
        "≤": r"$\leq$",
        "×": r"$\times$",
        "ρ": r"$\rho$",
        "µ": r"$\mu$",
        "·": r"$\cdot$",
    },
    **{"↑": r"$\uparrow$", "↓": r"$\downarrow$", "⁹": r"$^{9}$", "¹²": r"$^{12}$", "\u00a0": "~"},
}
STYLE = """\
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;\
color:#111;background:#fff}
img{max-width:100%}table{border-collapse:collapse;margin:1rem 0}
th,td{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
.state{border-left:4px solid #0072B2;padding-left:.6rem}blockquote{margin:0;color:#444}"""


def table_of(figure: PaperFigure) -> tuple[tuple[str, ...], ...]:
    """The drawn numbers as rows, the first one the columns' names: of a table its own cells, of
    panels a row per value."""
    tables = [panel for panel in figure.panels if isinstance(panel, Table)]
    if tables:
        return (tables[0].columns, *tables[0].rows)
    rows = [(_axis(panel), *row) for panel in figure.panels for row in _values(panel)]
    return (COLUMNS, *rows)


def to_csv(figure: PaperFigure) -> str:
    """The drawn numbers as CSV."""
    output = io.StringIO()
    write_rows(table_of(figure), output)
    return output.getvalue()


def to_latex(
    name: str, figure: PaperFigure, caption: str, compared: Sequence[ComparedValue]
) -> str:
    """A table, or a figure that includes ``name``.pdf, with its caption; below it what the paper
    states beside ours. Needs graphicx alone."""
    first = _tabular(table_of(figure)) if figure.is_table else rf"\includegraphics{{{name}.pdf}}"
    kind = "table" if figure.is_table else "figure"
    lines = [
        rf"\begin{{{kind}}}",
        r"\centering",
        first,
        rf"\caption{{{_latex(' '.join(caption.split()))}}}",
        rf"\label{{{name}}}",
        rf"\end{{{kind}}}",
    ]
    if compared:
        rows = (
            ("quantity", "published", "ours", "verdict"),
            *(
                (one.quantity, one.published, one.ours or one.why or "", one.verdict.value)
                for one in compared
            ),
        )
        lines += [
            "",
            r"\begin{table}",
            r"\centering",
            _tabular(rows),
            rf"\label{{{name}-published}}",
            r"\end{table}",
        ]
    return "\n".join(lines) + "\n"


def to_page(
    title: str,
    state: str,
    svg: bytes,
    figure: PaperFigure,
    caption: str,
    compared: Sequence[ComparedValue],
) -> str:
    """The figure, what the paper states beside ours, and the drawn numbers, on one page without
    scripts and without a network."""
    picture = b64encode(svg).decode("ascii")
    parts = [
        (
            '<!doctype html><html lang="en"><head><meta'
            f' charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style></head><body>'
        ),
        f'<h1>{escape(title)}</h1><p class="state">{escape(state)}</p>',
        (
            f'<img src="data:image/svg+xml;base64,{picture}" alt="{escape(title)}: the numbers are'
            f' in the table below"><p>{escape(caption)}</p>'
        ),
    ]
    if compared:
        rows = "".join(_compared_row(one) for one in compared)
        names = ("quantity", "published", "ours", "verdict", "where")
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
        parts.append(f"<h2>What the paper states, and ours</h2><table>{head}{rows}</table>")
    header, *lines = table_of(figure)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines
    )
    parts.append(
        f"<h2>Numbers</h2><table><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in header)}</tr>"
        f"{body}</table></body></html>\n"
    )
    return "\n".join(parts)


def _compared_row(one: ComparedValue) -> str:
    verdict = one.verdict.value + (f": {one.why}" if one.why else "")
    quote = f"<blockquote>{escape(one.quote)}</blockquote>" if one.quote else ""
    return (
        f"<tr><td>{escape(one.quantity)}</td><td>{escape(one.published)}</td>"
        f"<td>{escape(one.ours or '')}</td><td>{escape(verdict)}</td>"
        f"<td>{escape(one.place)}{quote}</td></tr>"
    )


def _axis(panel: Panel) -> str:
    if isinstance(panel, Rows):
        return panel.axis
    return panel.y_axis if isinstance(panel, Plane) else ""


def _values(panel: Panel) -> Iterator[tuple[str, ...]]:
    if isinstance(panel, Rows):
        for row in panel.rows:
            name = " · ".join(part for part in (row.heading, row.label) if part)
            parts = [series.name for series in panel.series] or [""]
            values = tuple(map(Estimate, row.singles)) or row.values
            parts *= max(len(row.singles), 1)
            if panel.marks is Marks.STACKED:  # the error bar at the last part is the total's
                total = replace(values[-1], value=row.total)
                values = (*(Estimate(one.value) for one in values), total)
                parts.append("total")
            yield from (
                (name, part, "", *_ends(one)) for part, one in zip(parts, values, strict=False)
            )
    elif isinstance(panel, Plane):
        names = {named.style: named.name for named in panel.legend}
        for line in (line for line in panel.lines if line.label):
            yield from ((line.label, "", f"{x:.10g}", *_ends(one)) for x, one in line.points)
        for dot in panel.dots:
            name = names.get(dot.style.partition(" ")[0], "")
            yield dot.label, name, f"{dot.x.value:.10g}", *_ends(dot.y)
    elif isinstance(panel, Radar):
        for polygon in panel.polygons:
            yield from (
                (polygon.label, axis, "", *_ends(Estimate(share)))
                for axis, share in zip(panel.axes, polygon.shares, strict=True)
            )
    elif isinstance(panel, Keys):
        yield from ((key, meaning, "", "", "", "") for key, meaning in panel.meanings)


def _ends(one: Estimate) -> tuple[str, str, str]:
    return (
        f"{one.value:.10g}",
        "" if one.low is None else f"{one.low:.10g}",
        "" if one.high is None else f"{one.high:.10g}",
    )


def _tabular(rows: Sequence[Sequence[str]]) -> str:
    header, *lines = ([_latex(cell) for cell in row] for row in rows)
    body = "\n".join(" & ".join(line) + r" \\" for line in lines)
    return (
        f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n\\hline\n{' & '.join(header)}"
        f" \\\\\n\\hline\n{body}\n\\hline\n\\end{{tabular}}"
    )


def _latex(text: str) -> str:
    escaped = latex_text(text)
    for symbol, command in SYMBOLS.items():
        escaped = escaped.replace(symbol, command)
    return escaped
