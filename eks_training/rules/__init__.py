"""The rule book: one module per area, registered by importing it.

Importing this package imports every module beside this file, in alphabetical order, so a new area is one new file.
"""

import importlib
import pkgutil

for _name in sorted(found.name for found in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_name}")
