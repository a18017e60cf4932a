"""Batch normalisation that can take its statistics over the samples of all ranks.

ChainerMN's MultiNodeBatchNormalization weights all ranks alike, which is wrong where their shares
of a mini-batch differ.
"""

from typing import Any, Optional, Tuple

import chainer
import chainer.links as L

from reference_impls.normalisation import Synchroniser

AXES = (0, 2, 3)
"""All axes of (samples, channels, height, width) but the channels'."""


class BatchNormalization(L.BatchNormalization):
    """Chainer's own batch normalisation; with a ``synchroniser``, training normalises over all
    ranks' samples. Frozen, it uses its statistics in training, too, and keeps them."""

    synchroniser: Optional[Synchroniser] = None
    is_frozen = False

    def forward(self, x: chainer.Variable, **options: Any) -> chainer.Variable:
        """Images (samples, channels, height, width)."""
        if self.is_frozen:
            with chainer.using_config("train", False):
                return super().forward(x, **options)
        if self.synchroniser is None or not chainer.config.train:
            return super().forward(x, **options)
        return _Normalise(self, self.synchroniser).apply((x, self.gamma, self.beta))[0]


def synchronise(model: chainer.Chain, synchroniser: Synchroniser) -> None:
    """Let every batch normalisation of the model take its statistics over all ranks."""
    for link in model.links():
        if isinstance(link, BatchNormalization):
            link.synchroniser = synchroniser


def freeze_statistics(model: chainer.Chain) -> None:
    """Let every batch normalisation of the model use its statistics in training, too."""
    for link in model.links():
        if isinstance(link, BatchNormalization):
            link.is_frozen = True


class _Normalise(chainer.FunctionNode):
    def __init__(self, link: BatchNormalization, synchroniser: Synchroniser) -> None:
        super().__init__()
        self._link, self._synchroniser = link, synchroniser

    def forward(self, inputs: Tuple[Any, ...]) -> Tuple[Any]:
        x, gamma, beta = inputs
        self.retain_inputs((0, 1))
        link, moments = (
            self._link,
            self._synchroniser.moments(
                _values(x), _on_host(x.mean(axis=AXES)), _on_host(x.var(axis=AXES))
            ),
        )
        for running, new in ((link.avg_mean, moments.mean), (link.avg_var, moments.unbiased)):
            running *= link.decay
            running += (1 - link.decay) * self._like(new, running)
        self._of_all, self._mean = moments.count, self._like(moments.mean, x)
        self._scale = self._like(1.0 / (moments.variance + link.eps) ** 0.5, x)
        return (_by_channel(gamma) * self._normalised(x) + _by_channel(beta),)

    def backward(
        self, indexes: Tuple[int, ...], gradients: Tuple[chainer.Variable]
    ) -> Tuple[chainer.Variable, ...]:
        x, gamma = (variable.array for variable in self.get_retained_inputs())
        gradient, normalised = gradients[0].array, self._normalised(x)
        sums, products = gradient.sum(axis=AXES), (gradient * normalised).sum(axis=AXES)
        found = self._synchroniser.corrections(
            _values(x), self._of_all, _on_host(sums), _on_host(products)
        )
        constant, factor = (_by_channel(self._like(value, x)) for value in found)
        of_x = (gradient - constant - normalised * factor) * _by_channel(gamma * self._scale)
        return tuple(map(chainer.as_variable, (of_x, products, sums)))

    def _normalised(self, x: Any) -> Any:
        return (x - _by_channel(self._mean)) * _by_channel(self._scale)

    @staticmethod
    def _like(value: Any, array: Any) -> Any:
        """A NumPy array in the precision and on the device of another array."""
        return chainer.backend.get_device_from_array(array).send(value.astype(array.dtype))


def _values(x: Any) -> int:
    return x.size // x.shape[1]


def _by_channel(vector: Any) -> Any:
    return vector[None, :, None, None]


def _on_host(array: Any) -> Any:
    return chainer.backends.cuda.to_cpu(array)
