"""One tox environment per framework: ``tox run -e pytorch`` runs the tests that need that
framework.

The names come from reference_impls/*/framework.toml, so that a new framework is listed nowhere. A
plain ``tox run`` tests all frameworks in the environment ``tests``.
"""

import re
from pathlib import Path

from tox.config.loader.memory import MemoryLoader
from tox.config.sets import ConfigSet
from tox.plugin import impl
from tox.session.state import State


def frameworks() -> list[str]:
    """Folders of the frameworks with an environment that is not another's; read by regular
    expression, for tox has no TOML parser everywhere."""
    texts = {
        path.parent.name: path.read_text(encoding="utf-8")
        for path in sorted(Path(__file__).parent.glob("reference_impls/*/framework.toml"))
    }
    needs, is_variant = (
        re.compile(r"^needs_environment = true", re.M),
        re.compile(r"^environment_of\b", re.M),
    )
    return [
        name for name, text in texts.items() if needs.search(text) and not is_variant.search(text)
    ]


@impl
def tox_extend_envs() -> list[str]:
    """The names of the environments."""
    return frameworks()


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """Each environment has the settings of [testenv] in tox.ini, and these commands."""
    options = " ".join(f"'{option}'" for option in state.conf.pos_args(None) or ())
    for name in frameworks():
        command = f"pytest -n 2 --dist worksteal -m '{name} and not alone' {options}"
        state.conf.memory_seed_loaders[name].append(
            MemoryLoader(commands_pre=[f"suite env create {name}"], commands=[command])
        )
