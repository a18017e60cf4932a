"""What a framework is called where there is little room."""

import re
from collections import Counter
from functools import cache

from suite.catalog.frameworks import load_frameworks


@cache
def framework_name(name: str) -> str:
    """The framework's title without what stands in parentheses or behind a comma, or whole where
    that would be another framework's name, too.

    The name itself where this version does not know the framework.
    """
    titles = {framework.name: framework.title for framework in load_frameworks()}
    if name not in titles:
        return name
    alike = Counter(map(_shortened, titles.values()))
    short = _shortened(titles[name])
    return short if alike[short] == 1 else titles[name]


def _shortened(title: str) -> str:
    return re.split(r",| \(", title)[0]
