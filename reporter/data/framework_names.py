"""What a framework is called where there is little room."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from reporter.data.text import plain_or_none
from suite.catalog.frameworks import is_own, known_frameworks


@cache
def framework_name(name: str) -> str:
    """The framework's title without what stands in parentheses or behind a comma, or whole where
    that would be another framework's name, too.

    The name itself where this version does not know the framework.
    """
    titles = {framework.name: framework.title for framework in known_frameworks().values()}
    if name not in titles:
        return name
    alike = Counter(map(_shortened, titles.values()))
    short = _shortened(titles[name])
    return short if alike[short] == 1 else titles[name]


def implementation_name(name: str, recorded: Mapping[str, Any] | None) -> str:
    """What the implementation of this name is called: the framework's name, and of one outside the
    checkout the title that run.json ``recorded``, unless that is a framework's."""
    title = None if is_own(name) else plain_or_none((recorded or {}).get("title"), 60)
    names = (framework_name(each).casefold() for each in known_frameworks())
    return framework_name(name) if title is None or title.casefold() in names else title


def _shortened(title: str) -> str:
    return re.split(r",| \(", title)[0]
