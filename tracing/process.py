"""Which process writes, so that a run whose process is gone can be told from one that is running.

A process id alone is used again. With the boot, the process-id namespace (a container's) and the start time beside
it, a living process is the same one or it is not; and nothing is judged of another host or another namespace.
"""

import os
import platform
from pathlib import Path


def host() -> str:
    return platform.node() or "unknown"


def born(pid: int) -> str:
    """`boot id/namespace/start time` of a living process of this host; "" where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
        # The command's name, in parentheses, may hold spaces: what follows it has fixed fields.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return f"{boot}/{namespace}/{fields[19]}"


def is_alive(its_host: str, pid: int, its_born: str) -> bool | None:
    """Whether a recorded process still lives; None where its host's processes cannot be seen from here."""
    if its_host != host():
        return None
    if not its_born:
        return None if _exists(pid) else False
    ours, theirs = born(os.getpid()).split("/"), its_born.split("/")
    if ours[0] != theirs[0]:
        return False  # the machine was started anew since
    if ours[1:-1] != theirs[1:-1]:
        return None
    return born(pid) == its_born and not _is_zombie(pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _is_zombie(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] in ("Z", "X")
