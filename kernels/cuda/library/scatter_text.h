// The kernels of scatters (scatter.cpp), as source.
#ifndef SLUICE_KERNELS_CUDA_LIBRARY_SCATTER_TEXT_H_
#define SLUICE_KERNELS_CUDA_LIBRARY_SCATTER_TEXT_H_

namespace sluice::kernels::cuda {

inline constexpr const char* kScatterText = R"sluice(
// ---- Scatters. kernels/cuda/library/scatter.cpp fills in sl_scatter.

struct sl_strided {
  const void* base;
  sl_i64 row, column;
};
struct sl_scatter {
  sl_strided x, positions, updates;
  void* y;
  sl_i64 rows, columns, count;
  // What a block has: of y, or of the updates' elements.
  sl_i64 rows_of_block, columns_of_block, elements_of_block, updates_of_block;
  sl_u32* keys;    // the positions; `rows` stands for those outside
  sl_i64* order;   // of the positions, sorted
  sl_u32* starts;  // of the rows there, and where the last one ends
  sl_i64 first_block;  // of this launch
};

struct sl_set {
  static constexpr bool kLastWins = true;
  template <typename T> SL_INLINE static T combine(T, T b) { return b; }
};
struct sl_add {
  static constexpr bool kLastWins = false;
  template <typename T> SL_INLINE static T combine(T a, T b) { return a + b; }
};
// As maximum and minimum: NaN wins, and +0 is greater than -0, as is the sum of both.
struct sl_max {
  static constexpr bool kLastWins = false;
  template <typename T> SL_INLINE static T combine(T a, T b) {
    return a < b || b != b ? b : a == 0 && b == 0 ? T(a + b) : a;
  }
};
struct sl_min {
  static constexpr bool kLastWins = false;
  template <typename T> SL_INLINE static T combine(T a, T b) {
    return b < a || b != b ? b : a == 0 && b == 0 ? T(-(-a - b)) : a;
  }
};

SL_INLINE sl_i64 sl_number(const sl_scatter& p) {
  return (p.first_block + sl_block()) * SL_THREADS + sl_thread();
}
SL_INLINE sl_i64 sl_row_of_update(const sl_scatter& p, sl_i64 i) {
  return ((const sl_i64*)p.positions.base)[i * p.positions.row];
}

// Combines kLanes columns of `from`, from this one on, with those of the updates in order[begin] to
// order[end - 1], into y.
template <typename M, typename Op, int kLanes, typename Order>
SL_INLINE void sl_scatter_run(const sl_scatter& p, const M* from, sl_i64 row, sl_i64 column,
                              Order order, sl_i64 begin, sl_i64 end) {
  typedef decltype(sl_decode(M())) T;
  const M* const updates = (const M*)p.updates.base + column * p.updates.column;
  T y[kLanes];
  sl_load_vector(y, from);
  if (Op::kLastWins && begin < end) begin = end - 1;
  SL_UNROLL_BY(4)
  for (sl_i64 k = begin; k < end; ++k) {
    T update[kLanes];
    sl_load_vector(update, updates + order(k) * p.updates.row);
    SL_UNROLL
    for (int l = 0; l < kLanes; ++l) y[l] = Op::combine(y[l], update[l]);
  }
  sl_store_vector((M*)p.y + row * p.columns + column, y);
}

// y as x, before updates reach it. A thread for each kLanes elements.
template <typename M, int kLanes>
SL_INLINE void sl_scatter_copy(const sl_scatter& p) {
  typedef decltype(sl_decode(M())) T;
  const sl_i64 e = sl_number(p) * kLanes, all = p.rows * p.columns;
  if (e >= all) return;
  sl_i64 from = e;
  if (p.x.row != p.columns || p.x.column != 1) {
    const sl_i64 row = all >> 32 == 0 ? sl_u32(e) / sl_u32(p.columns) : e / p.columns;
    from = row * p.x.row + (e - row * p.columns) * p.x.column;
  }
  T y[kLanes];
  sl_load_vector(y, (const M*)p.x.base + from);
  sl_store_vector((M*)p.y + e, y);
}

// ---- Positions in order, sorted.

SL_INLINE void sl_scatter_keys(const sl_scatter& p) {
  const sl_i64 i = sl_number(p);
  if (i >= p.count) return;
  const sl_i64 row = sl_row_of_update(p, i);
  p.keys[i] = sl_u32(row >= 0 && row < p.rows ? row : p.rows);
}
SL_INLINE void sl_scatter_starts(const sl_scatter& p) {
  const sl_i64 row = sl_number(p);
  if (row > p.rows) return;
  sl_i64 low = 0, high = p.count;
  while (low < high) {
    const sl_i64 middle = (low + high) / 2;
    if (p.keys[p.order[middle]] < row)
      low = middle + 1;
    else
      high = middle;
  }
  p.starts[row] = sl_u32(low);
}
// A thread for each kLanes columns of a row; several are consecutive and aligned.
template <typename M, typename Op, int kLanes>
SL_INLINE void sl_scatter_elements(const sl_scatter& p) {
  const sl_i64 number = sl_number(p), threads_of_row = p.columns / kLanes;
  if (number >= p.rows * threads_of_row) return;
  const sl_i64 row = number / threads_of_row, column = (number - row * threads_of_row) * kLanes;
  sl_scatter_run<M, Op, kLanes>(
      p, (const M*)p.x.base + row * p.x.row + column * p.x.column, row, column,
      [&](sl_i64 k) SL_LAMBDA { return p.order[k]; }, p.starts[row], p.starts[row + 1]);
}

// A warp for each element, of a row with many updates: its lanes read them, and all combine them in
// order.
template <typename M, typename Op>
SL_INLINE void sl_scatter_warps(const sl_scatter& p) {
  typedef decltype(sl_decode(M())) T;
  constexpr int kItems = 4;
  const int warp = sl_thread() / 32, lane = sl_thread() % 32;
  const sl_i64 number = (p.first_block + sl_block()) * p.elements_of_block + warp;
  if (warp >= p.elements_of_block || number >= p.rows * p.columns) return;
  const sl_i64 row = number / p.columns, column = number - row * p.columns;
  const sl_i64 begin = p.starts[row], end = p.starts[row + 1];
  const M* const from = (const M*)p.updates.base + column * p.updates.column;
  // Those to be combined next, and where those after them are.
  T next[kItems];
  sl_i64 places[kItems];
  const auto read = [&]() SL_LAMBDA {
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      next[i] = T(0);
      if (places[i] >= 0) next[i] = sl_load(from + places[i] * p.updates.row);
    }
  };
  const auto read_places = [&](sl_i64 k) SL_LAMBDA {
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      places[i] = -1;
      if (k + i * 32 + lane < end) places[i] = p.order[k + i * 32 + lane];
    }
  };
  T y = sl_load((const M*)p.x.base + row * p.x.row + column * p.x.column);
  read_places(begin);
  read();
  read_places(begin + kItems * 32);
  SL_UNROLL_BY(1)
  for (sl_i64 k = begin; k < end; k += kItems * 32) {
    T updates[kItems];
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) updates[i] = next[i];
    read();
    read_places(k + 2 * kItems * 32);
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const sl_i64 rest = end - k - i * 32;
      const int left = rest < 32 ? int(rest) : 32;
      SL_UNROLL
      for (int l = 0; l < 32; ++l) {
        const T update = T(sl_shuffle(updates[i], l));
        if (l < left) y = Op::combine(y, update);
      }
    }
  }
  if (lane == 0) sl_store((M*)p.y + row * p.columns + column, y);
}

