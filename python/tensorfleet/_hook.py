"""Changes TensorFlow's modules when they are imported, and those that are imported already at once."""
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys

from . import _servers, _sessions

_PATCHES = {
    "tensorflow.python.training.server_lib": _servers.patch,
    "tensorflow.python.client.session": _sessions.patch,
}


def _patch(module) -> None:
    if getattr(module, "_tensorfleet", False):
        return
    try:
        _PATCHES[module.__name__](module)
    except (AttributeError, KeyError) as e:
        # Another version than those that were tested, with other insides.
        raise ImportError("tensorfleet does not know this version of TensorFlow: %s has no %s. Import TensorFlow without "
                          "tensorfleet, or report the version" % (module.__name__, e)) from e
    module._tensorfleet = True


class _Loader(importlib.abc.Loader):
    """The module's own loader, and then the change."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        _patch(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname not in _PATCHES:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


_finder = _Finder()


def install() -> None:
    """TensorFlow's servers and sessions are tensorfleet's from now on, in programs that never heard of it.

    To be called before the program makes any; TensorFlow itself may be imported already or not, and is not imported by this.
    `PYTHONPATH=.../tensorfleet/hook` calls it at the start of every Python process, `python -m tensorfleet SCRIPT` for one.

    Example:
        >>> import tensorfleet
        >>> tensorfleet.install()
        >>> tensorfleet.install()  # once is enough
    """
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    for name in _PATCHES:
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            _patch(module)
