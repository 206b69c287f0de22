"""The programs of everyday.cpp in NumPy, JAX and torch (see programs.py)."""

from programs import axes, module, program


def astype(x, dtype):
    return x.to(dtype) if hasattr(x, "to") else x.astype(dtype)


def neighbours(x):
    rows, columns = x.shape[-2] - 2, x.shape[-1] - 2
    return [x[..., dy:dy + rows, dx:dx + columns] for dy in range(3) for dx in range(3)]


program(name="gray")(lambda xp, _, x, w: xp.sum(astype(x, xp.float32) * w, axis=-1))
program(name="normalise_pixels")(lambda xp, _, x, m, s: (astype(x, xp.float32) - m) / s)


@program()
def pixels_to_planes(xp, _, x):
    planes = xp.permute_dims(x, (0, 3, 1, 2))
    planes = planes.contiguous() if hasattr(planes, "contiguous") else xp.ascontiguousarray(planes)
    return astype(planes, xp.float32) * xp.asarray(1 / 255, dtype=xp.float32)


program("jax", name="pixels_to_planes")(
    lambda xp, _, x: xp.permute_dims(x, (0, 3, 1, 2)).astype(xp.float32) * (1 / 255))
program("numpy", name="crop_and_flip")(
    lambda xp, _, x: xp.ascontiguousarray(x[..., 2:-2, 2:-2][..., ::-1]))
program("jax", name="crop_and_flip")(lambda xp, _, x: x[..., 2:-2, 2:-2][..., ::-1])
program("torch", name="crop_and_flip")(lambda xp, _, x: xp.flip(x[..., 2:-2, 2:-2], (-1,)))


@program()
def box_blur(xp, _, x):
    parts = neighbours(x)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@program()
def sobel(xp, _, x):
    p = neighbours(x)
    gx = (p[2] + 2 * p[5] + p[8]) - (p[0] + 2 * p[3] + p[6])
    gy = (p[6] + 2 * p[7] + p[8]) - (p[0] + 2 * p[1] + p[2])
    return xp.sqrt(gx * gx + gy * gy)


@program()
def dilated(xp, _, x):
    parts = neighbours(x)
    greatest = parts[0]
    for part in parts[1:]:
        greatest = xp.maximum(greatest, part)
    return greatest


def windows(xp, x):
    return xp.reshape(x, (-1, x.shape[-2] // 2, 2, x.shape[-1] // 2, 2))


program(name="max_of_windows")(lambda xp, _, x: xp.max(windows(xp, x), axis=(2, 4)))
program(name="mean_of_windows")(lambda xp, _, x: xp.mean(windows(xp, x), axis=(2, 4)))
program(name="doubled")(lambda xp, _, x: xp.repeat(xp.repeat(x, 2, axis=-2), 2, axis=-1))
program("torch", name="doubled")(lambda xp, _, x: xp.repeat_interleave(
    xp.repeat_interleave(x, 2, dim=-2), 2, dim=-1))


@program()
def standardise(xp, a, x):
    d = x - xp.mean(x, axis=axes(a), keepdims=True)
    return d / xp.sqrt(xp.mean(d * d, axis=axes(a), keepdims=True))


@program("torch", name="standardise")
def torch_standardise(xp, a, x):
    variance, mean = module("torch").var_mean(x, dim=axes(a), correction=0, keepdim=True)
    return (x - mean) / variance.sqrt()


@program()
def between_extremes(xp, a, x):
    low = xp.min(x, axis=axes(a), keepdims=True)
    return (x - low) / (xp.max(x, axis=axes(a), keepdims=True) - low)


@program("torch", name="between_extremes")
def torch_between_extremes(xp, a, x):
    low, high = module("torch").aminmax(x) if not a else (
        xp.min(x, axis=axes(a), keepdims=True), xp.max(x, axis=axes(a), keepdims=True))
    return (x - low) / (high - low)


program(name="unit_rows")(lambda xp, _, x: x / xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True)))
program("torch", name="unit_rows")(
    lambda xp, _, x: module("torch.nn.functional").normalize(x, dim=-1, eps=0))
program(name="masked_mean")(lambda xp, a, x, m: xp.sum(xp.where(m, x, 0), axis=axes(a))
                            / xp.sum(astype(m, xp.float32), axis=axes(a)))
