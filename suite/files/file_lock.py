"""Locks that the kernel lets go when their process ends."""

import errno
import fcntl


def take_lock(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file unless another process holds it. A file system without locks cannot say who
    holds one: there, it is taken as free."""
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
    return True
