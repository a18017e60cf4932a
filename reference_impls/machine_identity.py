"""The identity of a machine, by which two names of one machine are recognised. Standard library
only, Python 3.6 grammar."""

import hashlib
import os
import socket

from reference_impls.contract import boot_id


def machine_identity(root: str = "/") -> str:
    """SHA-256 of the kernel's boot id and of the network namespace, 16 digits; every name of one
    machine gives the same.

    The boot id differs between machines even if they were cloned from one SD card, which copies
    /etc/machine-id. Containers and network namespaces of one kernel differ, because they can stand
    for hosts in a test; their boot id, in every log line, shows that they share a kernel. Where the
    kernel gives no boot id, the host's name stands for it.
    """
    try:
        namespace = os.readlink(os.path.join(root, "proc/self/ns/net"))
    except OSError:
        namespace = ""
    whole = "{}\n{}".format(boot_id(root) or socket.gethostname(), namespace)
    return hashlib.sha256(whole.encode("utf-8")).hexdigest()[:16]
