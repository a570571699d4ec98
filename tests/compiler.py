"""For `make test`: prints flags of XLA that make it compile faster and optimise less."""

from importlib.metadata import version


def flags() -> list[str]:
    """Those that the installed XLA knows: it stops at any other."""
    found = ["--xla_backend_optimization_level=0", "--xla_cpu_parallel_codegen_split_count=1"]
    if [int(part) for part in version("jaxlib").split(".")[:2]] < [0, 11]:
        found.append("--xla_cpu_use_fusion_emitters=false")  # later versions have no choice of emitters
    return found


if __name__ == "__main__":
    print(*flags())
