#include "tests/emulated_cuda/fake_cusolver.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "kernels/library/lapack.h"
#include "tests/emulated_cuda/fake_library.h"

namespace sluice::emulated {
namespace {

using kernels::cuda::Cusolver;
using kernels::cuda::CusolverOf;
using kernels::cuda::SolverFill;
using kernels::cuda::SolverHandle;
using kernels::cuda::SolverParams;
using kernels::cuda::SolverStatus;
using kernels::cuda::SolverTranspose;
using kernels::cuda::SolverType;
using kernels::cuda::SolverVectors;

constexpr const char* kKernel = "library_solver";

// What is asked for to work in, in elements.
int work_size(int m, int n) { return 3 * m + 5 * n + 7; }

enum class Routine : int64_t { kPotrf, kGetrf, kGetrs, kGeqrf, kOrgqr, kSyevd, kGesvdp };
constexpr const char* kNames[] = {"potrf", "getrf", "getrs", "geqrf", "orgqr", "syevd", "gesvdp"};

// The parameters of the kernel.
struct Params {
  Routine routine;
  int64_t is_double;
  int64_t option;  // upper, transposed, with vectors; 2: with all of them
  int64_t m, n, k;
  void* a;
  int64_t lda;
  void* b;  // right-hand sides, tau, values
  int64_t ldb;
  void *u, *v;
  int64_t ldu, ldv;
  int* pivots;
  int* info;
  void* work;  // filled with what is nothing's result
  int64_t work_bytes;
};

template <typename T>
class Run {
 public:
  explicit Run(const Params& p)
      : p_(p),
        lapack_(kernels::find_lapack()->of<T>()),
        m_(static_cast<int>(p.m)),
        n_(static_cast<int>(p.n)),
        k_(static_cast<int>(p.k)),
        lda_(static_cast<int>(p.lda)),
        ldb_(static_cast<int>(p.ldb)),
        a_(static_cast<T*>(p.a)),
        b_(static_cast<T*>(p.b)),
        work_(static_cast<size_t>(64 * (m_ + n_ + 64) + 10 * std::max(m_, n_) * std::max(m_, n_))) {
    if (p.work != nullptr) std::memset(p.work, 0x5a, static_cast<size_t>(p.work_bytes));
  }

  void run() {
    const int size = static_cast<int>(work_.size());
    std::vector<int> integers(static_cast<size_t>(8 * std::max(m_, n_) + 16));
    int num_integers = static_cast<int>(integers.size());
    switch (p_.routine) {
      case Routine::kPotrf:
        lapack_.potrf(p_.option == 1 ? "U" : "L", &n_, a_, &lda_, p_.info, 1);
        return;
      case Routine::kGetrf: run_getrf(); return;
      case Routine::kGetrs:
        lapack_.getrs(p_.option == 1 ? "T" : "N", &n_, &k_, a_, &lda_, p_.pivots, b_, &ldb_,
                      p_.info, 1);
        return;
      // Of A^T = L Q, A's QR.
      case Routine::kGeqrf: {
        std::vector<T> rows = transposed();
        lapack_.gelqf(&n_, &m_, rows.data(), &n_, b_, work_.data(), &size, p_.info);
        put_back(rows);
        return;
      }
      case Routine::kOrgqr: {
        std::vector<T> rows = transposed();
        lapack_.orglq(&n_, &m_, &k_, rows.data(), &n_, b_, work_.data(), &size, p_.info);
        put_back(rows);
        return;
      }
      case Routine::kSyevd:
        lapack_.syevd(p_.option == 1 ? "V" : "N", "U", &n_, a_, &lda_, b_, work_.data(), &size,
                      integers.data(), &num_integers, p_.info, 1, 1);
        return;
      case Routine::kGesvdp: {
        const int ldu = static_cast<int>(p_.ldu);
        const int least = std::min(m_, n_), rows = p_.option == 2 ? n_ : least;
        std::vector<T> vt(static_cast<size_t>(rows) * static_cast<size_t>(n_));
        const char* const jobs[] = {"N", "S", "A"};
        lapack_.gesdd(jobs[p_.option], &m_, &n_, a_, &lda_, b_, static_cast<T*>(p_.u), &ldu,
                      vt.data(), &rows, work_.data(), &size, integers.data(), p_.info, 1);
        if (p_.option == 0) return;
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < n_; ++j) {
            static_cast<T*>(p_.v)[i * p_.ldv + j] = vt[static_cast<size_t>(j * rows + i)];
          }
        }
      }
    }
  }

