"""One run as a process: `python -m benchmarks.harness.worker MODULE:FUNCTION '{"method": ...}' result.json`.

The pool starts it. FUNCTION takes the task's fields and returns the row and, where there is one, the curve.
"""

import importlib
import json
import os
import sys
import threading
import traceback
from pathlib import Path
from typing import Never


def main() -> None:
    where, fields, out = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
    if not sys.stdin.isatty():
        threading.Thread(target=_die_with_parent, daemon=True).start()
    module, _, function = where.partition(":")
    result = getattr(importlib.import_module(module), function)(**fields)
    out.with_suffix(".part").write_text(json.dumps(result))
    out.with_suffix(".part").replace(out)


def _die_with_parent() -> None:
    """End this process when the runner is gone: its end of our standard input closes with it."""
    os.read(0, 1)  # not through sys.stdin, whose lock would still be held when the main thread ends
    os._exit(1)  # the main thread may be deep in a library


def run() -> Never:
    """Do the run of the command line, and end this process."""
    ended = 0
    try:
        main()
    except BaseException:
        traceback.print_exc()
        ended = 1
    sys.stdout.flush()
    os._exit(ended)  # a library's own thread may never end: Nevergrad's does not where the COBYLA in it has failed


if __name__ == "__main__":
    run()
