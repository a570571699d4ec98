"""Any pytree is a memory: what people write with JAX is trained and measured as it stands, and comes back as it was."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import GetAttrKey, register_dataclass, register_pytree_with_keys

import loadstone
from loadstone import memory
from loadstone.measurements.scores import scores
from loadstone.measurements.spectrum import singular_values
from loadstone.memories.files import save_memory
from loadstone.memories.foreign import Foreign, as_memory
from loadstone.memories.full import Full
from loadstone.memories.recall import recall_index
from loadstone.problems.original import original
from loadstone.solvers.solve import solve, solve_batch
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

D = 10
START = np.asarray(loadstone.initial_memory(D, seed=1).weights)


@partial(register_dataclass, data_fields=["weights"], meta_fields=["sign"])
@dataclass
class Signed:
    weights: jax.Array
    sign: float = 1.0

    def queries(self, inputs):
        return self.sign * inputs @ self.weights.T


@partial(register_dataclass, data_fields=["weights"], meta_fields=["sign"])
@dataclass
class Turned:
    """As many fields as `Signed`: some versions of JAX take the two for each other."""

    weights: jax.Array
    sign: float = 1.0

    def queries(self, inputs):
        return self.sign * inputs @ self.weights


class Factors(NamedTuple):
    left: Any
    right: Any

    def queries(self, inputs, precision):
        assert precision in ("float16", "split", "float32", "float64")
        return inputs @ self.right @ self.left.T

    def matrix(self):
        return self.left @ self.right.T


class Plain(NamedTuple):
    weights: Any
    scale: float


class Module:
    """A pytree as equinox registers its modules: fields are children by name, static ones are not, and an activation is
    a leaf like any other."""

    def __init_subclass__(cls):
        names = tuple(cls.__annotations__)

        def unflatten(aux, children):
            module = object.__new__(cls)
            module.__dict__.update(zip(aux, children))
            return module

        children = lambda module: tuple(module.__dict__[name] for name in names)  # noqa: E731
        keyed = lambda module: (tuple(zip(map(GetAttrKey, names), children(module))), names)  # noqa: E731
        register_pytree_with_keys(cls, keyed, unflatten, lambda module: (children(module), names))


class Layer(Module):
    weight: Any
    bias: Any

    def __init__(self, weight, bias=None):
        self.weight, self.bias = weight, bias

    def __call__(self, x):
        return self.weight @ x if self.bias is None else self.weight @ x + self.bias


class Network(Module):
    layers: Any
    activation: Any

    def __init__(self, layers, activation):
        self.layers, self.activation = layers, activation

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


class Dense:
    """Shaped like a module of flax: it holds no numbers, and is applied to its parameters."""

    def apply(self, variables, inputs):
        return inputs @ variables["params"]["kernel"] + variables["params"]["bias"][None]


def mapped(module, inputs):
    return jax.vmap(module)(inputs)


def scaled(plain, inputs):
    return plain.scale * inputs @ plain.weights.T


def by_key(arrays, inputs):
    return inputs @ arrays["weights"].T


def network(seed=0):
    keys = jax.random.split(jax.random.key(seed), 2)
    layers = [Layer(jax.random.normal(key, shape) / 4, None) for key, shape in zip(keys, ((40, D), (D, 40)))]
    return Network(layers, jax.nn.relu)


GIVEN = {
    "a dataclass that JAX registers": lambda: Signed(jnp.asarray(START), -1.0),
    "a NamedTuple": lambda: Factors(jnp.asarray(START), jnp.eye(D)),
    "a NamedTuple with a function": lambda: memory(Plain(jnp.asarray(START), 2.0), scaled),
    "a dict with a function": lambda: memory({"weights": START}, queries=by_key),
    "an array with a function": lambda: memory(jnp.asarray(START), lambda weights, inputs: inputs @ weights.T),
    "a module": lambda: memory(network(), queries=mapped),
    "parameters": lambda: memory({"params": {"kernel": START, "bias": np.zeros(D, np.float32)}}, Dense().apply),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_any_pytree_is_trained_measured_and_comes_back_as_it_was(kind):
    problem, given = original(Stream(0, D), 12), GIVEN[kind]()
    solution = solve(problem, given)
    assert solution.status == "stored" and type(solution.memory) is type(given)
    assert jax.tree.structure(solution.memory) == jax.tree.structure(given)
    assert loadstone.measure(problem, solution.memory).violations == 0
    assert scores(problem, solution.memory).target.shape == (12,)
    assert recall_index(solution.memory, problem.inputs, outputs=problem.outputs).tolist() == list(range(12))
    if isinstance(given, Foreign):
        assert type(solution.memory.value) is type(given.value)


def test_its_class_and_its_arrays_are_said_in_one_line():
    layers = [Layer(START[:k]) for k in (1, 2, 3, 4)]
    assert repr(memory(FROZEN, fixed="w0")) == (
        "Foreign(Adapted: float32[10, 5] trained, float32[10, 5] trained, float32[10, 10] fixed)"
    )
    shown = "Foreign(Network: float32[1, 10] trained, float32[2, 10] trained, float32[3, 10] trained, ... 4 arrays)"
    assert repr(memory(Network(layers, jax.nn.relu), mapped)) == shown


def test_a_module_keeps_what_is_no_array():
    found = solve(original(Stream(0, D), 12), memory(network(), mapped)).memory.value
    assert found.activation is jax.nn.relu and found.layers[0].bias is None
    assert solve(original(Stream(0, D), 4), memory(Plain(START, 2.0), scaled)).memory.value.scale == 2.0


def test_a_class_that_jax_may_take_for_another_is_not():
    """In either order, in the same process."""
    problem = original(Stream(0, D), 12)
    for given in (Signed(jnp.asarray(START)), Turned(jnp.asarray(START))):
        wrapped = as_memory(given)
        found = solve(problem, given).memory
        assert type(found) is type(given) and loadstone.measure(problem, found).violations == 0
        other = (Turned if type(given) is Signed else Signed)(found.weights)
        assert jax.tree.structure(as_memory(other)) != jax.tree.structure(wrapped)
        assert loadstone.measure(problem, other).violations > 0


def test_what_is_compiled_for_tells_numbers_of_other_types_apart():
    forms = [memory(Plain(START, scale), scaled).form for scale in (1, 1.0, True, 2)]
    assert len(set(forms)) == 4 and forms[0] == memory(Plain(2 * START, 1), scaled).form


@pytest.mark.parametrize("solver, stop", [("adam:0.1", "exact"), ("minibatch", None), ("perceptron", None)])
def test_solvers_that_know_a_memory_only_through_its_pass(solver, stop):
    problem = original(Stream(0, D), 8)
    solution = solve(problem, memory({"weights": START}, by_key), solver=solver, stop=stop, limits=Limits(passes=600))
    alike = solve(problem, Full(jnp.asarray(START)), solver=solver, stop=stop, limits=Limits(passes=600))
    assert solution.status == alike.status and solution.accuracy[-1] == alike.accuracy[-1] == 1
    np.testing.assert_allclose(solution.loss[:20], alike.loss[:20], rtol=1e-4)


def test_over_devices():
    problem = original(Stream(0, D), 8)
    solution = solve(problem, memory(FROZEN, fixed="w0"), devices=1)
    assert solution.status == "stored" and loadstone.measure(problem, solution.memory).violations == 0
    np.testing.assert_array_equal(solution.memory.value.w0, FROZEN.w0)


def test_batches():
    problems = [original(Stream(seed, D), 12) for seed in range(2)]
    for given in ([Signed(jnp.asarray(sign * START)) for sign in (1, -1)], [memory({"weights": START}, by_key)] * 2):
        for problem, start, solution in zip(problems, given, solve_batch(problems, given)):
            assert type(solution.memory) is type(start) and loadstone.measure(problem, solution.memory).violations == 0
    with pytest.raises(ValueError, match="memories is 'of different shapes"):
        solve_batch(problems, [Signed(jnp.asarray(START)), Turned(jnp.asarray(START))])


@pytest.mark.parametrize("kind", ["a dataclass that JAX registers", "a module"])
def test_a_search_goes_on_from_its_checkpoint(kind, tmp_path):
    problem, given = original(Stream(0, D), 12), GIVEN[kind]()
    whole = solve(problem, given, solver="adam:0.05", limits=Limits(passes=40))
    for passes in (15, 40):
        parts = solve(
            problem, given, solver="adam:0.05", limits=Limits(passes=passes), checkpoint=tmp_path / "search.npz"
        )
    assert type(parts.memory) is type(given)
    np.testing.assert_array_equal(parts.loss, whole.loss)
    with pytest.raises(ValueError, match="its start is"):
        solve(problem, None, solver="adam:0.05", limits=Limits(passes=40), checkpoint=tmp_path / "search.npz")


class Adapted(NamedTuple):
    """W0 + A B^T, of which W0 is frozen."""

    w0: Any
    a: Any
    b: Any

    def queries(self, inputs):
        return inputs @ (self.w0 + self.a @ self.b.T).T


FROZEN = Adapted(jnp.asarray(100 * START), jnp.zeros((D, 5)), jnp.asarray(START[:, :5]))


@pytest.mark.parametrize("fixed", ["w0", ["w0"], Adapted(True, False, False)])
def test_what_is_fixed_stays_bit_for_bit(fixed):
    problem = original(Stream(0, D), 8)
    found = solve(problem, memory(FROZEN, fixed=fixed)).memory
    np.testing.assert_array_equal(found.value.w0, FROZEN.w0)
    assert (np.asarray(found.value.a) != FROZEN.a).any() and (np.asarray(found.value.b) != FROZEN.b).any()
    assert loadstone.measure(problem, found).violations == 0


def test_whole_branches_are_fixed_by_a_mask():
    module = network()
    mask = Network([True, False], False)
    found = solve(original(Stream(0, D), 6), memory(module, mapped, fixed=mask)).memory.value
    np.testing.assert_array_equal(found.layers[0].weight, module.layers[0].weight)
    assert (np.asarray(found.layers[1].weight) != module.layers[1].weight).any()


def test_a_class_can_say_itself_what_is_fixed():
    class Own(Adapted):
        fixed = ("w0",)

    given = Own(*FROZEN)
    assert len(jax.tree.leaves(as_memory(given).trained)) == 2 and len(jax.tree.leaves(memory(FROZEN).trained)) == 3
    found = solve(original(Stream(0, D), 6), given).memory
    assert type(found) is Own
    np.testing.assert_array_equal(found.w0, FROZEN.w0)


def test_facts_of_uneven_embeddings_are_whitened_only_for_what_can_be_carried_there_and_back():
    @dataclass
    class Carried(Signed):
        def transformed(self, left, right):
            return Carried(left @ np.asarray(self.weights, np.float64) @ right, self.sign)

        def matrix(self):
            return self.sign * self.weights

    register_dataclass(Carried, ["weights"], ["sign"])
    random = np.random.default_rng(0)
    uneven = np.geomspace(1, 1e-3, D)
    inputs, outputs = (random.standard_normal((12, D)) * uneven for _ in range(2))
    problem = loadstone.facts(inputs, outputs)
    solution = solve(problem, Carried(START))
    assert solution.status == "stored" and type(solution.memory) is Carried
    full = solve(problem, Full(START))
    assert solution.passes <= 2 * full.passes
    np.testing.assert_allclose(singular_values(solution.memory)[0], 2)
    assert memory(Carried(START)).transformed(np.eye(D), np.eye(D)) is not None
    assert memory(Carried(START), fixed="weights").transformed(np.eye(D), np.eye(D)) is None
    assert memory({"weights": START}, by_key).transformed(np.eye(D), np.eye(D)) is None


def test_numbers_of_float64_and_whole_numbers_come_back_as_they_were():
    class Permuted(NamedTuple):
        weights: Any
        order: Any

        def queries(self, inputs):
            return inputs[:, self.order] @ self.weights.T

    given = Permuted(jnp.asarray(START), np.arange(D)[::-1].copy())
    found = solve(original(Stream(0, D), 8), given).memory
    np.testing.assert_array_equal(found.order, given.order)
    assert not jnp.issubdtype(found.order.dtype, jnp.floating)


@pytest.mark.parametrize("call, sentence", [
    (lambda: memory(3.0, by_key), "memory is 'float', but must be a pytree"),
    (lambda: memory(object(), by_key), "memory is 'object', but must be a pytree: register its class with JAX"),
    (lambda: as_memory({"weights": START}), r"memory is 'dict', but must be .*, which has queries\(inputs\), or given"),
    (lambda: as_memory("full"), "memory is 'str', but must be a memory"),
    (lambda: memory({"weights": START}, "no function"), "queries is 'no function', but must be a function"),
    (lambda: memory(FROZEN, fixed="w1"), "fixed is 'w1', but must be one of w0, a, b"),
    (lambda: memory(FROZEN, fixed=Adapted(True, False, 0.5)), "fixed is 'a Adapted', but must be names, or booleans"),
    (lambda: memory(FROZEN, fixed={"w0": True}), "fixed is 'a dict', but must be names, or booleans in the shape"),
    (lambda: memory(Plain(START, []), scaled) and memory(Plain(START, {1}), scaled), "constants can be hashed"),
    (lambda: solve(original(Stream(0, D), 4), memory(FROZEN, fixed=["w0", "a", "b"])), "numbers to train"),
    (
        lambda: solve(original(Stream(0, D), 4), Signed(START), solver="alternating"),
        "memory is 'Signed', but must be LowRank",
    ),
    (lambda: save_memory("never", memory({"weights": START}, by_key)), "memory is 'dict', but must be of a family"),
    (lambda: solve(original(Stream(0, D), 4), memory({"weights": START[:4]}, by_key)), r"shape \(4, 10\)"),
    (lambda: memory({"weights": START}, by_key).matrix(), "is not a linear map"),
    (lambda: Foreign.initial(D, 0), "Foreign does not say how it starts: give a memory"),
])  # fmt: skip
def test_what_cannot_be_a_memory_is_refused(call, sentence):
    with pytest.raises((ValueError, NotImplementedError), match=sentence):
        call()


def test_it_can_be_printed_whatever_its_leaves_are():
    foreign = memory({"weights": START}, by_key)
    assert repr(jax.tree.map(lambda leaf: leaf.ndim, foreign)).startswith("Foreign(dict: 2 trained")
