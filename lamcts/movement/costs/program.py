"""What loop nests and their tilings share: accesses in program order, and the reuse distances of them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from lamcts.movement.costs.distances import ReuseDistances
from lamcts.movement.costs.layout import Layout
from lamcts.movement.costs.reuse import check_length, of_pieces, words_of_line
from lamcts.movement.costs.statement import Statement
from lamcts.movement.costs.steady import NotSteady, steady_distances, steady_rounds
from lamcts.movement.costs.trace import Body, trace
from lamcts.movement.costs.volume import iterations


class Program(ABC):
    """Statements in loops, whose accesses have an order."""

    statements: tuple[Statement, ...]
    sizes: Mapping[str, int]

    @property
    @abstractmethod
    def body(self) -> Body:
        """The loops and statements as a tree, in the order of execution."""

    def accesses(self, registers: Iterable[str] = ()) -> int:
        """Return the number of accesses to memory.

        Parameters
        ----------
        registers : iterable of str, default ()
            Arrays that are held in registers: accesses to them do not count.

        Returns
        -------
        int
            The number of reads and writes.

        Raises
        ------
        ValueError
            If the program has no array of a name in `registers`.
        """
        held = self._registers(registers)
        each = [sum(access.array not in held for access in statement.accesses) for statement in self.statements]
        counts = [iterations(statement.loops, self.sizes) for statement in self.statements]
        return sum(count * accesses for count, accesses in zip(counts, each, strict=True))

    def addresses(
        self, line: int | None = None, element_bytes: int = 8, registers: Iterable[str] = ()
    ) -> NDArray[np.int32]:
        """Return the address trace: the word of each access, or its line, in program order.

        Parameters
        ----------
        line : int or None, default None
            Bytes of a cache line, a power of two. None: addresses of words.
        element_bytes : int, default 8
            Bytes of an element of an array; `line` must be a multiple.
        registers : iterable of str, default ()
            Arrays that are held in registers: accesses to them do not count.

        Returns
        -------
        array of shape (accesses,)
            Row-major arrays one after the other, each from the start of a line, in order of first appearance.

        Raises
        ------
        ValueError
            If there are more than 2e8 accesses, or an argument is out of range.

        Examples
        --------
        >>> from lamcts.movement import costs
        >>> costs.nest("for i,j in N: y[i] += A[i,j]*x[j]", N=2).addresses()
        array([0, 4, 6, 6, 1, 5, 6, 6, 2, 4, 7, 7, 3, 5, 7, 7], dtype=int32)
        """
        words, held = words_of_line(line, element_bytes), self._registers(registers)
        check_length(self.accesses(held), None)
        pieces = [piece // words for piece in trace(self.body, Layout.of(self.statements, self.sizes, words), held)]
        return np.concatenate([np.empty(0, np.int32), *pieces])

    def reuse_distances(
        self,
        line: int | None = None,
        element_bytes: int = 8,
        sample: float | None = None,
        steady: bool | None = None,
        registers: Iterable[str] = (),
    ) -> ReuseDistances:
        """Return the reuse distances of all accesses, exactly unless `sample` is set.

        Parameters
        ----------
        line : int or None, default None
            Bytes of a cache line, a power of two. None: each element is a line of its own.
        element_bytes : int, default 8
            Bytes of an element of an array; `line` must be a multiple.
        sample : float or None, default None
            Share of the data to measure, in (0, 1]. None: all, exactly.
        steady : bool or None, default None
            Whether to measure the first passes of the outermost loop alone, and to multiply the last of them. True:
            raise an error if the passes differ. None: if all later passes are the same. The result is exact.
        registers : iterable of str, default ()
            Arrays that are held in registers: accesses to them do not count.

        Returns
        -------
        ReuseDistances
            How often each distance occurs.

        Raises
        ------
        ValueError
            If more than 2e8 accesses are to be measured exactly, the program has no steady state where `steady` is
            True, or an argument is out of range.

        Notes
        -----
        A pass of the outermost loop is the pass before with every array moved by a constant, if no inner range depends
        on the outermost variable and all accesses to an array move alike. A datum is then used again within a bounded
        number of passes, and all later passes have the same distances. `lamcts.movement.costs.steady` proves that from
        the indices, and compares three passes. A last pass over clipped tiles is measured after them.

        Examples
        --------
        >>> from lamcts.movement import costs
        >>> product = costs.nest("for i,j,k in N: C[i,j] += A[i,k]*B[k,j]", N=48)
        >>> product.reuse_distances().misses(192)
        115200
        >>> product.tiled(i=12, j=12, k=1).reuse_distances().misses(192)
        20736
        """
        words, held = words_of_line(line, element_bytes), self._registers(registers)
        layout = Layout.of(self.statements, self.sizes, words)
        if steady and sample is not None:
            raise ValueError("sample: expected None where steady=True, which is exact; leave one of them out")
        if steady or (steady is None and sample is None):
            try:
                rounds = steady_rounds(self.body, layout, words, held)
                if rounds.worthwhile:
                    return steady_distances(rounds, layout, words, held)
            except NotSteady:
                if steady:
                    raise
        check_length(self.accesses(held), sample)
        pieces = (piece // words for piece in trace(self.body, layout, held))
        return of_pieces(pieces, -(-layout.words // words), words, sample)

    def _registers(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names of arrays in registers; ValueError for names that are no arrays."""
        found = frozenset([names] if isinstance(names, str) else names)
        arrays = {access.array for statement in self.statements for access in statement.accesses}
        if unknown := sorted(found - arrays):
            raise ValueError(f"registers: expected arrays of {', '.join(sorted(arrays))}, got {unknown[0]!r:.40}")
        return found
