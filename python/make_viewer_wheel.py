#!/usr/bin/env python3
"""Makes the wheel foreshard-viewer: the program foreshard-gui with Qt and all that Qt needs but glibc.

    make_viewer_wheel.py PROGRAM VERSION FOLDER

Libraries and their licences are those of this Debian. Needs patchelf, ldd, strip and the Python package `wheel`; prints the wheel's path.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Of glibc, which every system has.
GLIBC = re.compile(r"(ld-linux.*|lib(c|m|dl|pthread|rt|resolv|util|anl)\.so\..*)")
PLUGINS = ["platforms/libqoffscreen.so", "platforms/libqxcb.so", "xcbglintegrations/libqxcb-glx-integration.so"]
INIT = '''"""The viewer `foreshard-gui`: `foreshard gui` opens it, and `foreshard` draws pictures with it."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "foreshard-gui")
    os.execv(program, [program, *sys.argv[1:]])
'''
METADATA = """Metadata-Version: 2.1
Name: foreshard-viewer
Version: {version}
Summary: The viewer of foreshard, with Qt
License: Apache-2.0, and those of the libraries in foreshard_viewer/licences
Requires-Python: >=3.9

Installed by `pip install 'foreshard[viewer]'`. The libraries in `foreshard_viewer/lib` are Debian's builds, each with
its licence in `foreshard_viewer/licences`; Qt is under the LGPL 3, and its libraries may be replaced by others.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: foreshard\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"


def output_of(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def libraries_of(files):
    """What the files load, by the name that they load it by."""
    found = {}
    for file in files:
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", str(file)), re.M):
            if not GLIBC.fullmatch(name):
                found[name] = pathlib.Path(path).resolve()
    return found


def licence_of(library):
    """The copyright file of the package that a library is from."""
    # Packages may name /lib what lies in /usr/lib.
    package = output_of("dpkg", "-S", f"*/{library.parent.name}/{library.name}").split(":")[0]
    return package, pathlib.Path(f"/usr/share/doc/{package}/copyright")


def newest_glibc(files):
    versions = set()
    for file in files:
        versions.update(re.findall(r"\bGLIBC_2\.(\d+)", output_of("objdump", "-T", str(file))))
    return max(map(int, versions))


def fill(package, program):
    """Lays the package out; the ELF files in it, each with the folder of libraries as it is seen from there."""
    qt = pathlib.Path(output_of("qtpaths6", "--query", "QT_INSTALL_PLUGINS").strip())
    placed = {package / "bin/foreshard-gui": (program, "$ORIGIN/../lib")}
    for plugin in PLUGINS:
        placed[package / "plugins" / plugin] = (qt / plugin, "$ORIGIN/../../lib")
    libraries = libraries_of(source for source, _ in placed.values())
    (package / "licences").mkdir(parents=True)
    for name, library in libraries.items():
        placed[package / "lib" / name] = (library, "$ORIGIN")
        owner, licence = licence_of(library)
        shutil.copy(licence, package / "licences" / f"{owner}.txt")
    for target, (source, folder) in placed.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        subprocess.run(["strip", "--strip-unneeded", target], check=True)
        subprocess.run(["patchelf", "--set-rpath", folder, target], check=True)
    (package / "bin/qt.conf").write_text("[Paths]\nPrefix = ..\nPlugins = plugins\n")
    (package / "__init__.py").write_text(INIT)
    return list(placed)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, version, folder = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch)
        files = fill(tree / "foreshard_viewer", pathlib.Path(program))
        platform = f"manylinux_2_{newest_glibc(files)}_x86_64"
        info = tree / f"foreshard_viewer-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(METADATA.format(version=version))
        (info / "WHEEL").write_text(WHEEL.format(platform=platform))
        (info / "entry_points.txt").write_text("[console_scripts]\nforeshard-gui = foreshard_viewer:main\n")
        subprocess.run([sys.executable, "-m", "wheel", "pack", str(tree), "--dest-dir", folder], check=True,
                       stdout=subprocess.DEVNULL)
        print(pathlib.Path(folder) / f"foreshard_viewer-{version}-py3-none-{platform}.whl")


main()
