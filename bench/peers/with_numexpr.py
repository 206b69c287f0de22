"""numexpr's part in bench/scoreboard: programs of one expression."""

import contestant
import numexpr


class NumExpr(contestant.Framework):
    def version(self):
        return f"numexpr {numexpr.__version__}, {numexpr.nthreads} threads"

    def expression(self, text, inputs):
        arrays = dict(zip("xy", inputs))
        numexpr.validate(text, local_dict=arrays)
        return lambda: [numexpr.re_evaluate(local_dict=arrays)]

    def chain10(self, inputs, _):
        text = "x"
        for _ in range(5):
            text = f"({text} * y + x)"
        return self.expression(text, inputs)

    def composed_mish(self, inputs, _):
        return self.expression("x * tanh(log1p(exp(x)))", inputs)


if __name__ == "__main__":
    contestant.main(NumExpr, set(contestant.PROGRAMS) - {"chain10", "mish", "composed_mish"})
