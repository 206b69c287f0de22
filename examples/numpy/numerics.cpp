// Numerical methods and simulations.
#include "examples/numpy/snippets.h"

namespace snippets {
namespace {

//   x = np.linspace(0, 1, 6)
//   y = x ** 3
//   print((y[2:] - y[:-2]) / (x[2:] - x[:-2]))
void central_differences() {
  const Tensor x = sl::linspace(0, 1, 6, sl::kFloat64);
  const Tensor y = sl::pow(x, 3);
  print((y(Slice{2, {}}) - y(Slice{{}, -2})) / (x(Slice{2, {}}) - x(Slice{{}, -2})));
}

//   x = np.linspace(-1, 1, 5)
//   y = np.zeros_like(x)
//   for c in [2.0, -3.0, 0.5, 1.0]:
//       y = y * x + c
//   print(y)
void horner() {
  const Tensor x = sl::linspace(-1, 1, 5, sl::kFloat64);
  Tensor y = sl::zeros_like(x);
  for (const double c : {2.0, -3.0, 0.5, 1.0}) y = y * x + c;
  print(y);
}

//   x = np.linspace(0, np.pi, 101)
//   print(np.round(np.trapezoid(np.sin(x), x), 6))
void trapezoids() {
  const Tensor x = sl::linspace(0, M_PI, 101, sl::kFloat64);
  print(sl::around(sl::trapezoid(sl::sin(x), x), 6));
}

//   x = np.linspace(0, 1, 11)
//   w = np.where(np.arange(11) % 2 == 1, 4, 2)
//   w[[0, -1]] = 1
//   print(np.round((w * np.exp(x)).sum() * 0.1 / 3, 6))
void simpson() {
  const Tensor x = sl::linspace(0, 1, 11, sl::kFloat64);
  Tensor w = sl::where(sl::arange(11) % 2 == 1, int64_t{4}, int64_t{2});
  w = w.set({std::vector<int64_t>{0, -1}}, 1);
  print(sl::around((w * sl::exp(x)).sum() * 0.1 / 3, 6));
}

//   steps = np.where(np.arange(20) * 7 % 5 < 2, -1, 1)
//   walk = np.cumsum(steps)
//   print(walk)
//   print(walk.max(), walk.argmin())
void walk() {
  const Tensor steps = sl::where(sl::arange(20) * 7 % 5 < 2, int64_t{-1}, int64_t{1});
  const Tensor walk = sl::cumsum(steps, 0);
  print(walk);
  std::cout << walk.max() << ' ' << walk.argmin() << '\n';
}

//   re, im = np.meshgrid(np.linspace(-2, 0.5, 11), np.linspace(-1, 1, 5))
//   x, y, count = np.zeros_like(re), np.zeros_like(re), np.zeros(re.shape, int)
//   for _ in range(20):
//       inside = x * x + y * y <= 4
//       count += inside
//       x, y = (np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y))
//   print(count)
void mandelbrot() {
  const auto grid =
      sl::meshgrid({sl::linspace(-2, 0.5, 11, sl::kFloat64), sl::linspace(-1, 1, 5, sl::kFloat64)});
  const Tensor &re = grid[0], &im = grid[1];
  Tensor x = sl::zeros_like(re), y = sl::zeros_like(re), count = sl::zeros(re.shape(), sl::kInt64);
  for (int step = 0; step < 20; ++step) {
    const Tensor inside = x * x + y * y <= 4;
    count += inside;
    std::tie(x, y) =
        std::tuple(sl::where(inside, x * x - y * y + re, x), sl::where(inside, 2 * x * y + im, y));
  }
  print(count);
}

//   world = np.zeros((6, 6), int)
//   world[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
//   for _ in range(4):
//       around = sum(np.roll(world, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) -
//       world world = ((around == 3) | ((world == 1) & (around == 2))).astype(int)
//   print(world)
void life() {
  Tensor world = sl::zeros({6, 6}, sl::kInt64);
  world = world.set({std::vector<int64_t>{0, 1, 2, 2, 2}, std::vector<int64_t>{1, 2, 0, 1, 2}}, 1);
  for (int step = 0; step < 4; ++step) {
    Tensor around = -world;
    for (const int64_t i : {-1, 0, 1}) {
      for (const int64_t j : {-1, 0, 1}) around += sl::roll(sl::roll(world, i, 0), j, 1);
    }
    world = ((around == 3) | ((world == 1) & (around == 2))).astype(sl::kInt64);
  }
  print(world);
}

//   u = np.zeros((5, 5))
//   u[0] = 1
//   for _ in range(10):
//       u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
//   print(u)
void laplace() {
  Tensor u = sl::zeros({5, 5}, sl::kFloat64);
  u = u.set({0}, 1);
  const Slice inner{1, -1};
  for (int step = 0; step < 10; ++step) {
    u = u.set({inner, inner}, (u(Slice{{}, -2}, inner) + u(Slice{2, {}}, inner) +
                               u(inner, Slice{{}, -2}) + u(inner, Slice{2, {}})) /
                                  4);
  }
  print(u);
}

//   x = np.array([1.0, 2.0, 10.0])
//   r = x / 2
//   for _ in range(8):
//       r = (r + x / r) / 2
//   print(r)
void square_roots_by_newton() {
  const Tensor x = array({1, 2, 10});
  Tensor r = x / 2;
  for (int step = 0; step < 8; ++step) r = (r + x / r) / 2;
  print(r);
}

//   position, speed = np.array([1.0, 0.0]), np.array([0.0, 1.0])
//   for _ in range(100):
//       speed = speed - 0.01 * position / (position ** 2).sum() ** 1.5
//       position = position + 0.01 * speed
//   print(np.round(position, 6), np.round(speed, 6))
void orbit() {
  Tensor position = array({1, 0}), speed = array({0, 1});
  for (int step = 0; step < 100; ++step) {
    speed = speed - 0.01 * position / sl::pow(sl::pow(position, 2).sum(), 1.5);
    position = position + 0.01 * speed;
  }
  std::cout << sl::around(position, 6) << ' ' << sl::around(speed, 6) << '\n';
}

//   n = np.arange(2, 50)
//   is_prime = (n[:, None] % n[None, :] == 0).sum(axis=1) == 1
//   print(is_prime.sum(), (n * is_prime).max())
void primes() {
  const Tensor n = sl::arange(2, 50);
  const Tensor is_prime =
      (n(Slice{}, sl::newaxis) % n(sl::newaxis, Slice{}) == 0).astype(sl::kInt64).sum(1) == 1;
  std::cout << is_prime.sum() << ' ' << (n * is_prime).max() << '\n';
}

//   print(np.gcd(np.arange(1, 13), 12))
//   print(np.lcm(np.arange(1, 13), 4))
void divisors_and_multiples() {
  print(sl::gcd(sl::arange(1, 13), 12));
  print(sl::lcm(sl::arange(1, 13), 4));
}

//   x = np.linspace(-1, 1, 6)
//   print(np.vander(x, 4, increasing=True))
void vandermonde() {
  const Tensor x = sl::linspace(-1, 1, 6, sl::kFloat64);
  print(sl::cumprod(
      sl::concat(
          {sl::ones({6, 1}, sl::kFloat64), sl::broadcast_to(x(Slice{}, sl::newaxis), {6, 3})}, 1),
      1));
}

//   v = np.ones(3)
//   a = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]])
//   for _ in range(50):
//       v = a @ v
//       v = v / np.sqrt((v * v).sum())
//   print(np.round(v @ a @ v, 6))
void power_iteration() {
  Tensor v = sl::ones(3, sl::kFloat64);
  const Tensor a = table({{2, 1, 0}, {1, 3, 1}, {0, 1, 4}});
  for (int step = 0; step < 50; ++step) {
    v = sl::matmul(a, v);
    v = v / sl::sqrt((v * v).sum());
  }
  print(sl::around(sl::matmul(sl::matmul(v, a), v), 6));
}

constexpr Snippet kSnippets[] = {
    {"central_differences", central_differences},
    {"horner", horner},
    {"trapezoids", trapezoids},
    {"simpson", simpson},
    {"walk", walk},
    {"mandelbrot", mandelbrot},
    {"life", life},
    {"laplace", laplace},
    {"square_roots_by_newton", square_roots_by_newton},
    {"orbit", orbit},
    {"primes", primes},
    {"divisors_and_multiples", divisors_and_multiples},
    {"vandermonde", vandermonde},
    {"power_iteration", power_iteration},
};

}  // namespace

std::span<const Snippet> numerics() { return kSnippets; }

}  // namespace snippets
