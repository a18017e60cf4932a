"""Awkward values, and edits of bytes."""

import json
import random
from typing import Any

from hypothesis import strategies as st

DEEP: Any = json.loads("[" * 300 + "]" * 300)
NASTY: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    3,
    127,
    2**31,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**18,
    10**400,
    -(10**400),
    0.0,
    -0.0,
    0.1,
    1e-320,
    1e308,
    -1e308,
    "",
    "a",
    "0",
    "null",
    "NaN",
    "\0",
    "\n",
    "\ud800",
    "\x1b[2J",
    "é",
    "x" * 5000,
    "../../../etc/passwd",
    "/etc/passwd",
    "lenet",
    "closed",
    [],
    [[]],
    [None],
    [1, 2],
    ["a", {}],
    [1e308] * 3,
    list(range(500)),
    {},
    {"a": None},
    {"": {}},
    {"mono_ns": 1},
    DEEP,
)

json_values = st.one_of(
    st.sampled_from(NASTY),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
        max_leaves=8,
    ),
)
"""Any JSON value, awkward ones often."""

numbers = st.one_of(
    st.sampled_from(
        (
            0,
            1,
            -1,
            2**31,
            2**63 - 1,
            -(2**63),
            float("nan"),
            float("inf"),
            -float("inf"),
            1e308,
            -1e308,
            5e-324,
            -0.0,
        )
    ),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
)
"""Numbers that a cell of a table can hold."""


def edited(content: bytes, chance: random.Random) -> bytes:
    """The bytes with one to eight edits: flipped, set, removed, inserted, repeated or cut off."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        place = chance.randrange(len(changed) + 1)
        length = min(chance.choice((1, 1, 2, 4, 16, 200)), len(changed) - place)
        kind = chance.randrange(7)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << chance.randrange(8)
        elif kind == 1 and place < len(changed):
            changed[place] = chance.choice(
                (0, 255, ord("9"), ord("-"), ord('"'), ord("{"), ord("\n"), chance.randrange(256))
            )
        elif kind == 2:
            del changed[place : place + length]
        elif kind == 3:
            changed[place:place] = chance.choice(
                (
                    b"\0",
                    b"9" * 30,
                    b"-",
                    b"NaN",
                    b"[" * 2000,
                    b":::MLLOG ",
                    b"\xff\xfe",
                    chance.randbytes(8),
                )
            )
        elif kind == 4:
            changed[place:place] = changed[place : place + length] * chance.choice((1, 2, 50))
        elif kind == 5 and chance.random() < 0.3:
            del changed[place:]
        else:
            changed[place : place + length] = chance.randbytes(length)
    return bytes(changed)
