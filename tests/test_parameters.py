"""Values that are given by a name and parameters, as text."""

from dataclasses import dataclass, field

import pytest

from loadstone.parameters import changed_parameters, made, made_from_text, named, text_of


@dataclass(frozen=True)
class Student:
    nu: float
    scale: float = 1.0
    centred: bool = True
    names: tuple = field(default_factory=tuple)
    hidden: int = field(default=0, init=False)


@dataclass(frozen=True)
class Plain:
    pass


KNOWN = {"student": Student, "plain": Plain}


@pytest.mark.parametrize("text, expected", [
    ("student:3", Student(3)), ("student:nu=3", Student(3)), ("student:3,2.5", Student(3, 2.5)), ("plain", Plain()),
    ("student: 3 , centred = FALSE", Student(3, centred=False)), ("student:3,scale=1e-2", Student(3, 0.01)),
    ("plain:", Plain()), ("student:3,2,true,word", Student(3, 2, True, "word")),
])  # fmt: skip
def test_a_value_comes_from_its_text(text, expected):
    found = made_from_text("law", text, KNOWN)
    assert found == expected and [type(one) for one in vars(found).values()] == [
        type(one) for one in vars(expected).values()
    ]


@pytest.mark.parametrize("text, sentence", [
    (3, "law is 3, but must be one of student, plain."), ("gauss", "'gauss', but must be one of student, plain.$"),
    ("studnet:3", r"one of student, plain \(did you mean 'student'\?\)."),
    ("student", "law is 'student', but must be given with nu, which"),
    ("student:1,2,true,w,5", r"must be student with at most 4 parameters \(nu, scale, centred, names\)."),
    ("plain:1", "must be plain with no parameters."),
    ("plain:x=1", "law parameter is 'x', but must be left out: plain has no"),
    ("student:hidden=1", r"'hidden', but must be a parameter of student \(nu, scale, centred, names\)."),
    ("student:scale=1", "given with nu, which has no default"),
])  # fmt: skip
def test_a_text_that_means_nothing_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        made_from_text("law", text, KNOWN)


def test_only_what_differs_from_its_default_is_written():
    assert changed_parameters(Student(3, 1.0, False)) == {"nu": 3, "centred": False, "names": ()}
    assert (
        text_of("plain", Plain()) == "plain"
        and text_of("student", Student(3, 2.0)) == "student:nu=3,scale=2.0,names=()"
    )
    assert named("law", "plain", KNOWN) is Plain and made("law", "student", Student, {"nu": 1}) == Student(1)
