"""Which implementation does a pass, for every kind of outputs, size and device; and what a device can run."""

import inspect
from importlib import import_module
from types import SimpleNamespace

import jax.numpy as jnp
import pytest

from loadstone.kernels import decoupled_float16_triton, decoupled_triton, devices, shared_cpu, table
from loadstone.kernels.outputs import SharedOutputs
from loadstone.kernels.table import Case

MOST, MANY = 2**42, 10**8


@pytest.fixture
def device(monkeypatch):
    """A CPU with the fused pass, a GPU of the Ampere or of the Hopper kind, or one that has no kernels."""

    def be(name):
        monkeypatch.setattr(devices, "has_hopper_kernel", lambda: name == "Hopper")
        monkeypatch.setattr(devices, "is_hopper", lambda: name == "Hopper")
        monkeypatch.setattr(devices, "has_triton_kernels", lambda: name in ("Ampere", "Hopper"))
        monkeypatch.setattr(shared_cpu, "available", lambda: name == "CPU")

    return be


def file_of(job="shared_pass", **changes):
    usual = {"precision": "float32", "queries": 30, "competitors": 40, "d": 20, "dtype": jnp.float32}
    chosen = table.kernel(job, Case(**usual | changes))
    return chosen and chosen.__module__.removeprefix("loadstone.kernels.")


@pytest.mark.parametrize("changes, file", [
    ({"queries": 2**21, "competitors": 2**21}, "hopper.to_256"),
    ({"queries": 2**21, "competitors": 2**21 + 1}, "shared_xla"),
    ({"d": 256}, "hopper.to_256"), ({"d": 257}, "hopper.to_512"), ({"d": 512}, "hopper.to_512"),
    ({"d": 512, "queries": 2**21, "competitors": 2**21 + 1}, "shared_xla"),
    ({"d": 513, "queries": 10**4, "competitors": 10**4}, "hopper.wide"),
    ({"d": 513, "queries": 10**4, "competitors": 10**4 - 1}, "shared_xla"),
    ({"dtype": jnp.float64}, "shared_xla"), ({"precision": "float32"}, "shared_xla"),
    ({"precision": "split"}, "shared_split"), ({"precision": "split", "dtype": jnp.float64}, "shared_xla"),
    ({"precision": "split", "queries": 2000, "competitors": 1000}, "hopper.wide"),
    ({"precision": "split", "queries": 2000, "competitors": 999}, "shared_split"),
    ({"precision": "split", "queries": 2000, "competitors": 1000, "dtype": jnp.float64}, "shared_xla"),
])  # fmt: skip
def test_shared_outputs_on_a_hopper(device, changes, file):
    device("Hopper")
    assert (devices.MOST_SCORES, devices.MANY_SCORES) == (MOST, MANY)
    assert file_of(**{"precision": "float16"} | changes) == file


def test_shared_outputs_on_a_cpu_and_on_other_devices(device):
    device("CPU")
    for job in ("shared_pass", "linear_step"):
        assert file_of(job) == "shared_cpu"
        for changes in ({"precision": "float16"}, {"dtype": jnp.float64}, {"padded": True}):
            assert file_of(job, **changes) == ("shared_xla" if job == "shared_pass" else None)
    device("Ampere")
    assert file_of() == file_of(precision="float16") == "shared_xla" and file_of("linear_step") is None


def test_outputs_of_each_input(device):
    for name, stored, halves, regenerated in (
        ("CPU", "decoupled_xla", "decoupled_xla", "decoupled_xla"),
        ("Ampere", "decoupled_triton", "decoupled_triton", "decoupled_regenerated_triton"),
        ("Hopper", "decoupled_triton", "decoupled_float16_triton", "decoupled_regenerated_triton"),
    ):
        device(name)
        assert file_of("stored_pass", d=128) == stored
        for d, competitors in ((128, 40), (256, 48)):
            assert file_of("stored_pass", held=jnp.float16, d=d, competitors=competitors) == halves
        for d, competitors in ((127, 40), (257, 40), (128, 41)):
            assert file_of("stored_pass", held=jnp.float16, d=d, competitors=competitors) == stored
        assert file_of("regenerated_pass", law="gaussian") == regenerated
        doubles = {"law": "gaussian", "held": jnp.float16, "d": 128, "dtype": jnp.float64}
        assert file_of("regenerated_pass", law="sphere") == "decoupled_xla"
        assert file_of("regenerated_pass", **doubles) == file_of("stored_pass", **doubles) == "decoupled_xla"


@pytest.mark.parametrize("capability, triton, hopper", [
    ("7.5", False, False), ("8.0", True, False), ("8.9", True, False), ("9.0", True, True), ("10.0", True, False),
    ("gfx90a", False, False),
])  # fmt: skip
def test_what_a_gpu_can_run(monkeypatch, caplog, capability, triton, hopper):
    caplog.set_level("INFO", "loadstone")
    cached = devices.has_triton_kernels, devices.has_hopper_kernel, devices._capability
    monkeypatch.setattr(devices.jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(devices.jax, "devices", lambda: [SimpleNamespace(compute_capability=capability, core_count=78)])
    try:
        for switch in ("1", "0"):
            monkeypatch.setenv("LOADSTONE_GPU_KERNELS", switch)
            for one in cached:
                one.cache_clear()
            on = switch == "1"
            assert (devices.has_triton_kernels(), devices.has_hopper_kernel()) == (on and triton, on and hopper)
            assert devices.is_hopper() == (on and hopper) and devices.processors() == 78
            # A GPU that is not the right one is told so.
            assert ("is made for Hopper GPUs" in caplog.text) == (on and not hopper and capability != "gfx90a")
            caplog.clear()
    finally:
        for one in cached:
            one.cache_clear()


def test_without_a_gpu_programs_are_compiled_for_an_h200():
    assert devices.processors() == 132 and not devices.has_triton_kernels() and not devices.is_hopper()


@pytest.mark.parametrize("kernel", [decoupled_triton, decoupled_float16_triton])
def test_kernels_refuse_shapes_that_do_not_fit(kernel):
    """They would read beyond the end of an array."""
    for queries, outputs in (((4, 3), (4, 5, 6)), ((4, 3), (5, 3, 6)), ((4,), (4, 3, 6)), ((4, 3), (4, 3))):
        with pytest.raises(ValueError, match="shape is"):
            kernel.stored_recall(jnp.int32(4), jnp.int32(0), jnp.ones(queries), jnp.ones(outputs, jnp.float16))


@pytest.mark.parametrize(
    "row", [row for row in table.TABLE if row.job.endswith("_pass")], ids=lambda row: f"{row.module}.{row.job}"
)
def test_every_kernel_of_a_pass_takes_queries_outputs_and_a_precision(row):
    kernel = getattr(import_module(f"loadstone.kernels.{row.module}"), row.job)
    assert [*inspect.signature(kernel).parameters] == [*inspect.signature(getattr(table, row.job)).parameters]


def test_the_cpu_kernel_refuses_padding():
    outputs = SharedOutputs(jnp.ones((5, 3)), jnp.arange(4, dtype=jnp.int32), 4, jnp.int32(2))
    with pytest.raises(ValueError, match="count is .*, but must be None: the fused CPU pass has no padding"):
        shared_cpu.shared_pass(jnp.ones((4, 3)), outputs, "float32")
