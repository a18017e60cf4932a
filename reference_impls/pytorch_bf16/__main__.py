"""``python -m reference_impls.pytorch_bf16 --request REQUEST.json``."""

from reference_impls.main import main
from reference_impls.pytorch.implementation import build
from reference_impls.pytorch_bf16.implementation import Bfloat16ChannelsLast


def build_tuned(request, world):
    """The reference's model, data and weights with the tuned implementation."""
    built = build(request, world, Bfloat16ChannelsLast)
    return built._replace(facts=dict(built.facts, memory_format="channels_last"))


if __name__ == "__main__":
    main(build_tuned)
