"""What names a person or a network by its form alone: home folders, users, hosts, addresses, serial
numbers. One definition, to replace and to find.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

HOME = "$HOME"
USER, HOST, ADDRESS, MAIL, SERIAL = "<user>", "<host>", "<address>", "<e-mail>", "<serial number>"

_WORDS = (
    "root",
    "pi",
    "ubuntu",
    "debian",
    "jetson",
    "nvidia",
    "nano",
    "orin",
    "xavier",
    "tegra",
    "thor",
    "rpi",
    "raspberrypi",
    "raspberry",
    "localhost",
    "user",
    "rock",
    "orangepi",
    "radxa",
    "linux",
    "none",
    "board",
    "nobody",
    "admin",
    "runner",
    "accuracy",
    "agx",
    "bench",
    "benchmark",
    "build",
    "ci",
    "cpu",
    "cuda",
    "data",
    "demo",
    "dev",
    "docker",
    "edge",
    "epoch",
    "fake",
    "git",
    "gpu",
    "guest",
    "home",
    "host",
    "lab",
    "lenet",
    "log",
    "loss",
    "max",
    "mean",
    "min",
    "model",
    "mpi",
    "net",
    "network",
    "node",
    "open",
    "pc",
    "python",
    "pytorch",
    "rank",
    "reference",
    "run",
    "seed",
    "server",
    "step",
    "student",
    "suite",
    "system",
    "tensorflow",
    "test",
    "tester",
    "train",
    "training",
    "work",
    "worker",
    "workstation",
    "main",
)
"""Names that images come with, and words of boards, drivers and bundles: as names of a user or a
host they identify nobody, and replacing them would change what a text says."""
_LABEL = re.compile(r"node\d{1,5}")
_LOCAL = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")


@dataclass(frozen=True)
class Name:
    """What was found at ``start`` of a text: its ``kind`` in words, and the ``text`` itself."""

    kind: str
    text: str
    start: int


def find_names(text: str, *, has_versions: bool = False) -> Iterator[Name]:
    """What names a person or a network by its form alone. In a text that ``has_versions``, four
    numbers with dots are no address."""
    folded = text.casefold()
    for form in _FORMS:
        if (has_versions and form.kind == _IP) or not form.may_be_in(folded):
            continue
        for found in form.pattern.finditer(text):
            if form.judge(found, text) is not None:
                yield Name(form.kind, found[0], found.start())


def has_form(text: str) -> bool:
    """Whether anything in a text has the form of a name, also across its lines and strings; what
    stands around it is not looked at, so that few of them are names."""
    folded = text.casefold().replace('": ', '" ')  # colons of JSON are in no address
    return any(form.may_be_in(folded) and form.pattern.search(text) for form in _FORMS)


def is_telling(name: str) -> bool:
    """Whether a user's or a host's name tells who or where; names that images come with, and words
    of a bundle, do not."""
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word]
    return (
        len(name) > 2 and name.lower() not in _WORDS and not all(word in _WORDS for word in words)
    )


def redact_by_form(text: str) -> str:
    """The text without what names a person or a network by its form."""
    for form in _FORMS:
        if form.may_be_in(text.casefold()) and form.pattern.search(text):
            text = form.pattern.sub(
                lambda found, judge=form.judge, text=text: (  # type: ignore[misc]
                    found[0] if (new := judge(found, text)) is None else new
                ),
                text,
            )
    return text


_IP = "an IP address"
_Match = re.Match[str]
_VERSION = re.compile(
    r"(?i)(?:[\w.]-|[\w.+-][=<>~!]=?|==\s|[\w_.]|\b(?:v|ver\.?|version|release|driver|firmware|library|cuda|cudnn|toolkit)[\s:=]*"
    r"|\b[a-z][\w.]*-[\w.-]*\s+)$"
)
"""What stands before four numbers with dots that are a version: ``mpi-``, ``name==``, ``driver ``,
``nvidia-curand-cu12  ``."""
_PLACE = re.compile(
    r"(?i)(?:://|[@(\[<]|\b(?:addr|address|at|bind|connect|connected|from|gateway|host|inet|ip|listening|on|peer|server|to|via)[\s:=]*)$"
)
"""What stands before an address."""


def _home(found: _Match, _text: str) -> str:
    return HOME


def _ipv4(found: _Match, text: str) -> str | None:
    """An address of a private network unless it reads as a version; any other one where something
    says that it is an address."""
    before = text[max(0, found.start() - 60) : found.start()]
    after = text[found.end() : found.end() + 6]
    try:
        address = ipaddress.IPv4Address(found[0])
    except ValueError:
        return None
    if (
        address.is_loopback
        or address.is_unspecified
        or address.is_multicast
        or found[0].startswith("255.")
        or _VERSION.search(before)
    ):
        return None
    is_said = (
        _PLACE.search(before) is not None or re.match(r":\d{2,5}\b|/\d{1,2}\b", after) is not None
    )
    return ADDRESS if address.is_private or is_said else None


def _ipv6(found: _Match, _text: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(found[0])
    except ValueError:
        return None
    is_routed = address.is_link_local or address in _UNIQUE_LOCAL or address in _GLOBAL
    return ADDRESS if is_routed else None


_UNIQUE_LOCAL, _GLOBAL = ipaddress.IPv6Network("fc00::/7"), ipaddress.IPv6Network("2000::/3")


def _mac(found: _Match, _text: str) -> str | None:
    return None if set(found[0]) <= set("0:-") or set(found[0].lower()) <= set("f:-") else ADDRESS


def _interface(found: _Match, _text: str) -> str:
    return f"{found[1]}{ADDRESS}"


def _account(found: _Match, _text: str) -> str | None:
    """An e-mail address, or somebody's account on a host."""
    user, host = found["user"], found["host"].rstrip(".")
    if _is_label(host) or user == "git" or re.fullmatch(r"v?\d[\w.-]*", host):
        return None
    return (
        MAIL
        if re.search(r"\.[A-Za-z]{2,}$", host)
        else f"{user if not is_telling(user) else USER}@{HOST}"
    )


