"""``python -m eks_training``."""

import gc
import sys

# The process ends before garbage matters, and collecting during the imports costs some 3 percent of a `validate`.
gc.disable()

from eks_training.cli import main  # noqa: E402  (this import is what takes long)

sys.exit(main())
