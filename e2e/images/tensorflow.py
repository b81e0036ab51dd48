#!/usr/bin/env python3
"""Makes the context of the image that stands for tensorflow/tensorflow:2.15.0 where nothing can be pulled: this Python with the
TensorFlow that is installed in it, and the libraries that they load.

    tensorflow.py FOLDER
"""

import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys

LIBRARIES = "usr/lib/x86_64-linux-gnu"
NOT_USED = {"libclang", "wheel"}
LEFT_OUT = re.compile(r"(^|/)(__pycache__|include|tests?|idlelib|ensurepip|site-packages|dist-packages)(/|$)|\.(a|pyc)$")


def place(source, target):
    """A link where that can be: the context is read once and thrown away."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(os.path.realpath(source), target)
    except FileExistsError:
        pass
    except OSError:
        shutil.copyfile(source, target)
        shutil.copymode(source, target)


def needed_by(name):
    """The distribution and all that it needs here, by name."""
    todo, found = [name], {}
    while todo:
        key = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if key in found or key in NOT_USED:
            continue
        try:
            found[key] = importlib.metadata.distribution(key)
        except importlib.metadata.PackageNotFoundError:
            continue  # needed elsewhere only
        for requirement in found[key].requires or []:
            if "extra ==" not in requirement:
                todo.append(re.match(r"[\w.-]+", requirement)[0])
    return found.values()


def stage_packages(root):
    for distribution in needed_by("tensorflow-cpu"):
        for file in distribution.files or []:
            name = str(file)
            if name.startswith("..") or re.search(r"(^|/)(__pycache__|include)/|\.(a|pyc)$", name):
                continue
            place(distribution.locate_file(file), root / "packages" / name)


def stage_python(root):
    base, version = pathlib.Path(sys.base_prefix), f"python{sys.version_info[0]}.{sys.version_info[1]}"
    place(os.path.realpath(sys.executable), root / "usr/local/bin/python3")
    standard = base / "lib" / version
    for path in standard.rglob("*"):
        if path.is_file() and not LEFT_OUT.search(str(path.relative_to(standard))):
            place(path, root / "usr/local/lib" / version / path.relative_to(standard))
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/tensorboard").write_text(
        "#!/usr/local/bin/python3\nimport sys\nfrom tensorboard.main import run_main\nsys.exit(run_main())\n")
    (root / "usr/bin/tensorboard").chmod(0o755)


def stage_libraries(root):
    """What the dynamic loader would load for everything staged, but for what is staged itself."""
    staged = [p for p in root.rglob("*") if p.is_file() and (".so" in p.name or p.name == "python3")]
    for start in range(0, len(staged), 50):
        text = subprocess.run(["ldd", *map(str, staged[start : start + 50])], capture_output=True, text=True, check=False).stdout
        for path in set(re.findall(r"=> (/\S+)", text)):
            if not path.startswith(str(root)):
                place(path, root / LIBRARIES / pathlib.Path(path).name)
    place("/lib64/ld-linux-x86-64.so.2", root / "lib64/ld-linux-x86-64.so.2")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("tmp", "etc"):
        (root / folder).mkdir(parents=True)
    (root / "etc/passwd").write_text("root:x:0:0:root:/tmp:/sbin/nologin\n")
    stage_python(root)
    stage_packages(root)
    stage_libraries(root)


if __name__ == "__main__":
    main()
