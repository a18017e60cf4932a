"""Reference implementations in Chainer. Start them with ``python -m`` from the root: run by path,
this folder would hide the chainer package."""