def _url(found: _Match, _text: str) -> str | None:
    """A URL with a user, or of a host without a public name."""
    host = found["host"]
    is_public = "." in host and not re.search(rf"(?:{_LOCAL_ENDS}|\.home)$", host)
    if found["user"] is None and (
        is_public or _is_label(host) or host.startswith("[") or re.fullmatch(r"[\d.]+", host)
    ):
        return None
    return f"{found['scheme']}://{host if is_public or _is_label(host) else HOST}"


def _local_host(found: _Match, _text: str) -> str | None:
    return None if found[0].lower() in _LOCAL else HOST


def _said_host(found: _Match, _text: str) -> str | None:
    return (
        None
        if _is_label(found["name"]) or found["name"].lower() in _NOT_NAMED
        else f"{found['key']}{HOST}"
    )


def _serial(found: _Match, _text: str) -> str | None:
    return f"{found['key']}{SERIAL}" if re.search(r"\d", found["number"]) else None


def _is_label(host: str) -> bool:
    return _LABEL.fullmatch(host) is not None or host.lower() in _LOCAL


_NOT_NAMED = ("none", "null", "unknown", "true", "false", "name", "names", "is", "not")
_LOCAL_ENDS = r"\.(?:local|lan|localdomain|internal|intranet|corp|fritz\.box|home\.arpa)"


