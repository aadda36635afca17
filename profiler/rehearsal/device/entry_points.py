"""Writes entry_points.cpp: every entry point that CUDA's headers declare, as a weak symbol.

    entry_points.py --harmless harmless.txt --others others.txt --calls library_calls.txt
                    --output entry_points.cpp --calls-output library_calls.cpp HEADER...

Where a source of the library defines the entry point, the linker takes that. Of the others, those that
a pattern of harmless.txt names return 0; the rest end the process (refusal.hpp).

others.txt names entry points of headers that the toolkit lacks.

Those that library_calls.txt describes are written to a second source, with the parameters that their
headers declare.

It also writes the table from which cuGetProcAddress answers: the driver's functions with the version
of CUDA that each came with, from the types of cudaTypedefs.h. A function's types, oldest first, belong
to its symbols NAME, NAME_v2, NAME_v3; where there are fewer symbols than types the oldest were
removed.
"""
import argparse
import collections
import fnmatch
import re

PREFIXES = (r"(?:cublasLt|cublas|cudnn|cuda|cufft|cupti|curand|cusolver|cusparse|cuFile|nccl)"
            r"[A-Z]\w*")
DRIVER = r"cu[A-Z]\w*"


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def declared(text):
    """functions: a name that a parameter list follows and a type precedes, outside of macros' bodies"""
    names = set(re.findall(rf"(?:__CUD\w+_API_PT[DS][SZ])\s*\(\s*({DRIVER}|{PREFIXES})\s*\)", text))
    names = {name + suffix for name in names for suffix in ("_ptds", "_ptsz")}
    names |= set(re.findall(rf"#\s*define\s+\w+\s+((?:{DRIVER}|{PREFIXES})_v\d)\b", text))
    code = re.sub(r"\\\n", " ", text)
    code = re.sub(r"^\s*#[^\n]*", "", code, flags=re.M)
    names |= set(re.findall(rf"\b[\w*]+[\s*]+({DRIVER}|{PREFIXES})\s*\((?!\s*\*)", code))
    return names


def versions(typedefs, names):
    """(function, version of CUDA, symbol) of the driver's functions"""
    types = collections.defaultdict(set)
    for name, version in re.findall(r"\bPFN_(cu[A-Z]\w*?)_v(\d{4,5})\)", typedefs):
        types[name].add(int(version))
    rows = []
    for name in sorted(types):
        symbols = [s for s in [name] + [f"{name}_v{i}" for i in range(2, 9)] if s in names]
        rows += [(name, version, symbol) for version, symbol in
                 zip(sorted(types[name], reverse=True), reversed(symbols))]
    return rows


def lines_of(path):
    """the words of each line that is not a comment"""
    lines = (line.split("#")[0].split() for line in open(path))
    return [words for words in lines if words]


def first_words(path):
    return [words[0] for words in lines_of(path)]


LIBRARIES = {"cublas": "cuBLAS", "cusolver": "cuSOLVER", "cusparse": "cuSPARSE"}


def declarations(texts):
    """{function: (type, [parameter], [its name])} of the libraries' headers"""
    found = {}
    for text in texts:
        code = re.sub(r"^\s*#[^\n]*", "", re.sub(r"\\\n", " ", text), flags=re.M)
        for result, name, inside in re.findall(
                r"\b(cu\w+Status_t)\s+(?:CU\w+API\s+)?(cu\w+)\s*\(([^;{}()]*)\)\s*;", code):
            parameters = [" ".join(p.split()) for p in inside.split(",")]
            found[name] = result, parameters, [re.search(r"(\w*)\W*$", p)[1] for p in parameters]
    return found


def library_call(name, declaration, does, outputs):
    result, parameters, names = declaration
    body, first = [], names[0]
    if does == "creates":
        body.append(f"create({first});")
    elif does == "destroys":
        body.append(f"delete known({first});")
    elif does == "works":
        body.append(f'launch("{name}", {{dim3(1), dim3(1), 0, known({first})->stream}});')
    else:
        library = next(text for prefix, text in LIBRARIES.items() if name.startswith(prefix))
        body.append(f'note_unknown_workspace("{library}");')
    written = [o for o in outputs if o.split("[")[0] in names]
    if bool(written) != bool(outputs):
        raise SystemExit(f"{name} has none of the parameters {', '.join(outputs)}")
    for output in written:
        output, _, count = output.rstrip("]").partition("[")
        body.append(f"if ({output} != nullptr) std::fill_n({output}, {count or 1}, 0);")
    return f"{result} {name}({', '.join(parameters)}) {{\n  " + "\n  ".join(body + ["return {};"]) + "\n}\n"


def library_calls(path, declared):
    text = ['#include <algorithm>\n\n#include <cublas_v2.h>\n#include <cusolverDn.h>\n#include <cusparse.h>\n',
            '#include "profiler/rehearsal/device/kernels.hpp"',
            '#include "profiler/rehearsal/device/library_handle.hpp"',
            '#include "profiler/rehearsal/device/notes.hpp"\n',
            "using namespace foreshard::rehearsal;\n",
            '#pragma GCC diagnostic ignored "-Wunused-parameter"',
            '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n']
    for pattern, does, *outputs in lines_of(path):
        names = fnmatch.filter(declared, pattern)
        if not names:
            raise SystemExit(f"{path} names what no header declares: {pattern}")
        text += [library_call(name, declared[name], does, outputs) for name in sorted(names)]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--harmless", required=True)
    parser.add_argument("--others", required=True)
    parser.add_argument("--calls", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--calls-output", required=True)
    parser.add_argument("headers", nargs="+")
    arguments = parser.parse_args()

    texts = {path: without_comments(open(path, errors="replace").read())
             for path in arguments.headers}
    names = set().union(*map(declared, texts.values()))
    names |= set(first_words(arguments.others))
    typedefs = "".join(t for path, t in texts.items() if path.endswith("cudaTypedefs.h"))
    rows = versions(typedefs, names)
    names |= {symbol for _, _, symbol in rows}

    patterns = first_words(arguments.harmless)
    unused = [p for p in patterns if not fnmatch.filter(names, p)]
    if unused:
        raise SystemExit(f"{arguments.harmless} names what no header declares: {', '.join(unused)}")
    with open(arguments.calls_output, "w") as output:
        output.write(library_calls(arguments.calls, declarations(texts.values())))
    with open(arguments.output, "w") as output:
        output.write('#include "profiler/rehearsal/device/driver_functions.hpp"\n')
        output.write('#include "profiler/rehearsal/device/refusal.hpp"\n\nextern "C" {\n')
        for name in sorted(names):
            if any(fnmatch.fnmatchcase(name, p) for p in patterns):
                output.write(f"[[gnu::weak]] int {name}() {{ return 0; }}\n")
            else:
                body = f'foreshard::rehearsal::refuse("{name}");'
                output.write(f"[[gnu::weak]] void {name}() {{ {body} }}\n")
        output.write("}\n\nnamespace foreshard::rehearsal {\n\n")
        output.write("const std::vector<DriverFunction>& driver_functions() {\n")
        output.write("  static const auto& functions = *new std::vector<DriverFunction>{\n")
        for name, version, symbol in rows:
            output.write(f'      {{"{name}", {version}, reinterpret_cast<void*>(&::{symbol})}},\n')
        output.write("  };\n  return functions;\n}\n\n}  // namespace foreshard::rehearsal\n")


if __name__ == "__main__":
    main()