program(name="count_nonzero")(lambda xp, a, x: xp.count_nonzero(x, axis=axes(a)))
program("torch", name="count_nonzero")(lambda xp, a, x: xp.count_nonzero(x, dim=axes(a)))
program(name="count_equal")(lambda xp, a, x, y: xp.sum(x == y, axis=axes(a)))
program(name="any_greater")(lambda xp, a, x, y: xp.any(x > y, axis=axes(a)))
program(name="greatest_magnitude")(lambda xp, a, x: xp.max(xp.abs(x), axis=axes(a)))
program(name="extremes")(lambda xp, a, x: (xp.min(x, axis=axes(a)), xp.max(x, axis=axes(a))))
program(name="absolute_distances")(
    lambda xp, _, x, y: xp.sum(xp.abs(x[:, None] - y[None]), axis=2))
program("torch", name="absolute_distances")(lambda xp, _, x, y: xp.cdist(x, y, p=1))
program(name="logistic_loss")(lambda xp, _, x, y: xp.mean(
    xp.maximum(x, xp.zeros_like(x)) - x * y + xp.log1p(xp.exp(-xp.abs(x)))))
program("torch", name="logistic_loss")(
    lambda xp, _, x, y: module("torch.nn.functional").binary_cross_entropy_with_logits(x, y))


@program()
def causal_softmax(xp, _, x):
    x = xp.where(xp.tril(xp.ones_like(x, dtype=bool)), x, -1e9)
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


program("torch", name="causal_softmax")(lambda xp, _, x: xp.softmax(x.masked_fill(
    xp.ones_like(x, dtype=xp.bool).triu(1), -1e9), dim=-1))
program(name="diff")(lambda xp, a, x: xp.diff(x, axis=a[0]))
program("torch", name="diff")(lambda xp, a, x: xp.diff(x, dim=a[0]))
program(name="diagonal")(lambda xp, _, x: xp.diagonal(x) + 1)
program(name="outer")(lambda xp, _, x, y: xp.outer(x, y))
program(name="kron")(lambda xp, _, x, y: xp.kron(x, y))
program(name="bincount")(lambda xp, a, x: xp.bincount(x, minlength=a[0]))
program("jax", name="bincount")(lambda xp, a, x: xp.bincount(x, length=a[0]))


# As programs/linalg.cpp has them.
EINSUMS = """
    ij,jk->ik ij,kj->ik ji,jk->ik bij,bjk->bik bij,bkj->bik ij,ij->i ij,ij-> bij,bij->b i,j->ij ii->i
    bii->b ijk->kji ijk->j ijk,k->ij ijk,ik->ij bn,nm,bm->b nchw,kc->nkhw bhqd,bhkd->bhqk
    bqhd,bkhd->bhqk bhqk,bkhd->bqhd abc,bcd->ad
"""
for form in EINSUMS.split():
    program(name=f"einsum:{form}")(lambda xp, _, *xs, form=form: xp.einsum(form, *xs))
    # Views are stored, as the others do.
    program("numpy", name=f"einsum:{form}")(
        lambda xp, _, *xs, form=form: xp.ascontiguousarray(xp.einsum(form, *xs, optimize=True)))
    program("torch", name=f"einsum:{form}")(
        lambda xp, _, *xs, form=form: xp.einsum(form, *xs).contiguous())


@program()
def rotated(xp, _, p):
    x, y = p[..., :1], p[..., 1:]
    return xp.concat([0.8 * x - 0.6 * y, 0.6 * x + 0.8 * y], axis=-1)


@program()
def polynomial(xp, _, x):
    value = x * 0.5 + 1.0
    for _ in range(9):
        value = value * x + 0.25
    return value


program(name="flattened_lookup")(lambda xp, _, x, i, j: x[i, j])
program(name="sum_of_taken")(lambda xp, a, x, at: xp.sum(xp.reshape(
    xp.take(x, at, axis=0), (-1, a[0], x.shape[-1])), axis=1))
program("torch", name="sum_of_taken")(lambda xp, a, x, at: module(
    "torch.nn.functional").embedding_bag(xp.reshape(at, (-1, a[0])), x, mode="sum"))
program(name="bits_of_bytes")(lambda xp, _, x: ((x >> 1) & 0x55) + (x & 0x55))
