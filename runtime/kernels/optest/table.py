"""What the op test runs: the lines and programs of all families. lines.py says what a line is, programs.py a program."""

from __future__ import annotations

from array_table import ARRAYS
from lines import Line
from math_table import MATH
from nn_table import NEURAL
from plain_table import PLAIN_PROGRAMS
from sparse_table import SPARSE
from state_table import PROGRAMS as STATE
from state_table import Program
from train_table import TRAINING

TABLE: tuple[Line, ...] = MATH + ARRAYS + NEURAL + SPARSE
PROGRAMS: tuple[Program, ...] = STATE + PLAIN_PROGRAMS + TRAINING
