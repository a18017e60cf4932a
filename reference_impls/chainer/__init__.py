"""Reference implementations in Chainer. Start them with ``python -m`` from the root: by path this folder would hide the real one."""
