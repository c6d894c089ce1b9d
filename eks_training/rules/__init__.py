"""The rule book: one module per area, registered by importing it.

Importing this package imports every module beside this file, in alphabetical order, so a new area is one new file.
"""

import importlib
from pathlib import Path

for _name in sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")):
    importlib.import_module(f"{__name__}.{_name}")
