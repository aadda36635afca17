"""One file with all results, written anew after every stage and never seen half written."""
import pathlib
import tarfile
import zlib

RESULTS = (".txt", ".json", ".jsonl", ".log", ".csv", ".toml")
TRACES = (".fst", ".gz", ".activities")
BLOCK = 512         # of a tar file; each entry has a header of that size


class Archive:
    """`path`: of what is in `folder`, at most `limit` bytes: results first, then traces, the smaller ones first."""

    def __init__(self, path, folder, limit):
        self.path = path
        self.folder = folder
        self.limit = limit
        self.compressed = {}

    def size_of(self, path):
        """In the archive, nearly: files are compressed one by one to learn it."""
        stat = path.stat()
        key = path, stat.st_size, stat.st_mtime_ns
        if key not in self.compressed:
            self.compressed[key] = len(zlib.compress(path.read_bytes(), 6))
        return self.compressed[key] + BLOCK

    def write(self):
        """Returns the files that are left out, with their compressed sizes."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and path != self.path]
        results = [path for path in files if path.suffix in RESULTS]
        traces = sorted((path for path in files if path.suffix in TRACES), key=self.size_of)
        left_out, total = [], 0
        partial = self.path.with_name(self.path.name + ".part")
        with tarfile.open(partial, "w:gz", compresslevel=6) as tar:
            for path in sorted(results, key=self.size_of) + traces:
                size = self.size_of(path)
                if total + size > self.limit:
                    left_out.append((path.relative_to(self.folder), size))
                    continue
                total += size
                tar.add(path, arcname=path.relative_to(self.folder))
        partial.rename(self.path)
        return left_out


def unpack(archive, folder):
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            path = pathlib.PurePosixPath(member.name)
            if not member.isfile() or path.is_absolute() or ".." in path.parts:
                raise SystemExit(f"{archive}: {member.name}: is not of a day's archive")
            tar.extract(member, folder)
