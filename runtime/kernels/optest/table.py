"""What the op test runs: the lines of all families. lines.py says what a line is."""

from __future__ import annotations

from array_table import ARRAYS
from lines import Line
from math_table import MATH
from nn_table import NEURAL
from sparse_table import SPARSE

TABLE: tuple[Line, ...] = MATH + ARRAYS + NEURAL + SPARSE
