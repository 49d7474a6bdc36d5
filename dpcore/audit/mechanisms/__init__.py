"""What the audit knows of each mechanism; a new one needs a module here only if its channel cannot be listed.

Modules:
    base: open functions with defaults for listed channels
    frequency_oracles: frequency oracles of categories
    numeric: waves and noisy wavelet coefficients
    option_sets: set selection
    texts: text hashing
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):  # each registers its mechanisms
    import_module(f"{__name__}.{_module.name}")
