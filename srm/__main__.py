"""`python -m srm` is `srm`."""

import sys

from srm.cli import main

sys.exit(main())
