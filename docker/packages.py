"""What Debian's package database says of files: whose they are, and which packages a program was linked from."""

import pathlib
import re
import subprocess
import sys

DATABASE = pathlib.Path("/var/lib/dpkg/info")
# What the compiler brings into every program by headers only, and nobody ships.
TOOLCHAIN = re.compile(r"^(libc6-dev|linux-libc-dev|libclang-common-.*|libcrypt-dev|libnsl-dev|libtirpc-dev)$")


def owners_of_files():
    """File to package, for every file of every installed package."""
    owners = {}
    for listing in DATABASE.glob("*.list"):
        package = listing.stem.split(":")[0]
        for line in listing.read_text().splitlines():
            owners.setdefault(line, package)
    return owners


def owner(owners, path):
    path = str(path)
    for name in (path, path.removeprefix("/usr"), "/usr" + path):
        if name in owners:
            return owners[name]
    sys.exit(f"packages.py: {path} belongs to no package: an image is made of the build and of packages only")


def _ninja(build, *args):
    return subprocess.run(["ninja", "-C", str(build), *args], check=True, capture_output=True, text=True).stdout


def linked_statically(build, programs, owners):
    """Packages whose archives or headers went into `programs`, by what the build recorded."""
    inputs, objects = set(), set()
    for program in programs:
        target = pathlib.Path(program).resolve().relative_to(build.resolve())
        for line in _ninja(build, "-t", "inputs", str(target)).splitlines():
            (objects if line.endswith(".o") else inputs).add(line.strip())
    of_ours, used = None, set(p for p in inputs if p.endswith(".a") and p.startswith("/"))
    for line in _ninja(build, "-t", "deps").splitlines():
        if line and not line[0].isspace():
            of_ours = line.split(":")[0] in objects
        elif of_ours and line.strip().startswith("/"):
            used.add(line.strip())
    found = {owners[p] for p in map(str, map(pathlib.Path.resolve, map(pathlib.Path, used))) if p in owners}
    return {package for package in found if not TOOLCHAIN.match(package)}


def facts(names):
    """name -> (version, source package, architecture) of installed packages."""
    if not names:
        return {}  # dpkg-query would take that for all packages
    form = "${Package}\t${Version}\t${source:Package}\t${Architecture}\n"
    text = subprocess.run(["dpkg-query", "-W", f"-f={form}", *sorted(names)],
                          check=True, capture_output=True, text=True).stdout
    return {row[0]: tuple(row[1:]) for row in (line.split("\t") for line in text.splitlines())}


def licences(package):
    """Short names of licences, as the package's copyright file has them."""
    path = pathlib.Path(f"/usr/share/doc/{package}/copyright")
    names = re.findall(r"^License:[ \t]*(\S.*)$", path.read_text(errors="replace"), re.M)
    return sorted({name.strip() for name in names})