 private:
  // As the real one, a matrix with a NaN has pivots without one, and is singular.
  void run_getrf() {
    bool has_nan = false;
    for (int64_t j = 0; j < n_; ++j) {
      for (int64_t i = 0; i < m_; ++i) has_nan |= std::isnan(a_[j * lda_ + i]);
    }
    lapack_.getrf(&m_, &n_, a_, &lda_, p_.pivots, p_.info);
    if (!has_nan) return;
    *p_.info = 1;
    for (int64_t j = 0; j < n_; ++j) {
      p_.pivots[j] = static_cast<int>(j + 1);
      for (int64_t i = 0; i < m_; ++i) a_[j * lda_ + i] = T(0);
    }
  }
  std::vector<T> transposed() const {
    std::vector<T> rows;
    for (int64_t i = 0; i < m_; ++i) {
      for (int64_t j = 0; j < n_; ++j) rows.push_back(a_[j * lda_ + i]);
    }
    return rows;
  }
  void put_back(const std::vector<T>& rows) {
    for (int64_t i = 0; i < m_; ++i) {
      for (int64_t j = 0; j < n_; ++j) a_[j * lda_ + i] = rows[static_cast<size_t>(i * n_ + j)];
    }
  }

  const Params& p_;
  const kernels::LapackOf<T>& lapack_;
  const int m_, n_, k_, lda_, ldb_;
  T *const a_, *const b_;
  std::vector<T> work_;
};

const char* run_routine(const Geometry&, const void* params) {
  static std::mutex one_at_a_time;  // a LAPACK need not be thread-safe
  const Params& p = *static_cast<const Params*>(params);
  if (!kernels::find_lapack().ok()) return "there is no LAPACK";
  std::lock_guard lock(one_at_a_time);
  if (p.is_double != 0) {
    Run<double>(p).run();
  } else {
    Run<float>(p).run();
  }
  return nullptr;
}

}  // namespace

struct FakeCusolver::Impl {
  EmulatedCuda* emulator = nullptr;
  mutable std::mutex mutex;  // guards all below
  int64_t calls = 0, fails_at = 0;
  double perturbation = 0;
  SolverStatus failure = SolverStatus::kSuccess;
  std::set<void*> handles, params;
  std::vector<std::string> runs, misuse;

  SolverStatus wrong(std::string why) {
    misuse.push_back(std::move(why));
    return SolverStatus::kInvalidValue;
  }
};

// The functions of the table. A friend of the one fake that there is.
struct FakeCusolverCalls {
  static FakeCusolver*& current() {
    static FakeCusolver* fake = nullptr;
    return fake;
  }
  struct Call : FakeCall<FakeCusolver::Impl, SolverStatus> {
    Call() : FakeCall(current()->impl_) {}
  };

  static SolverStatus create(SolverHandle* handle) {
    Call call;
    if (call.fails()) return call.status;
    LibraryHandle* const made = open_handle(call.impl.emulator, kKernel);
    if (made == nullptr) return SolverStatus::kNotInitialized;
    call.impl.handles.insert(made);
    *handle = reinterpret_cast<SolverHandle>(made);
    return SolverStatus::kSuccess;
  }
  static SolverStatus destroy(SolverHandle opaque) {
    FakeCusolver::Impl& impl = *current()->impl_;
    std::lock_guard lock(impl.mutex);
    auto* const handle = reinterpret_cast<LibraryHandle*>(opaque);
    if (impl.handles.erase(handle) == 0) return impl.wrong("a handle that is none is given back");
    close_handle(impl.emulator, handle);
    return SolverStatus::kSuccess;
  }
  static SolverStatus create_params(SolverParams* params) {
    Call call;
    if (call.fails()) return call.status;
    int* const made = new int;
    call.impl.params.insert(made);
    *params = reinterpret_cast<SolverParams>(made);
    return SolverStatus::kSuccess;
  }
  static SolverStatus destroy_params(SolverParams params) {
    FakeCusolver::Impl& impl = *current()->impl_;
    std::lock_guard lock(impl.mutex);
    if (impl.params.erase(params) == 0) return impl.wrong("params that are none are given back");
    delete reinterpret_cast<int*>(params);
    return SolverStatus::kSuccess;
  }
  static SolverStatus set_stream(SolverHandle handle, runtime::cuda::StreamHandle stream) {
    Call call;
    if (call.fails()) return call.status;
    if (!call.impl.handles.contains(handle)) return call.impl.wrong("a handle that is none");
    reinterpret_cast<LibraryHandle*>(handle)->stream = stream;
    return SolverStatus::kSuccess;
  }

