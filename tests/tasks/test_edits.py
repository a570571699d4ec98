"""What edits lose: counted again from the definitions, and a refit beside the proved capacity of the stream."""

import numpy as np
from scipy.optimize import minimize

from loadstone.problems.instance import Instance
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.margin import maximum_margin
from loadstone.streams.stream import Stream
from loadstone.studies.kit.rows import row_of
from loadstone.tasks.capacity import exact_capacity
from loadstone.tasks.edits import Edits, edited

D, P = 6, 8
STREAM = Stream(1, D)


def recalled(weights, inputs, outputs, targets):
    return np.argmax(inputs @ weights.T @ outputs.T, axis=1) == targets


def counts(method, action, edits):
    status, found = edited(Instance(STREAM, P), Edits(method, action, edits))
    assert status == "edited"
    return found


def test_a_refit_keeps_everything_up_to_the_capacity_and_no_old_fact_is_lost():
    p_c = exact_capacity(Instance(STREAM, D)).p_c
    found = counts("refit", "add", p_c - P + 4)
    assert [one.edits for one in found if not one.missed][-1] == p_c - P  # every number is counted, as there are few
    assert found[-1].edits == p_c - P + 4 and found[-1].missed > 0
    assert all(one.lost == one.undecided == 0 for one in found)


def test_nothing_is_lost_by_a_refit_that_changes_answers():
    assert all(one.lost == one.missed == 0 for one in counts("refit", "change", P))


def test_the_first_edits_are_those_of_the_definition():
    """Dense algebra and a general solver: the query at which the new answer wins by the median margin, then the least
    squares over the old inputs."""
    first, more = Instance(STREAM, P).arrays(), Instance(STREAM, P + 1).arrays()
    weights = np.asarray(maximum_margin(first, 0.01).memory.weights)
    inputs, outputs = more.inputs.astype(float), more.outputs.astype(float)
    scores = inputs[:P] @ weights.T @ outputs[:P].T
    rivals = np.where(np.eye(P, dtype=bool), -np.inf, scores).max(axis=1)
    margin, key, old = np.median(np.diag(scores) - rivals), inputs[P], inputs[:P]
    differences, centred = (outputs[P] - outputs)[:P], outputs - outputs.mean(axis=0)
    best = minimize(
        lambda step: np.sum((centred @ step) ** 2), np.zeros(D), jac=lambda step: 2 * centred.T @ (centred @ step),
        constraints={"type": "ineq", "fun": lambda step: differences @ (weights @ key + step) - margin,
                     "jac": lambda step: differences}, method="SLSQP", options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    # At this tolerance the solver may stop because it can gain nothing more.
    assert best.status in (0, 8) and (differences @ (weights @ key + best.x) - margin).min() > -1e-9
    direction = np.linalg.solve(old.T @ old, key)
    exactly = weights + np.outer(best.x, direction) / (key @ direction)
    lam = D / P / 9
    table = np.vstack([np.sqrt(lam) * old, key])
    aims = np.vstack([np.sqrt(lam) * old @ weights.T, weights @ key + best.x])
    weighed = np.linalg.lstsq(table, aims)[0].T
    for method, changed in (("rank-one", exactly), ("batch", weighed)):
        there = recalled(changed, inputs, outputs, more.targets)
        (one,) = counts(method, "add", 1)
        assert (one.lost, one.missed) == ((~there[:P]).sum(), (~there[P:]).sum())


def test_few_edits_are_all_counted_and_many_at_some():
    assert Edits(edits=5).counts() == [1, 2, 3, 4, 5] and Edits(edits=1).counts() == [1]
    many = Edits(edits=1000).counts()
    assert many[0] == 1 and many[-1] == 1000 and len(many) < 30 and many == sorted(set(many))


def test_a_changed_fact_is_missed_until_it_is_learnt_and_the_others_count_as_lost_only_without_their_own_answer():
    """Of facts that all change, none can be lost; of those that stay, a batch of one change keeps most."""
    (*_, last) = counts("rank-one", "change", P)
    assert last.edits == P and last.lost == 0 and last.missed < P
    (first,) = counts("batch", "change", 1)
    assert (first.edits, first.missed) == (1, 0) and first.lost < P - 1


def test_edits_are_a_record_and_too_many_facts_leave_none():
    parameters = {"method": "batch", "action": "change", "edits": 4}
    (record,) = perform([Spec("original", D, P, 1, solver="edits", parameters=parameters)])
    row = row_of(record.spec, record.result)
    assert (row["solver"], row["status"], row["edits"]) == ("edits", "edited", [1, 2, 3, 4])
    assert [len(row[name]) for name in ("lost", "missed", "undecided")] == [4, 4, 4]
    assert [one.lost for one in counts("batch", "change", 4)] == row["lost"]
    (record,) = perform([Spec("original", 4, 60, solver="edits")])
    assert record.result == {"status": "not storable"}