@dataclass(frozen=True)
class _Form:
    """A form of names. ``judge`` returns the replacement, or None where the form alone misleads.

    ``marks``: one of them, case folded, is in every match, and so is what ``core`` matches. Most
    texts have none, and looking for them takes a tenth of the time of a search.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: "re.Pattern[str]"
    judge: Callable[[_Match, str], str | None]
    core: "re.Pattern[str] | None" = None

    def may_be_in(self, folded: str) -> bool:
        """Whether a text, case folded, has a mark and a core."""
        return any(mark in folded for mark in self.marks) and (
            self.core is None or self.core.search(folded) is not None
        )


_FORMS: tuple[_Form, ...] = (
    _Form(
        "a home folder",
        ("home/", "users", "media/", "run/", "/root"),
        re.compile(
            r"(?<![a-z0-9.$}>-])/(?:(?:export|var|usr|mnt|srv|nfs|net|data|storage|scratch|gpfs|lustre)/){0,2}(?:home|Users|media|run/user|run/media)/[^\s/\"'`,;:()<>\[\]\\|&]{1,100}"
            r"|(?<![\w.$}>-])/root(?=/)|(?i:\b[a-z]:\\{1,2}users\\{1,2})[^\s\\/\"'<>|]{1,100}"
        ),
        _home,
    ),
    _Form(
        "a URL with a user name or a private host",
        ("://",),
        re.compile(
            r"(?P<scheme>[a-z][a-z0-9+.-]{1,20})://(?:(?P<user>[^\s/@\"'<>]{1,100})@)?(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[\w.-]{1,253})"
        ),
        _url,
    ),
    *(
        _Form(
            "a MAC address",
            (mark,),
            re.compile(
                rf"(?i)(?<![0-9a-f:-])[0-9a-f]{{2}}(?:{mark}[0-9a-f]{{2}}){{5}}(?![0-9a-f]|[:-][0-9a-f])"
            ),
            _mac,
            core=re.compile(rf"{mark}[0-9a-f]{{2}}{mark}[0-9a-f]{{2}}{mark}"),
        )
        for mark in (":", "-")
    ),
    _Form(
        "a MAC address",
        ("enx", "wlx", "wwx"),
        re.compile(r"(?i)\b(enx|wlx|wwx)[0-9a-f]{12}(?![0-9a-f])"),
        _interface,
    ),
    _Form(
        _IP,
        (".",),
        re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d)"),
        _ipv4,
        core=re.compile(r"\.\d{1,3}\.\d{1,3}\.\d"),
    ),
    _Form(
        _IP,
        (":",),
        re.compile(r"(?i)(?<![0-9a-z:.])[0-9a-f]{1,4}:[0-9a-f:]{1,38}(?![0-9a-z:])"),
        _ipv6,
        core=re.compile(r":(?<=[0-9a-f]:)[0-9a-f:]"),
    ),
    _Form(
        "an e-mail address or an account",
        ("@",),
        re.compile(
            r"(?<![\w/.+-])(?P<user>[\w.+-]{1,64})@(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)(?![\w<])"
        ),
        _account,
    ),
    _Form(
        "a host's name",
        (".",),
        re.compile(
            r"(?i)(?<![\w.-])(?=[\w.-]*[\d-]|raspberrypi)[a-z0-9][\w-]{0,62}(?:\.[a-z0-9][\w-]{0,62}){0,3}"
            rf"{_LOCAL_ENDS}(?![\w.]|-)"
        ),
        _local_host,
        core=re.compile(_LOCAL_ENDS),
    ),
    _Form(
        "a host's name",
        ("host",),
        re.compile(
            r"(?i)(?P<key>\bhost"
            r" ?name[\"']?\s{0,3}[:=]\s{0,3}[\"']?)(?P<name>[a-z0-9][\w.-]{0,252})"
        ),
        _said_host,
    ),
    _Form(
        "a serial number",
        ("serial",),
        re.compile(
            r"(?i)(?P<key>\bserial(?:[ _-]?(?:no\.?|number|num))?[\"']?\s{0,3}[:=#]\s{0,3}[\"']?)"
            r"(?P<number>[a-z0-9][a-z0-9-]{5,63})\b"
        ),
        _serial,
    ),
    _Form(
        "a serial number",
        ("gpu-",),
        re.compile(
            r"(?P<key>\bGPU-)(?P<number>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
        ),
        _serial,
    ),
)
"""Every repetition is bounded: texts are hostile."""


def find_known(text: str, names: Sequence[str]) -> Iterator[Name]:
    """These names, as whole words, in a text."""
    for name in names:
        for found in re.finditer(
            rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", text, re.IGNORECASE
        ):
            yield Name("the name of this user or host", found[0], found.start())