  static SolverStatus size_of(SolverHandle handle, int m, int n, int* size) {
    Call call;
    if (call.fails()) return call.status;
    if (!call.impl.handles.contains(handle)) return call.impl.wrong("a handle that is none");
    if (m <= 0 || n <= 0) return call.impl.wrong("a matrix of no size");
    *size = work_size(m, n);
    return SolverStatus::kSuccess;
  }
  static SolverStatus run(SolverHandle opaque, const Params& params) {
    Call call;
    if (call.fails()) return call.status;
    auto* const handle = reinterpret_cast<LibraryHandle*>(opaque);
    const char* const name = kNames[static_cast<int>(params.routine)];
    const auto wrong = [&](const char* why) {
      return call.impl.wrong(std::string(name) + ": " + why);
    };
    if (!call.impl.handles.contains(handle)) return wrong("a handle that is none");
    if (params.m <= 0 || params.n <= 0 || params.lda < params.m) return wrong("a matrix's extents");
    if (params.a == nullptr || params.info == nullptr) return wrong("no matrix, or no info");
    const bool works = params.routine != Routine::kGetrs;
    const int64_t size = params.is_double != 0 ? sizeof(double) : sizeof(float);
    if (works && (params.work == nullptr ||
                  params.work_bytes <
                      size * work_size(static_cast<int>(params.m), static_cast<int>(params.n)))) {
      return wrong("too little to work in");
    }
    if (!launch(call.impl.emulator, *handle, std::as_bytes(std::span(&params, 1)))) {
      return SolverStatus::kExecutionFailed;
    }
    call.impl.runs.emplace_back(name);
    return SolverStatus::kSuccess;
  }
  // With what all routines have.
  template <typename T>
  static Params params_of(Routine routine, int64_t m, int64_t n, T* a, int64_t lda, T* work,
                          int64_t size, int* info) {
    Params p{};
    p.routine = routine;
    p.is_double = sizeof(T) == sizeof(double);
    p.m = m;
    p.n = n;
    p.a = a;
    p.lda = lda;
    p.work = work;
    p.work_bytes = size * static_cast<int64_t>(sizeof(T));
    p.info = info;
    return p;
  }

  template <typename T>
  static void fill(CusolverOf<T>* table) {
    table->potrf_bufferSize = [](SolverHandle handle, SolverFill, int n, T*, int, int* size) {
      return size_of(handle, n, n, size);
    };
    table->potrf = [](SolverHandle handle, SolverFill fill, int n, T* a, int lda, T* work, int size,
                      int* info) {
      Params p = params_of(Routine::kPotrf, n, n, a, lda, work, size, info);
      p.option = fill == SolverFill::kUpper;
      return run(handle, p);
    };
    table->getrf_bufferSize = [](SolverHandle handle, int m, int n, T*, int, int* size) {
      return size_of(handle, m, n, size);
    };
    table->getrf = [](SolverHandle handle, int m, int n, T* a, int lda, T* work, int* pivots,
                      int* info) {
      Params p = params_of(Routine::kGetrf, m, n, a, lda, work, work_size(m, n), info);
      p.pivots = pivots;
      return run(handle, p);
    };
    table->getrs = [](SolverHandle handle, SolverTranspose transpose, int n, int sides, const T* a,
                      int lda, const int* pivots, T* b, int ldb, int* info) {
      Params p = params_of<T>(Routine::kGetrs, n, n, const_cast<T*>(a), lda, nullptr, 0, info);
      p.option = transpose == SolverTranspose::kYes;
      p.k = sides;
      p.pivots = const_cast<int*>(pivots);
      p.b = b;
      p.ldb = ldb;
      return run(handle, p);
    };
    table->geqrf_bufferSize = [](SolverHandle handle, int m, int n, T*, int, int* size) {
      return size_of(handle, m, n, size);
    };
    table->geqrf = [](SolverHandle handle, int m, int n, T* a, int lda, T* tau, T* work, int size,
                      int* info) {
      Params p = params_of(Routine::kGeqrf, m, n, a, lda, work, size, info);
      p.b = tau;
      return run(handle, p);
    };
    table->orgqr_bufferSize = [](SolverHandle handle, int m, int n, int, const T*, int, const T*,
                                 int* size) { return size_of(handle, m, n, size); };
    table->orgqr = [](SolverHandle handle, int m, int n, int k, T* a, int lda, const T* tau,
                      T* work, int size, int* info) {
      Params p = params_of(Routine::kOrgqr, m, n, a, lda, work, size, info);
      p.k = k;
      p.b = const_cast<T*>(tau);
      return run(handle, p);
    };
    table->syevd_bufferSize = [](SolverHandle handle, SolverVectors, SolverFill, int n, const T*,
                                 int, const T*, int* size) { return size_of(handle, n, n, size); };
    table->syevd = [](SolverHandle handle, SolverVectors vectors, SolverFill, int n, T* a, int lda,
                      T* w, T* work, int size, int* info) {
      Params p = params_of(Routine::kSyevd, n, n, a, lda, work, size, info);
      p.option = vectors == SolverVectors::kYes;
      p.b = w;
      return run(handle, p);
    };
  }

