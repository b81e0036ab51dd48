#!/usr/bin/env python3
"""Makes the context of an image: a program of the build, the libraries it loads, their licences, a list of contents.

    stage.py --program build/bin/tensorfleet --dlopen libdnnl.so.2 --name tensorfleet-runtime --out FOLDER

The libraries are those of this machine's Debian packages, which are the ones that the tests ran with. FOLDER gets
libraries/ (changes with the packages) and program/ (changes with the program), a layer each. Times are SOURCE_DATE_EPOCH.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import packages  # noqa: E402
import sbom  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "/lib64/ld-linux-x86-64.so.2"
# Of the NVIDIA driver: belongs to the node, never to an image.
FROM_THE_NODE = re.compile(r"lib(cuda|nvidia-.*|nvcuvid)\.so")


def loaded_by(path):
    """The absolute paths of what the dynamic loader would load for `path`, itself left out."""
    text = subprocess.run(["ldd", str(path)], check=True, capture_output=True, text=True).stdout
    if missing := re.findall(r"(\S+) => not found", text):
        missing = [m for m in missing if not FROM_THE_NODE.match(m)]
        if missing:
            sys.exit(f"stage.py: {path} needs {', '.join(missing)}, which this machine does not have")
    return [m for m in re.findall(r"=> (/\S+)", text) if not FROM_THE_NODE.match(pathlib.Path(m).name)]


def find_library(soname):
    text = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    found = re.search(rf"^\s*{re.escape(soname)} .*x86-64.* => (\S+)$", text, re.M)
    if not found:
        sys.exit(f"stage.py: this machine has no {soname}: ./dev setup")
    return found[1]


def copy(source, target, mode=0o644):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def write(target, text):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def stage_accounts(root):
    write(root / "etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")
    write(root / "etc/group", "root:x:0:\nnonroot:x:65532:\n")
    write(root / "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")


def set_times(root, epoch):
    for path in sorted(root.rglob("*"), reverse=True):
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    os.utime(root, (epoch, epoch))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--program", action="append", default=[], help="goes to /usr/bin")
    parser.add_argument("--library", action="append", default=[], help="a library of ours, loaded at run time")
    parser.add_argument("--dlopen", action="append", default=[], help="name of a library that is loaded at run time")
    parser.add_argument("--certificates", action="store_true", help="authorities for HTTPS")
    parser.add_argument("--build", default="build", help="the build folder, for what was linked statically")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    out = pathlib.Path(args.out)
    shutil.rmtree(out, ignore_errors=True)
    libraries, program = out / "libraries", out / "program"
    owners = packages.owners_of_files()

    roots = [pathlib.Path(p) for p in [*args.program, *args.library]]
    roots += [pathlib.Path(find_library(name)) for name in args.dlopen]
    wanted = {path: pathlib.Path(path).name for root in roots for path in loaded_by(root)}
    wanted |= {find_library(name): name for name in args.dlopen}
    shipped = set()
    for path, name in sorted(wanted.items()):
        real = pathlib.Path(path).resolve()
        copy(real, libraries / LIBRARIES / name)
        shipped.add(packages.owner(owners, real))
    if args.program:
        copy(pathlib.Path(LOADER).resolve(), libraries / LOADER.lstrip("/"), 0o755)
        stage_accounts(libraries)
    if args.certificates:
        copy("/etc/ssl/certs/ca-certificates.crt", libraries / "etc/ssl/certs/ca-certificates.crt")
        shipped.add("ca-certificates")
    # A device library that was built elsewhere says nothing of what went into it.
    ours = [path for path in args.library if pathlib.Path(path).resolve().is_relative_to((ROOT / args.build / "lib").resolve())]
    linked = packages.linked_statically(ROOT / args.build, args.program + ours, owners) - shipped
    for package in sorted(shipped | linked):
        copy(f"/usr/share/doc/{package}/copyright", libraries / f"usr/share/doc/{package}/copyright")

    # Debian's copyright files point to these for the licences' full texts.
    for text in sorted(pathlib.Path("/usr/share/common-licenses").iterdir()):
        copy(text.resolve(), libraries / "usr/share/common-licenses" / text.name)

    for path in args.program:
        target = program / "usr/bin" / pathlib.Path(path).name
        copy(path, target, 0o755)
        subprocess.run(["strip", "--strip-all", str(target)], check=True)
    for path in args.library:
        copy(path, program / LIBRARIES / pathlib.Path(path).name)
    copy(ROOT / "LICENSE", program / f"usr/share/doc/{args.name}/LICENSE")
    write(program / f"usr/share/doc/{args.name}/sbom.spdx.json",
          sbom.document(args.name, args.version, epoch, shipped, linked))
    set_times(out, epoch)


if __name__ == "__main__":
    main()
