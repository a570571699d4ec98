"""Records as rows, and how rows are put together."""

from loadstone.studies.kit.rows import grouped, row_of


def test_the_spec_wins_over_a_result_that_says_otherwise():
    spec, result = {"d": 20, "p": 60, "form": "auto"}, {"d": 500, "form": "stored", "loss": 0.5, "circumstances": 1}
    row = row_of(spec, result, {"seconds": 2.0})
    assert row == {"d": 20, "p": 60, "form": "auto", "loss": 0.5, "circumstances": {"seconds": 2.0}}
    assert row_of(spec, result)["circumstances"] == {}


def test_a_solver_with_parameters_is_known_by_its_name():
    row = row_of({"d": 20, "solver": {"name": "sgd", "learning_rate": 0.1}}, {"loss": 0.5})
    assert (row["solver"], row["parameters"]) == ("sgd", {"learning_rate": 0.1})
    assert "parameters" not in row_of({"solver": "reach"}, {})


def test_groups_come_in_the_order_of_their_values_and_rows_in_their_own():
    rows = [{"d": d, "p": p, "number": number} for number, (d, p) in enumerate([(3, 1), (2, 9), (3, 1), (2, 4)])]
    assert grouped(rows, "d", "p") == [((2, 4), [rows[3]]), ((2, 9), [rows[1]]), ((3, 1), [rows[0], rows[2]])]
    assert grouped(rows, "d") == [((2,), [rows[1], rows[3]]), ((3,), [rows[0], rows[2]])]
    assert grouped([], "d") == []
