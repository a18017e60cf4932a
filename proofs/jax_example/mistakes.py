"""Mistakes in the example in JAX: in what is timed, where its probe stays honest, and in its
models."""

from proofs.mistakes.mistake import EVALUATION, MODEL, PIPELINE, PROBE, SCHEDULE, STEP, Mistake

EXAMPLE = "examples/lenet_resnet_jax"
_BOTH, _LENET, _RESNET = ("lenet", "resnet18"), ("lenet",), ("resnet18",)
_STEP = "return model.step(state, normalised(pixels), labels, rate,"
_UPDATE = """        state, loss = jax.block_until_ready(
            program.steps[samples](state, *batch, np.float32(rates[-1]))
        )
"""
_LIST = (
    ("no weight decay", STEP, "train.py", _BOTH, "**how)", "**(how | {'weight_decay': 0.0}))"),
    ("half the rate", STEP, "train.py", _BOTH, "(rates[-1]))", "(rates[-1] / 2))"),
    (
        "every eighth update skipped",
        STEP,
        "train.py",
        _BOTH,
        _UPDATE,
        f"        before = jax.tree.map(np.array, state)\n{_UPDATE}"
        "        if step % 8 == 7:\n            state = jax.device_put(before)\n",
    ),
    (
        "parameters in bfloat16",
        STEP,
        "train.py",
        _BOTH,
        _STEP,
        "state = jax.tree.map(lambda a: a.astype(jnp.bfloat16).astype(a.dtype), state)\n"
        f"        {_STEP}",
    ),
    (
        "a gradient from half of the mini-batch",
        STEP,
        "train.py",
        _BOTH,
        _STEP,
        f"pixels, labels = pixels[::2], labels[::2]\n        {_STEP}",
    ),
    ("the rate stays", SCHEDULE, "train.py", _LENET, "base * (1 - step / horizon)", "base"),
    (
        "tanh for a ReLU",
        MODEL,
        "model.py",
        _LENET,
        'relu(linear(p, "fc2", x))',
        'jnp.tanh(linear(p, "fc2", x))',
    ),
    ("running variances are biased", MODEL, "model.py", _RESNET, "var * n / (n - 1)", "var"),
    (
        "statistics stay",
        STEP,
        "train.py",
        _RESNET,
        f'{_STEP} model=request["model"], **how)',
        f'new, loss = {_STEP.removeprefix("return ")} model=request["model"], **how)\n'
        "        return new._replace(statistic=state.statistic), loss",
    ),
    (
        "evaluated in training mode",
        EVALUATION,
        "train.py",
        _RESNET,
        "normalised(pixels), False)",
        "normalised(pixels), True)",
    ),
    ("windows of one of eight rows", PIPELINE, "data.py", _RESNET, "(9 * draws", "(8 * draws"),
)

MISTAKES = tuple(
    Mistake(f"jax: {name}, {workload}", kind, f"{EXAMPLE}/{file}", old, new, PROBE, workload)
    for name, kind, file, workloads, old, new in _LIST
    for workload in workloads
)
