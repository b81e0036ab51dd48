"""For PYTHONPATH: every Python process that finds this folder there has TensorFlow's servers and sessions run on tensorfleet.

Python imports this module at its start. It costs nothing where TensorFlow is never imported.
"""
import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load_tensorfleet():
    """The package that this folder belongs to, without putting its neighbours on the path as well."""
    if "tensorfleet" in sys.modules:
        return sys.modules["tensorfleet"]
    package = os.path.dirname(_HERE)
    spec = importlib.util.spec_from_file_location("tensorfleet", os.path.join(package, "__init__.py"),
                                                  submodule_search_locations=[package])
    module = importlib.util.module_from_spec(spec)
    sys.modules["tensorfleet"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["tensorfleet"]
        raise
    return module


def _run_the_next_one():
    """Python imports one sitecustomize only; the one that this has hidden is run from here."""
    rest = [p for p in sys.path if os.path.abspath(p or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_run_the_next_one()
_load_tensorfleet().install()
