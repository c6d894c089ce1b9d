"""``python -m eks_training``."""

import sys

from eks_training.cli import main

sys.exit(main())