// ---- Each block goes through all positions for those of its rows.

// What a block has found, in order: the positions, below 2^32, and above them their rows, counted
// from its first one. They are sorted by row when there may be no space for more.
typedef sl_radix_block<sl_unsigned_order<sl_u64>, false, 16> sl_found;

// Of a copy of x, with positions that fit: every block sorts all of them, by eight bits at a time. A
// thread for each kLanes columns of an update, of which the first one of a row does them all.
template <typename M, typename Op, int kLanes>
SL_INLINE void sl_scatter_few(const sl_scatter& p) {
  SL_SHARED typename sl_found::Shared shared;
  const int count = int(p.count);
  sl_found sorted(shared, 0, count);
  sl_i64 rows[sl_found::kItemsOfThread];
  SL_UNROLL
  for (int i = 0; i < sl_found::kItemsOfThread; ++i) {
    rows[i] = -1;
    if (sorted.at(i) < count) rows[i] = sl_row_of_update(p, sorted.at(i));
  }
  SL_UNROLL
  for (int i = 0; i < sl_found::kItemsOfThread; ++i) {
    const sl_i64 row = rows[i] >= 0 && rows[i] < p.rows ? rows[i] : p.rows;
    sorted.bits[i] = ~sl_u64(0);  // stays at the end
    if (sorted.at(i) < count) sorted.bits[i] = sl_u64(row) << 32 | sl_u64(sorted.at(i));
  }
  SL_UNROLL_BY(1)
  for (int bits = 0; p.rows >> bits != 0; bits += 8) {
    sorted.find_places(sorted.count(32 + bits));
    sorted.store_sorted();
    sl_sync();
    sorted.load(shared.bits, 1);
    sl_sync();  // before it is written again
  }
  const sl_i64 threads_of_row = p.columns / kLanes, all = p.count * threads_of_row;
  const sl_i64 begin = (p.first_block + sl_block()) * p.updates_of_block;
  const sl_i64 end = all - begin < p.updates_of_block ? all : begin + p.updates_of_block;
  const auto row_of = [&](int k) SL_LAMBDA { return sl_u32(shared.bits[k] >> 32); };
  SL_UNROLL_BY(1)
  for (sl_i64 e = begin + sl_thread(); e < end; e += SL_THREADS) {
    const int first = int(e / threads_of_row);
    const sl_i64 column = (e - first * threads_of_row) * kLanes;
    const sl_u32 row = row_of(first);
    if (row >= p.rows || (first > 0 && row_of(first - 1) == row)) continue;
    int last = first;
    while (last + 1 < count && row_of(last + 1) == row) ++last;
    sl_scatter_run<M, Op, kLanes>(
        p, (const M*)p.y + row * p.columns + column, row, column,
        [&](sl_i64 k) SL_LAMBDA { return sl_i64(sl_u32(shared.bits[k])); }, first, last + 1);
  }
}

