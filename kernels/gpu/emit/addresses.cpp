#include "kernels/gpu/emit/addresses.h"

#include "absl/strings/str_cat.h"
#include "kernels/gpu/emit/types.h"

namespace sluice::kernels::cuda {

using fusion::Access;
using fusion::Schedule;
using fusion::StrideClass;

Addresses::Addresses(const fusion::Program& program)
    : program_(program), pointwise_(program.schedule == Schedule::kPointwise) {}

int Addresses::num_outer() const {
  return pointwise_ ? program_.outer_rank - 1 : program_.outer_rank;
}

std::string Addresses::index_name(int dim) const {
  if (dim < num_outer()) return absl::StrCat("k", dim);
  if (pointwise_) return "i";
  return program_.reduced_rank == 1 ? "r" : absl::StrCat("r", dim - program_.outer_rank);
}

void Addresses::split(const std::string& number, int first, int count, Writer* writer) const {
  std::string rest = number;
  for (int d = first + count - 1; d > first; --d) {
    const std::string name = index_name(d);
    writer->line("const auto d", d, " = sl_divide(", rest, ", p.extent[", d, "], p.divisor[", d,
                 "]);");
    writer->line("const Index ", name, " = d", d, ".remainder;");
    rest = absl::StrCat("d", d, ".quotient");
  }
  if (count > 0) writer->line("const Index ", index_name(first), " = ", rest, ";");
}

void Addresses::write_outer(Writer* writer) const {
  split(pointwise_ ? "team.line" : "team.row", 0, num_outer(), writer);
  for (size_t a = 0; a < program_.accesses.size(); ++a) {
    const Access& access = program_.accesses[a];
    const std::string type = access.buffer == fusion::kNoBuffer
                                 ? "sl_i64"
                                 : absl::StrCat(memory_type(access.dtype), "*");
    writer->line(type, " const a", a, " = p.a", a,
                 terms(static_cast<uint16_t>(a), 0, num_outer(), ""), ";");
  }
}

void Addresses::write_walked(Writer* writer) const {
  if (program_.reduced_rank > 1) {
    split(walked(), program_.outer_rank, program_.reduced_rank, writer);
  }
}

std::string Addresses::outer(uint16_t access) const { return absl::StrCat("a", access); }

std::string Addresses::walked(uint16_t access, const std::string& lane) const {
  return absl::StrCat("a", access, terms(access, num_outer(), program_.rank() - num_outer(), lane));
}

std::string Addresses::lane_stride(uint16_t access) const {
  const StrideClass lanes = program_.accesses[access].lanes;
  if (lanes == StrideClass::kZero) return "Index(0)";
  if (lanes == StrideClass::kUnit) return "Index(1)";
  return absl::StrCat("Index(p.s", access, "[", program_.lane_dim(), "])");
}

std::string Addresses::terms(uint16_t access, int first, int count, const std::string& lane) const {
  const Access& form = program_.accesses[access];
  const char* type = form.buffer == fusion::kNoBuffer ? "sl_i64" : "Index";
  std::string text;
  for (int d = first; d < first + count; ++d) {
    const bool outer = d < program_.outer_rank;
    if (!(outer ? form.varies_along_outer : form.varies_along_reduced)) continue;
    const bool is_lane_dim = d == program_.lane_dim();
    if (is_lane_dim && form.lanes == StrideClass::kZero) continue;
    std::string index = index_name(d);
    if (d == program_.rank() - 1 && !lane.empty())
      index = absl::StrCat("(", index, " + ", lane, ")");
    if (form.buffer == fusion::kNoBuffer) index = absl::StrCat("sl_i64(", index, ")");
    absl::StrAppend(&text, " + ", index);
    if (is_lane_dim && form.lanes == StrideClass::kUnit) continue;
    absl::StrAppend(&text, " * ", type, "(p.s", access, "[", d, "])");
  }
  return text;
}

}  // namespace sluice::kernels::cuda
