# The extension module that cffi makes of the public headers: nothing of it has types for Python.
from typing import Any

ffi: Any
lib: Any