template <typename M, typename Op, int kLanes>
SL_INLINE void sl_scatter_rows(const sl_scatter& p) {
  constexpr int kItems = 8, kRead = kItems * SL_THREADS, kFound = sl_found::kSize;
  SL_SHARED typename sl_found::Shared shared;
  SL_SHARED sl_u32 counts[2][kWarps];  // in turn
  SL_SHARED sl_u32 starts[kDigits];
  const sl_i64 parts = (p.columns + p.columns_of_block - 1) / p.columns_of_block;
  const sl_i64 block = p.first_block + sl_block();
  const sl_i64 first_row = block / parts * p.rows_of_block;
  const sl_i64 first_column = block % parts * p.columns_of_block;
  const sl_u32 rows = sl_u32(
      p.rows - first_row < p.rows_of_block ? p.rows - first_row : p.rows_of_block);
  const sl_u32 threads_of_row = sl_u32(
      p.columns - first_column < p.columns_of_block ? p.columns - first_column
                                                    : p.columns_of_block) / kLanes;
  const int lane = sl_thread() % 32, warp = sl_thread() / 32;

  // The positions to be read next: what a thread has of them begins here, by steps of a warp.
  const int offset = warp * 32 * kItems + lane;
  sl_i64 next[kItems];
  const auto read_by = [&](sl_i64 begin, sl_i64 stride) SL_LAMBDA {
    const sl_i64* const from = (const sl_i64*)p.positions.base + (begin + offset) * stride;
    const int left = (p.count - begin < kRead ? int(p.count - begin) : kRead) - offset;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      next[i] = -1;
      if (i * 32 < left) next[i] = from[i * 32 * stride];
    }
  };
  const auto read = [&](sl_i64 begin) SL_LAMBDA {
    p.positions.row == 1 ? read_by(begin, 1) : read_by(begin, p.positions.row);
  };
  const auto combine = [&](bool is_first, int found) SL_LAMBDA {
    starts[sl_thread()] = 0;
    if (found > 0) {
      sl_sync();  // they are all there
      sl_found sorted(shared, 0, found);
      sorted.load(shared.bits, 1);
      starts[sl_thread()] = sorted.find_places(sorted.count(32));
      sorted.store_sorted();
    }
    sl_sync();
    SL_UNROLL_BY(1)
    for (sl_u32 e = sl_thread(); e < rows * threads_of_row; e += SL_THREADS) {
      const sl_u32 row = e / threads_of_row;
      const sl_i64 column = first_column + (e - row * threads_of_row) * kLanes;
      if (!is_first && starts[row] == starts[row + 1]) continue;
      const sl_i64 to = first_row + row;
      const M* const from = is_first ? (const M*)p.x.base + to * p.x.row + column * p.x.column
                                     : (const M*)p.y + to * p.columns + column;
      sl_scatter_run<M, Op, kLanes>(
          p, from, to, column, [&](sl_i64 k) SL_LAMBDA { return sl_i64(sl_u32(shared.bits[k])); },
          starts[row], starts[row + 1]);
    }
    sl_sync();  // what has been found is read
  };

  bool is_first = true;
  int found = 0, turn = 0;
  read(0);
  SL_UNROLL_BY(1)
  for (sl_i64 begin = 0;; begin += kRead) {
    constexpr sl_u32 kNone = ~0u;
    sl_u32 row[kItems], mine[kItems], of_warp = 0;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      const sl_u64 of_block = sl_u64(next[i]) - sl_u64(first_row);
      const bool is_mine = of_block < rows;
      row[i] = is_mine ? sl_u32(of_block) : kNone;
      const sl_u32 same = sl_match<1>(is_mine);
      mine[i] = is_mine ? same : ~same;
      of_warp += sl_count_bits(mine[i]);
    }
    if (lane == 0) counts[turn][warp] = of_warp;
    read(begin + kRead);
    sl_sync();
    int start = found;
    SL_UNROLL
    for (int k = 0; k < kWarps; ++k) {
      if (k == warp) start = found;
      found += counts[turn][k];
    }
    turn ^= 1;
    SL_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (row[i] != kNone) {
        shared.bits[start + sl_count_bits(mine[i] & ((1u << lane) - 1))] =
            sl_u64(row[i]) << 32 | sl_u32(begin + offset + i * 32);
      }
      start += sl_count_bits(mine[i]);
    }
    const bool is_last = p.count - begin <= kRead;
    if (found <= kFound - kRead && !is_last) continue;
    combine(is_first, found);
    if (is_last) break;
    is_first = false;
    found = 0;
  }
}

