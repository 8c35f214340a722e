"""Benchmarks: each is run from the repository's root as `python -m benchmarks.TOPIC.NAME`.

Importing this package holds BLAS and torch to one thread: it comes before numpy, which would ask the machine.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
