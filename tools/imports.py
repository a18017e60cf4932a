"""The import statements of a Python file, wherever they stand in it. Expressions are not visited: a
thousand files take two seconds."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """An import statement: the modules that it names (for ``from a import b`` both ``a`` and
    ``a.b``), its lines with the comment above them, and whether a function has it."""

    names: tuple[str, ...]
    line: int
    written: tuple[str, ...]
    is_local: bool


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every import statement of a file; relative ones are those of its own folder."""
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), []
    waiting: list[tuple[ast.AST, bool]] = [(node, False) for node in ast.parse(text).body]
    while waiting:
        node, is_local = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            above = [
                line for line in lines[: node.lineno - 1][-1:] if line.lstrip().startswith("#")
            ]
            written = (*above, *lines[node.lineno - 1 : node.end_lineno])
            found.append(Import(_imported_modules(node, path), node.lineno, written, is_local))
        inside = is_local or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            children = getattr(node, field, ())
            waiting += [
                (child, inside) for child in (children if isinstance(children, list) else ())
            ]
    return tuple(found)


def module_name(path: Path, root: Path) -> str:
    """The dotted name of a file's module; extensions are imported through suite/extensions."""
    parts = path.relative_to(root).with_suffix("").parts
    named = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(("suite", *named) if named[:1] == ("extensions",) else named)


def _imported_modules(node: ast.Import | ast.ImportFrom, path: Path) -> tuple[str, ...]:
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.Import):
        return tuple(names)
    module = node.module or ""
    if node.level:
        root = next(folder for folder in path.parents if not (folder / "__init__.py").is_file())
        module = ".".join(filter(None, (module_name(path.parent / "__init__.py", root), module)))
    return (module, *(f"{module}.{name}" for name in names))
