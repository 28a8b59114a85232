"""Results in pandas: the reactions of a slider-crank by crank angle."""

import bellcrank as bc
import numpy as np

r = bc.example("slider-crank").run()
frame = r.to_pandas().set_index("time")
forces = frame.filter(regex=r"\.f[xy]$")
print(forces.describe().loc[["min", "max", "mean"]].T)

# the same from the folder that the command line writes
print(f"{len(frame)} frames, {len(frame.columns)} channels; the largest reaction is {np.abs(forces).max().max():.1f} N")
assert len(frame) == r.rows and not forces.empty
