# The extension module that cffi makes of the public headers: it has no types for Python.
from typing import Any

ffi: Any
lib: Any
