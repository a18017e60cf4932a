"""The LINPACK records, which the bars of a figure link to."""

from collections.abc import Iterator
from pathlib import Path

import jinja2

from reporter.pages.shared import Page, PageKind, SiteContents


def linpack_records(contents: SiteContents, environment: jinja2.Environment) -> Iterator[Page]:
    """linpack/<id>.json: each sealed record, unchanged."""
    for record in contents.frames.linpacks.to_dict("records"):
        yield Page(f"linpack/{record['linpack_id']}.json", Path(record["path"]))


PAGE_KIND = PageKind(linpack_records, 50)
