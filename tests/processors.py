"""For `make processors`: runs the suite as on processors of other kinds, whose instructions round differently.

Four things choose instructions by the processor: the products of NumPy (OpenBLAS), its loops, XLA's programs, and the
compiler of our own kernel. Arguments go to pytest. Without any, the whole suite is run, as `make suite` does.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from compiler import flags  # beside this file

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # another version of NumPy
    __cpu_dispatch__, __cpu_features__ = [], {}

#: Those of NumPy's loops that need AVX-512; NumPy refuses to switch off what is not there.
_WIDE = [name for name in __cpu_dispatch__ if ("AVX512" in name or name == "X86_V4") and __cpu_features__.get(name)]
_AVX2 = {
    "NPY_DISABLE_CPU_FEATURES": " ".join(_WIDE),
    "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    "LOADSTONE_CPU_KERNEL_FLAGS": "-march=haswell",
}
#: Settings in the environment, by kind, and what the processor must have to do as if it were of that kind.
KINDS = {
    "Haswell": ({"OPENBLAS_CORETYPE": "Haswell", **_AVX2}, "avx2"),
    "Zen": ({"OPENBLAS_CORETYPE": "Zen", **_AVX2}, "avx2"),
    "SkylakeX": ({"OPENBLAS_CORETYPE": "SkylakeX"}, "avx512f"),
}


def environment(kind: str, folder: Path) -> dict[str, str]:
    """The environment of a suite on a processor of this kind, with compiled programs of its own in a folder."""
    settings, _ = KINDS[kind]
    settings = {name: value for name, value in settings.items() if value}
    return os.environ | settings | {
        "XLA_FLAGS": " ".join([*flags(), settings.get("XLA_FLAGS", "")]).strip(),
        "OPENBLAS_NUM_THREADS": "1",
        "JAX_COMPILATION_CACHE_DIR": str(folder / f"programs-{kind}"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }  # fmt: skip


def features() -> set[str]:
    """What this processor has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith("flags") for word in line.split()}


def main() -> None:
    failed, here = [], features()
    for kind, (_, needed) in KINDS.items():
        if needed not in here:
            print(f"{kind}: this processor has no {needed}.", flush=True)
            continue
        print(f"{kind} (NumPy {np.__version__}):", flush=True)
        command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
        failed += [kind] * bool(subprocess.run(command, env=environment(kind, Path(sys.prefix))).returncode)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
