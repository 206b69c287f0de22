"""NumPy's part in bench/scoreboard, with SciPy's error function."""

import contestant
import numpy


class NumPy(contestant.Framework):
    xp = numpy

    def __init__(self):
        try:
            from scipy.special import erf
            self.erf = erf
        except ImportError:
            self.erf = None

    def version(self):
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"NumPy {numpy.__version__}, {blas['name']} {blas['version']}"


if __name__ == "__main__":
    contestant.main(NumPy)
