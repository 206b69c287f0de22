"""The programs of networks.cpp in JAX and torch (see programs.py)."""

from programs import module, program


def layer(name):
    """Registers torch's and JAX's function of (functions, arguments, *inputs), and their gradients."""
    def register(function):
        def torch_gradients(xp, a, *inputs):
            with xp.enable_grad():
                given = [x.detach().requires_grad_() for x in inputs]
                loss = function(TorchLayers, a, *given).square().mean()
                return joined(xp, xp.autograd.grad(loss, given))

        def jax_gradients(xp, a, *inputs):
            def loss(*given):
                return xp.mean(xp.square(function(JaxLayers, a, *given)))
            return joined(xp, module("jax").grad(loss, argnums=tuple(range(len(inputs))))(*inputs))

        program("torch", name=name)(lambda xp, a, *inputs: function(TorchLayers, a, *inputs))
        program("jax", name=name)(lambda xp, a, *inputs: function(JaxLayers, a, *inputs))
        program("torch", name=name + "_gradients")(torch_gradients)
        program("jax", name=name + "_gradients")(jax_gradients)
        return function
    return register


def joined(xp, slopes):
    result = slopes[0]
    for slope in slopes[1:]:
        result = result + xp.sum(slope)
    return result


class TorchLayers:
    """What a network takes from torch."""

    @staticmethod
    def functional():
        return module("torch").nn.functional

    @classmethod
    def layer_norm(cls, x, weight, bias):
        return cls.functional().layer_norm(x, x.shape[-1:], weight, bias)

    @classmethod
    def group_norm(cls, x, groups, weight, bias):
        return cls.functional().group_norm(x, groups, weight, bias)

    @classmethod
    def batch_norm(cls, x, weight, bias):
        return cls.functional().batch_norm(x, None, None, weight, bias, training=True)

    @classmethod
    def conv(cls, x, w):
        convolve = cls.functional().conv1d if x.ndim == 3 else cls.functional().conv2d
        return convolve(x, w, padding=w.shape[-1] // 2)

    @classmethod
    def conv_transpose(cls, x, w):
        return cls.functional().conv_transpose2d(x, w, stride=2)

    @classmethod
    def max_pool(cls, x):
        return cls.functional().max_pool2d(x, 2)

    @classmethod
    def attention(cls, q, k, v):
        return cls.functional().scaled_dot_product_attention(q, k, v)

    @classmethod
    def gelu(cls, x):
        return cls.functional().gelu(x)

    @classmethod
    def relu(cls, x):
        return cls.functional().relu(x)

    @classmethod
    def softmax(cls, x):
        return cls.functional().softmax(x, -1)

    @staticmethod
    def transposed(x, axes):
        return x.permute(axes)

    @staticmethod
    def lstm(x, weights):
        torch = module("torch")
        start = torch.zeros(1, x.shape[0], weights[1].shape[1])
        return torch._VF.lstm(x, (start, start), weights, True, 1, 0.0, False, False, True)[0]

    @staticmethod
    def gru(x, weights):
        torch = module("torch")
        start = torch.zeros(1, x.shape[0], weights[1].shape[1])
        return torch._VF.gru(x, start, weights, True, 1, 0.0, False, False, True)[0]


class JaxLayers:
    """What a network takes from JAX."""

    @staticmethod
    def normalised(x, axes):
        xp = module("jax").numpy
        mean = xp.mean(x, axis=axes, keepdims=True)
        var = xp.var(x, axis=axes, keepdims=True)
        return (x - mean) * module("jax").lax.rsqrt(var + 1e-5)

    @staticmethod
    def by_channel(y, weight, bias):
        shape = (1, -1) + (1,) * (y.ndim - 2)
        return y * weight.reshape(shape) + bias.reshape(shape)

    @classmethod
    def layer_norm(cls, x, weight, bias):
        return cls.normalised(x, (-1,)) * weight + bias

    @classmethod
    def group_norm(cls, x, groups, weight, bias):
        y = cls.normalised(x.reshape(x.shape[0], groups, -1), (-1,)).reshape(x.shape)
        return cls.by_channel(y, weight, bias)

    @classmethod
    def batch_norm(cls, x, weight, bias):
        return cls.by_channel(cls.normalised(x, (0, 2, 3)), weight, bias)

    @staticmethod
    def conv(x, w):
        axes = x.ndim - 2
        return module("jax").lax.conv_general_dilated(
            x, w, (1,) * axes, [(w.shape[-1] // 2,) * 2] * axes)

    @staticmethod
    def conv_transpose(x, w):
        edge = w.shape[-1] - 1
        flipped = module("jax").numpy.flip(w, (2, 3)).swapaxes(0, 1)
        return module("jax").lax.conv_general_dilated(
            x, flipped, (1, 1), [(edge, edge)] * 2, lhs_dilation=(2, 2))

    @staticmethod
    def max_pool(x):
        lax = module("jax").lax
        return lax.reduce_window(x, float("-inf"), lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "valid")

    @classmethod
    def attention(cls, q, k, v):
        scores = (q @ k.swapaxes(-1, -2)) * (q.shape[-1] ** -0.5)
        return cls.softmax(scores) @ v

    @staticmethod
    def gelu(x):
        return module("jax").nn.gelu(x, approximate=False)

    @staticmethod
    def relu(x):
        return module("jax").nn.relu(x)

    @staticmethod
    def softmax(x):
        return module("jax").nn.softmax(x)

    @staticmethod
    def transposed(x, axes):
        return x.transpose(axes)

    @staticmethod
    def scan(cell, start, x, weights):
        """The states' first parts: of cell(state, what the inputs give)."""
        by_inputs = (x @ weights[0].T + weights[2]).swapaxes(0, 1)
        def step(state, given):
            state = cell(state, given, state[0] @ weights[1].T + weights[3])
            return state, state[0]
        return module("jax").lax.scan(step, start, by_inputs)[1].swapaxes(0, 1)

    @classmethod
    def lstm(cls, x, weights):
        jax = module("jax")
        zero = jax.numpy.zeros((x.shape[0], weights[1].shape[1]), x.dtype)

        def cell(state, given, own):
            i, f, g, o = jax.numpy.split(given + own, 4, axis=-1)
            c = jax.nn.sigmoid(f) * state[1] + jax.nn.sigmoid(i) * jax.numpy.tanh(g)
            return jax.nn.sigmoid(o) * jax.numpy.tanh(c), c
        return cls.scan(cell, (zero, zero), x, weights)

    @classmethod
    def gru(cls, x, weights):
        jax = module("jax")
        zero = jax.numpy.zeros((x.shape[0], weights[1].shape[1]), x.dtype)

        def cell(state, given, own):
            gr, gz, gn = jax.numpy.split(given, 3, axis=-1)
            r, z, n = jax.numpy.split(own, 3, axis=-1)
            r, z = jax.nn.sigmoid(gr + r), jax.nn.sigmoid(gz + z)
            n = jax.numpy.tanh(gn + r * n)
            return ((1 - z) * n + z * state[0],)
        return cls.scan(cell, (zero,), x, weights)


@layer("transformer_block")
def transformer_block(of, a, x, w_qkv, w_out, w_up, w_down, g1, b1, g2, b2):
    n, length, width = x.shape
    heads = a[0]
    qkv = (of.layer_norm(x, g1, b1) @ w_qkv).reshape(n, length, 3, heads, width // heads)
    q, k, v = of.transposed(qkv, (2, 0, 3, 1, 4))
    attended = of.transposed(of.attention(q, k, v), (0, 2, 1, 3)).reshape(n, length, width)
    y = x + attended @ w_out
    return y + of.gelu(of.layer_norm(y, g2, b2) @ w_up) @ w_down


@layer("residual_block")
def residual_block(of, _, x, w1, w2, g1, b1, g2, b2):
    y = of.relu(of.batch_norm(of.conv(x, w1), g1, b1))
    return of.relu(of.batch_norm(of.conv(y, w2), g2, b2) + x)


@layer("perceptron")
def perceptron(of, _, x, *parameters):
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i] + parameters[i + 1]
        if i + 2 < len(parameters):
            x = of.relu(x)
    return x


layer("lstm")(lambda of, _, x, *weights: of.lstm(x, weights))
layer("gru")(lambda of, _, x, *weights: of.gru(x, weights))
layer("layer_norm_affine")(lambda of, _, x, g, b: of.layer_norm(x, g, b))
layer("group_norm")(lambda of, a, x, g, b: of.group_norm(x, a[0], g, b))
layer("batch_norm_affine")(lambda of, _, x, g, b: of.batch_norm(x, g, b))
layer("softmax_last")(lambda of, _, x: of.softmax(x))
layer("gelu_only")(lambda of, _, x: of.gelu(x))
layer("sdpa")(lambda of, _, q, k, v: of.attention(q, k, v))
layer("pooled")(lambda of, _, x: of.max_pool(x))
layer("conv1d")(lambda of, _, x, w: of.conv(x, w))
layer("conv_transpose2d")(lambda of, _, x, w: of.conv_transpose(x, w))


program("torch", name="embedding")(lambda xp, _, table, at: xp.nn.functional.embedding(at, table))
program("jax", name="embedding")(lambda xp, _, table, at: table[at])


@program("torch")
def embedding_gradients(xp, _, table, at):
    with xp.enable_grad():
        given = table.detach().requires_grad_()
        loss = xp.nn.functional.embedding(at, given).square().mean()
        return xp.autograd.grad(loss, [given])[0]


program("jax", name="embedding_gradients")(
    lambda xp, _, table, at: module("jax").grad(lambda t: xp.mean(xp.square(t[at])))(table))


def jax_cross_entropy(xp, logits, labels):
    logs = module("jax").nn.log_softmax(logits)
    return -xp.mean(xp.take_along_axis(logs, labels[:, None], axis=1))


@program("torch")
def cross_entropy_gradients(xp, _, logits, labels):
    with xp.enable_grad():
        given = logits.detach().requires_grad_()
        return xp.autograd.grad(xp.nn.functional.cross_entropy(given, labels), [given])[0]


program("torch", name="cross_entropy")(
    lambda xp, _, logits, labels: xp.nn.functional.cross_entropy(logits, labels))
program("jax", name="cross_entropy")(
    lambda xp, _, logits, labels: jax_cross_entropy(xp, logits, labels))
program("jax", name="cross_entropy_gradients")(
    lambda xp, _, logits, labels: module("jax").grad(
        lambda x: jax_cross_entropy(xp, x, labels))(logits))
