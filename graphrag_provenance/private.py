"""Files for their owner only.

Owns: that what commands write of refused records, answers and the like is not for everybody on the machine, whatever the umask says. A
file that exists keeps its mode.
"""

from __future__ import annotations

import os


def private(path: str, flags: int) -> int:
    """An opener (`open(…, opener=private)`) whose new files have the mode 0600."""
    return os.open(path, flags, 0o600)
