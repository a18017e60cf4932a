"""The rules by which the checker judges, and how to read the site."""

from collections.abc import Iterator

import jinja2

from reporter.columns import FIGURE_COLUMNS
from reporter.pages.shared import Contents, Page
from reporter.ranking import FEWEST_RUNS, LEVEL
from suite.compliance.registry import RULES
from suite.workloads import load_workloads


def rules_page(contents: Contents, environment: jinja2.Environment) -> Iterator[Page]:
    """rules.html: every rule, from the objects that judge, and the workloads with what may be tuned."""
    page = environment.get_template("rules.html")
    yield Page("rules.html", page.render(root="", here="rules", rules=RULES, workloads=load_workloads()))


def about_page(contents: Contents, environment: jinja2.Environment) -> Iterator[Page]:
    """about.html: what the figures mean, how ranks are made, where the data files are."""
    page = environment.get_template("about.html")
    yield Page("about.html", page.render(root="", here="about", columns=FIGURE_COLUMNS, boards=contents.boards, fewest=FEWEST_RUNS, level=LEVEL))
