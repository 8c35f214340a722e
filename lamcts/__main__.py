"""`python -m lamcts` is the command `lamcts`."""

import sys

from lamcts.cli import main

sys.exit(main())