// ---- Sums of integers, which are the same in any order. There are less than 2^31 elements, of y and
// of the updates.

// Calls f(e, update) for the updates of this block, each of y's element e.
template <typename M, typename F>
SL_INLINE void sl_each_update(const sl_scatter& p, F f) {
  const sl_i64 begin = (p.first_block + sl_block()) * p.updates_of_block;
  const sl_i64 all = p.count * p.columns;
  const sl_u32 end = sl_u32(all - begin < p.updates_of_block ? all : begin + p.updates_of_block);
  const M* const from = (const M*)p.updates.base;
  const auto each = [&](sl_u32 columns) SL_LAMBDA {
    constexpr int kItems = 4;
    SL_UNROLL_BY(1)
    for (sl_u32 k = sl_u32(begin) + sl_thread(); k < end; k += kItems * SL_THREADS) {
      sl_i64 row[kItems];
      sl_u32 column[kItems];
      M update[kItems];
      SL_UNROLL
      for (int i = 0; i < kItems; ++i) {
        const sl_u32 at = k + i * SL_THREADS, place = at / columns;
        column[i] = at - place * columns;
        row[i] = -1;
        update[i] = 0;
        if (at < end) {
          row[i] = sl_row_of_update(p, place);
          update[i] = from[place * p.updates.row + column[i] * p.updates.column];
        }
      }
      SL_UNROLL
      for (int i = 0; i < kItems; ++i) {
        if (sl_u64(row[i]) < sl_u64(p.rows)) f(row[i] * columns + column[i], update[i]);
      }
    }
  };
  p.columns == 1 ? each(1) : each(sl_u32(p.columns));
}
template <typename M>
SL_INLINE void sl_scatter_sums(const sl_scatter& p) {
  M* const y = (M*)p.y;
  sl_each_update<M>(p, [&](sl_i64 e, M update) SL_LAMBDA { sl_add_atomic(y + e, update); });
}
// Of a y of at most kTable elements: each block has the sums of its updates in shared memory first.
// Of eight bytes by halves: an addition of that size there is a loop.
template <typename M>
SL_INLINE void sl_scatter_table(const sl_scatter& p) {
  constexpr bool kWide = sizeof(M) == 8;
  SL_SHARED sl_u32 low[kTable], high[kWide ? kTable : 1];
  const int size = int(p.rows * p.columns);
  SL_UNROLL_BY(1)
  for (int e = sl_thread(); e < size; e += SL_THREADS) {
    low[e] = 0;
    if (kWide) high[e] = 0;
  }
  sl_sync();
  sl_each_update<M>(p, [&](sl_i64 e, M update) SL_LAMBDA {
    const sl_u32 part = sl_u32(update);
    const sl_u32 before = sl_add_atomic(&low[e], part);
    if (!kWide) return;
    const sl_u32 rest = sl_u32(sl_u64(update) >> 32) + (before + part < part);
    if (rest != 0) sl_add_atomic(&high[e], rest);
  });
  sl_sync();
  SL_UNROLL_BY(1)
  for (int e = sl_thread(); e < size; e += SL_THREADS) {
    const M sum = kWide ? M(sl_u64(high[e]) << 32 | low[e]) : M(low[e]);
    if (sum != 0) sl_add_atomic((M*)p.y + e, sum);
  }
}
)sluice";

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_CUDA_LIBRARY_SCATTER_TEXT_H_
