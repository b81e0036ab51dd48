"""What the op test runs: the lines and programs of all families. lines.py says what a line is, programs.py a program."""

from __future__ import annotations

from array_table import ARRAYS
from container_table import CONTAINERS
from cross_table import CROSSES
from image_table import IMAGE_FILES, IMAGE_LINES
from linalg_table import LINALG
from lines import Line
from math_table import MATH
from nn_table import NEURAL
from parsing_table import PARSING
from plain_table import PLAIN_PROGRAMS
from ragged_table import RAGGED, RAGGED_LINES
from recurrent_table import RECURRENT
from sampling_table import SAMPLING
from set_table import SETS
from sparse_table import SPARSE
from special_table import SPECIAL
from state_table import PROGRAMS as STATE
from state_table import Program
from train_table import TRAINING
from unicode_table import UNICODE
from volume_table import VOLUMES

TABLE: tuple[Line, ...] = MATH + ARRAYS + NEURAL + SPARSE + SPECIAL + LINALG + VOLUMES + RECURRENT + IMAGE_LINES + RAGGED_LINES
PROGRAMS: tuple[Program, ...] = (STATE + PLAIN_PROGRAMS + TRAINING + PARSING + CONTAINERS + UNICODE + CROSSES + SETS +
                                 SAMPLING + IMAGE_FILES + RAGGED)