  static SolverStatus gesvdp_size(SolverHandle handle, SolverParams, SolverVectors, int, int64_t m,
                                  int64_t n, SolverType type, const void*, int64_t, SolverType,
                                  const void*, SolverType, const void*, int64_t, SolverType,
                                  const void*, int64_t, SolverType, size_t* device_bytes,
                                  size_t* host_bytes) {
    int size = 0;
    const SolverStatus status = size_of(handle, static_cast<int>(m), static_cast<int>(n), &size);
    const size_t element = type == SolverType::kFloat64 ? sizeof(double) : sizeof(float);
    *device_bytes = element * static_cast<size_t>(size);
    *host_bytes = 100;
    return status;
  }
  static SolverStatus gesvdp(SolverHandle handle, SolverParams, SolverVectors vectors,
                             int only_least, int64_t m, int64_t n, SolverType type, void* a,
                             int64_t lda, SolverType, void* s, SolverType, void* u, int64_t ldu,
                             SolverType, void* v, int64_t ldv, SolverType, void* work, size_t bytes,
                             void* host_work, size_t host_bytes, int* info, double* perturbation) {
    Params p{};
    p.routine = Routine::kGesvdp;
    p.is_double = type == SolverType::kFloat64;
    p.option = vectors == SolverVectors::kNo ? 0 : only_least != 0 ? 1 : 2;
    p.m = m;
    p.n = n;
    p.a = a;
    p.lda = lda;
    p.b = s;
    p.u = u;
    p.v = v;
    p.ldu = ldu;
    p.ldv = ldv;
    p.info = info;
    p.work = work;
    p.work_bytes = static_cast<int64_t>(bytes);
    std::memset(host_work, 0x5a, host_bytes);
    const SolverStatus status = run(handle, p);
    *perturbation = current()->impl_->perturbation;
    return status;
  }

  static Cusolver make_table() {
    Cusolver table;
    table.create = create;
    table.destroy = destroy;
    table.set_stream = set_stream;
    table.create_params = create_params;
    table.destroy_params = destroy_params;
    table.gesvdp_bufferSize = gesvdp_size;
    table.gesvdp = gesvdp;
    fill(&table.f32);
    fill(&table.f64);
    return table;
  }
};

FakeCusolver::FakeCusolver(EmulatedCuda* emulator) : impl_(new Impl) {
  impl_->emulator = emulator;
  emulator->add_kernel(kKernel, run_routine);
  FakeCusolverCalls::current() = this;
}

FakeCusolver::~FakeCusolver() {
  FakeCusolverCalls::current() = nullptr;
  delete impl_;
}

const Cusolver* FakeCusolver::table() {
  static const Cusolver kTable = FakeCusolverCalls::make_table();
  return &kTable;
}

void FakeCusolver::fail_call(int64_t n, Status status) {
  std::lock_guard lock(impl_->mutex);
  impl_->fails_at = n == 0 ? 0 : impl_->calls + n;
  impl_->failure = status;
}

void FakeCusolver::set_perturbation(double added) {
  std::lock_guard lock(impl_->mutex);
  impl_->perturbation = added;
}

int64_t FakeCusolver::calls() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->calls;
}

int64_t FakeCusolver::objects() const {
  std::lock_guard lock(impl_->mutex);
  return static_cast<int64_t>(impl_->handles.size() + impl_->params.size());
}

std::vector<std::string> FakeCusolver::runs() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->runs;
}

std::vector<std::string> FakeCusolver::misuse() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->misuse;
}

}  // namespace sluice::emulated
