"""The kernels from a text, as a notebook compiles them: in IPython, a cell that
begins with %%tvmffi does the same.

    python examples/20_one_kernel/use_notebook.py
"""

from pathlib import Path

import numpy as np
import tvmffi
from call_kernels import call_kernels

source = Path(__file__).with_name("kernels.c").read_text()
call_kernels(tvmffi.load_inline(source, name="one_kernel"),
             lambda rows: np.array(rows, dtype="float32"), np.from_dlpack)
