import numpy as np

import lamcts
from lamcts.spaces.fixed import fixed
from lamcts.spaces.named_parameters import NamedParameters


def test_a_signature_names_every_parameter_and_what_it_cannot_tell_stays_encoded():
    inner = lamcts.Space([lamcts.Int(1, 3), lamcts.Bool()])
    space = lamcts.Space({"b": lamcts.Box(0, [1, 2]), "in": inner, "c": lamcts.Choice(["u", "v", "w"])})
    named = NamedParameters(space.signature(), space.dim)
    assert named.known and named.names == ["b.1", "b.2", "in.1", "in.2", "c"]
    x = space.encode({"b": [0.5, 1], "in": (2, True), "c": "w"})[None]
    assert [column[0] for column in named.values(x)] == [0.5, 1.0, 2, "True", "w"]
    assert NamedParameters(lamcts.Box(0, 1, dim=2).signature(), 2).names == ["x1", "x2"]
    for signature in (None, {"kind": "new"}, {"kind": "product", "names": ["a"], "members": []}, [1]):
        strange = NamedParameters(signature, 2)
        assert not strange.known and strange.names == ["x1 (encoded)", "x2 (encoded)"]
        assert strange.values(np.array([[0.25, 0.5]])) == [[0.25], [0.5]]


def test_what_is_fixed_is_no_parameter_and_the_others_keep_their_names():
    whole = lamcts.Space({"a": lamcts.Float(0, 1), "b": lamcts.Int(1, 3), "c": lamcts.Bool()})
    space = fixed(whole, {"b": 2})
    named = NamedParameters(space.signature(), space.dim)
    assert named.names == ["a", "c"] and named.values(np.array([[0.5, 1.0]])) == [[0.5], ["True"]]
    space = fixed(lamcts.Box(0, [1, 2, 4]), {0: 0.5})
    named = NamedParameters(space.signature(), space.dim)
    assert named.names == ["x2", "x3"] and named.values(np.array([[0.5, 0.25]])) == [[1.0], [1.0]]
