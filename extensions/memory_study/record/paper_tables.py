"""Tables I to III of Kukreja et al., Training on the edge (PAISE 2019), calculated from the layers
and compared with the published values.

The paper's memory is M(B) = 4 bytes [P + B (2 L - c)]:

- P counts a layer's parameters once for every module that contains it: the layer, its block, its
  stage, the network.
- L counts the outputs of every layer call of one picture; 2 L are activations and gradients.
- c is twice the outputs of the shortcut branches that have a stride (a 1x1 convolution and its
  normalisation), which the paper's count leaves out, less the picture itself, which it counts once.
  It grows with the picture's area and its rounding, and no constant of it is fitted.
"""

from dataclasses import dataclass
from pathlib import Path

from suite.files.paths import rules_folder
from suite.files.toml_file import read_toml
from suite.memory.chain import WORD_BYTES, kept_words
from suite.memory.network import Network, Operation, load_network
from suite.memory.shapes import Shaped, operation_shapes

LIMIT = 0.01
"""Relative deviation from which a cell needs an explanation."""


@dataclass(frozen=True)
class PublishedTable:
    """One published table: a row per value of what it varies, a column per depth; ``unit_bytes`` is
    the unit of its cells."""

    name: str
    title: str
    varies: str
    unit_bytes: int
    values: tuple[int, ...]
    cells: tuple[tuple[float, ...], ...]
    image: int | None = None
    batch: int | None = None


@dataclass(frozen=True)
class Published:
    """The paper's tables."""

    depths: tuple[int, ...]
    tables: tuple[PublishedTable, ...]


@dataclass(frozen=True)
class Cell:
    """A published value, the calculated one in the same unit, and what the framework really keeps
    for the backward pass with the weights."""

    table: str
    depth: int
    batch_size: int
    image: int
    published: float
    calculated: float
    kept: float

    @property
    def deviation(self) -> float:
        """Calculated over published, less 1."""
        return self.calculated / self.published - 1


@dataclass(frozen=True)
class Terms:
    """P, L and c of a network for one picture of one size, in words."""

    parameters: int
    outputs: int
    left_out: int


def published(root: Path | None = None) -> Published:
    """The published tables."""
    return read_toml(rules_folder(root) / "memory" / "published.toml", Published)


def cells(source: Published | None = None) -> list[Cell]:
    """Every cell of the tables."""
    paper = source or published()
    found = []
    for column, depth in enumerate(paper.depths):
        network = load_network(f"resnet{depth}")
        by_image: dict[int, tuple[Terms, int]] = {}
        for table in paper.tables:
            for value, row in zip(table.values, table.cells, strict=True):
                batch, image = (
                    (value, table.image or value)
                    if table.varies == "batch"
                    else (table.batch or 1, value)
                )
                if image not in by_image:
                    by_image[image] = (terms(network, image), kept_words(network, image, image))
                counted, kept = by_image[image]
                words = counted.parameters + batch * (2 * counted.outputs - counted.left_out)
                real = network.parameters + batch * kept
                in_unit = WORD_BYTES / table.unit_bytes
                found.append(
                    Cell(
                        table.name,
                        depth,
                        batch,
                        image,
                        row[column],
                        words * in_unit,
                        real * in_unit,
                    )
                )
    return found


def terms(network: Network, image: int) -> Terms:
    """P, L and c of the paper's formula."""
    layers = [each for each in operation_shapes(network, image, image) if each.operation.module]
    nested = sum(each.operation.parameters * _containers(each.operation) for each in layers)
    left_out = (
        2 * sum(each.words for each in layers if _in_strided_shortcut(each, layers))
        - network.image[0] * image * image
    )
    return Terms(nested, sum(each.words for each in layers), left_out)


def _containers(operation: Operation) -> int:
    """Modules that contain a layer, itself and the network included."""
    return (operation.module or "").count(".") + 2


def _in_strided_shortcut(layer: Shaped, layers: list[Shaped]) -> bool:
    """A 1x1 convolution with a stride, or the normalisation of its output: in a ResNet, only
    shortcuts have them."""
    operation = layer.operation
    if operation.kind == "conv":
        return operation.kernel == (1, 1) and operation.stride > (1, 1)
    if operation.kind != "batch_norm":
        return False
    return any(
        _in_strided_shortcut(each, layers)
        for each in layers
        if each.operation.kind == "conv" and each.operation.name in operation.inputs
    )
