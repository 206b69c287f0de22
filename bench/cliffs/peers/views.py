"""The programs of views.cpp in NumPy, JAX and torch (see programs.py)."""

from programs import axes, program


def contiguous(xp, x):
    """A copy unless x lies so already."""
    if hasattr(x, "contiguous"):
        return x.contiguous()
    return xp.ascontiguousarray(x) if xp.__name__ == "numpy" else x


def flat(xp, x):
    return xp.reshape(x, (-1,))


program(name="flip")(lambda xp, a, x: contiguous(xp, flat(xp, xp.flip(x, axes(a)))))
program(name="permuted")(lambda xp, a, x: contiguous(xp, flat(xp, xp.permute_dims(x, axes(a)))))
program(name="every_nth")(lambda xp, a, x: contiguous(xp, flat(xp, x[..., a[1]::a[0]])))
program(name="flip_of_transposed_slice")(
    lambda xp, _, x: flat(xp, xp.flip(xp.swapaxes(x[..., 1:-1], -1, -2), (-1,))))
program(name="roll_of_pad")(lambda xp, _, x: xp.roll(xp.pad(x, 1), 3, axis=1))
program("torch", name="roll_of_pad")(
    lambda xp, _, x: xp.roll(xp.nn.functional.pad(x, (1, 1, 1, 1)), 3, axis=1))
program(name="pad_of_flip")(lambda xp, _, x: xp.pad(xp.flip(x, (-1,)), ((2, 1), (3, 4))))
program("torch", name="pad_of_flip")(
    lambda xp, _, x: xp.nn.functional.pad(xp.flip(x, (-1,)), (3, 4, 2, 1)))
program(name="concat_of_transposed")(
    lambda xp, a, x, y: xp.concat((xp.swapaxes(x, -1, -2), y), axis=a[0]))
program(name="reshape_of_transposed")(
    lambda xp, a, x: xp.reshape(xp.swapaxes(x, -1, -2), (-1, a[0])) + 1)
program(name="broadcast_then_flat")(lambda xp, a, x: flat(
    xp, xp.broadcast_to(x[:, None, :], (x.shape[0], a[0], x.shape[1]))))
program(name="interleaved")(lambda xp, _, x, y: flat(xp, xp.stack((x, y), axis=-1)))


@program()
def space_to_depth(xp, _, x):
    n, c, h, w = x.shape
    blocks = xp.reshape(x, (n, c, h // 2, 2, w // 2, 2))
    return xp.reshape(xp.permute_dims(blocks, (0, 1, 3, 5, 2, 4)), (n, 4 * c, h // 2, w // 2))


@program()
def patches(xp, a, x):
    (k,), (n, c, h, w) = a, x.shape
    blocks = xp.reshape(x, (n, c, h // k, k, w // k, k))
    return xp.reshape(xp.permute_dims(blocks, (0, 2, 4, 3, 5, 1)),
                      (n, h * w // (k * k), k * k * c))


program(name="rotated_by_slices")(lambda xp, _, x: xp.concat((x[..., 5:], x[..., :5]), axis=-1))


@program()
def rotary(xp, _, x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + xp.concat((-x[..., half:], x[..., :half]), axis=-1) * sin


program(name="pad_by")(lambda xp, a, x: xp.pad(x, ((0, 0), tuple(a))))
program("torch", name="pad_by")(lambda xp, a, x: xp.nn.functional.pad(x, tuple(a)))
