"""Puts what a day needs into one folder: programs and modules, libraries that another distribution may lack, and the
small part of the references that the day reads. All or nothing: a folder that is there is whole."""
import pathlib
import re
import shutil
import subprocess
import tempfile

PROGRAMS = ("foreshard", "gpu_kernels_test", "gpu_agreement_test")
MODULES = tuple(f"libforeshard_{name}.so" for name in ("cuda", "cudnn", "cupti", "injection"))
TARGETS = ("foreshard", "gpu_tests", "foreshard_cuda", "foreshard_cudnn", "foreshard_cupti", "foreshard_injection",
           "foreshard_hooks")
OF_DEBIAN = re.compile(r"lib(yaml-cpp|simdjson|sqlite3|gtest|fmt|boost|zstd)")
# A reference's files, by its folder here.
REFERENCES = {
    "training": ("summary.json", "data/*.npy", "*/config.json", "*/model.safetensors", "*/cases/*.json"),
    "pytorch": ("make_memory_reference.py", "llama.py", "cases.json", "peaks.csv", "configs/*"),
    "scripts": ("*.py", "configs/*")}


class Unpackable(Exception):
    pass


def call(command):
    if subprocess.run(command).returncode:
        raise Unpackable(f"{' '.join(map(str, command[:3]))} ... failed")


def build(folder, architecture):
    """A build of its own, with kernels for one GPU: for each further one they are as large again."""
    call(["cmake", "-S", ".", "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DFORESHARD_TESTS=ON",
          "-DFORESHARD_BENCHMARKS=OFF", "-DFORESHARD_GUI=OFF", "-DFORESHARD_MPI=OFF", "-DCMAKE_UNITY_BUILD=ON",
          f"-DFORESHARD_CUDA_ARCHITECTURES={architecture}"])
    call(["cmake", "--build", folder, "--target", *TARGETS])


def copy_programs(binaries, to):
    for name in PROGRAMS + MODULES:
        if not (binaries / name).exists():
            raise Unpackable(f"{binaries / name} is missing")
        shutil.copy(binaries / name, to)
        call(["strip", "--strip-unneeded", to / name])
    shutil.copytree(binaries / "hooks", to / "hooks")


def copy_libraries(to):
    (to / "lib").mkdir()
    for program in PROGRAMS:
        answer = subprocess.run(["ldd", to / program], capture_output=True, text=True)
        for line in answer.stdout.splitlines():
            name, _, path = line.strip().partition(" => ")
            if OF_DEBIAN.match(name):
                if not path.startswith("/"):
                    raise Unpackable(f"{program}: {name} is not found")
                shutil.copy(path.split()[0], to / "lib" / name)


def copy_reference(source, patterns, to):
    for pattern in patterns:
        files = list(source.glob(pattern))
        if not files:
            raise Unpackable(f"{source / pattern} is missing")
        for file in files:
            target = to / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)


def size_of(path):
    return sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())


def pack(to, build_folder, architecture, references, limit):
    """`references`: folders by name, or None. `limit`: bytes. Raises Unpackable."""
    shutil.rmtree(to, ignore_errors=True)
    build(build_folder, architecture)
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as scratch:
        packed = pathlib.Path(scratch) / "packed"
        packed.mkdir()
        copy_programs(pathlib.Path(build_folder) / "bin", packed)
        copy_libraries(packed)
        for name, source in references.items():
            if source is None:
                print(f"{name}: no folder is named, so its stages are left out")
            else:
                copy_reference(pathlib.Path(source), REFERENCES[name], packed / name)
        for path in sorted(packed.iterdir()):
            print(f"{size_of(path) / 1e6:8.1f} MB  {path.name}")
        total = size_of(packed)
        print(f"{total / 1e6:8.1f} MB  in all")
        if total > limit:
            raise Unpackable(f"{total / 1e6:.1f} MB is more than {limit / 1e6:.0f} MB")
        packed.rename(to)
