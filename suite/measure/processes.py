"""The processes of a run."""
import psutil


def process_tree(pid: int) -> list[psutil.Process]:
    """The process and all that descend from it; those that ended meanwhile are left out, an ended root gives none."""
    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
    return [process for process in tree if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
