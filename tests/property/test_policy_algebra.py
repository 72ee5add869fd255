"""The join over any policy file: a semilattice of antichains, and exactly as strict as its statements (spec 2)."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from graphrag_provenance.rules.policies import PolicyLattice, lattice


@st.composite
def lattices(draw: st.DrawFn) -> PolicyLattice:
    """Any finite order, branches and islands included: each policy is above some of the policies made before it."""
    names = draw(st.lists(st.text("abcxyz", min_size=1, max_size=3), min_size=1, max_size=8, unique=True))
    parents = {
        name: draw(st.lists(st.sampled_from(names[:place]), unique=True, max_size=3)) if place else []
        for place, name in enumerate(names)
    }
    return lattice(dict(draw(st.permutations(list(parents.items())))))


@st.composite
def cases(draw: st.DrawFn, sets: int) -> tuple[PolicyLattice, list[list[str]]]:
    policies = draw(lattices())
    statements = st.lists(st.sampled_from(policies.names), max_size=5)
    return policies, [draw(statements) for _ in range(sets)]


@given(cases(3))
def test_the_join_is_associative(case: tuple[PolicyLattice, list[list[str]]]) -> None:
    policies, (a, b, c) = case
    left = policies.join([*policies.join([*a, *b]), *c])
    right = policies.join([*a, *policies.join([*b, *c])])
    assert left == right == policies.join([*a, *b, *c])


@given(cases(2))
def test_the_join_is_commutative(case: tuple[PolicyLattice, list[list[str]]]) -> None:
    policies, (a, b) = case
    assert policies.join([*a, *b]) == policies.join([*b, *a])


@given(cases(1))
def test_the_join_is_idempotent(case: tuple[PolicyLattice, list[list[str]]]) -> None:
    policies, (a,) = case
    assert policies.join([*a, *a]) == policies.join(policies.join(a)) == policies.join(a)


@given(cases(1))
def test_the_join_is_an_antichain_of_statements_and_empty_only_for_none(
    case: tuple[PolicyLattice, list[list[str]]],
) -> None:
    policies, (a,) = case
    joined = policies.join(a)
    assert set(joined) <= set(a)
    assert list(joined) == sorted(set(joined))
    assert bool(joined) == bool(a)
    for one, other in combinations(joined, 2):
        assert one not in policies.below[other]
        assert other not in policies.below[one]


@given(cases(2))
def test_the_join_permits_exactly_the_readers_whom_every_statement_permits(
    case: tuple[PolicyLattice, list[list[str]]],
) -> None:
    policies, (clearances, statements) = case
    allowed = policies.covers(clearances)
    by_each = bool(statements) and all(policies.permits(allowed, [name]) for name in statements)
    assert policies.permits(allowed, policies.join(statements)) == by_each


@given(cases(3))
def test_another_statement_never_lets_a_reader_in(case: tuple[PolicyLattice, list[list[str]]]) -> None:
    policies, (clearances, statements, more) = case
    allowed = policies.covers(clearances)
    if statements and policies.permits(allowed, policies.join([*statements, *more])):
        assert policies.permits(allowed, policies.join(statements))


@given(cases(3))
def test_another_clearance_never_shuts_a_reader_out(case: tuple[PolicyLattice, list[list[str]]]) -> None:
    policies, (clearances, more, statements) = case
    joined = policies.join(statements)
    if policies.permits(policies.covers(clearances), joined):
        assert policies.permits(policies.covers([*clearances, *more]), joined)


@given(cases(1))
def test_what_a_clearance_covers_is_closed_downwards(case: tuple[PolicyLattice, list[list[str]]]) -> None:
    policies, (clearances,) = case
    allowed = policies.covers(clearances)
    assert set(clearances) <= allowed
    for name in allowed:
        assert policies.below[name] <= allowed
        assert set(policies.parents[name]) <= allowed


@given(lattices())
def test_the_order_is_reflexive_transitive_and_antisymmetric(policies: PolicyLattice) -> None:
    for high in policies.names:
        assert high in policies.below[high]
        for middle in policies.below[high]:
            assert policies.below[middle] <= policies.below[high]
            assert middle == high or high not in policies.below[middle]


@given(lattices())
def test_the_hash_follows_the_order_only(policies: PolicyLattice) -> None:
    spelled_out = lattice({name: sorted(policies.below[name] - {name}) for name in reversed(policies.names)})
    assert spelled_out.below == policies.below
    assert spelled_out.hash == policies.hash
