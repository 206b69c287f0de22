#include "frontend/files/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace sluice::frontend {

std::shared_ptr<const void> inflate(const FileName& name, Bytes deflated, uint64_t size) {
  // A byte stands for at most 1,032.
  if (size / 1032 > deflated.size()) {
    name.fail("says that ", deflated.size(), " bytes are ", size, " when inflated");
  }
  std::shared_ptr<std::byte[]> result(new (std::nothrow) std::byte[size]);
  if (result == nullptr) name.fail("has ", size, " bytes, for which there is no memory");
  z_stream stream{};
  constexpr int kRaw = -15;
  if (inflateInit2(&stream, kRaw) != Z_OK) name.fail("zlib does not start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(deflated.data()));
  stream.next_out = reinterpret_cast<Bytef*>(result.get());
  uint64_t in = deflated.size(), out = size;
  int status = Z_OK;
  // zlib counts in 32 bits.
  constexpr uint64_t kMost = std::numeric_limits<uInt>::max();
  while (status == Z_OK) {
    const auto in_now = static_cast<uInt>(std::min(in, kMost));
    const auto out_now = static_cast<uInt>(std::min(out, kMost));
    stream.avail_in = in_now;
    stream.avail_out = out_now;
    status = ::inflate(&stream, Z_NO_FLUSH);
    in -= in_now - stream.avail_in;
    out -= out_now - stream.avail_out;
    if (status == Z_OK && stream.avail_in == in_now && stream.avail_out == out_now) break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || out != 0) name.fail("does not inflate to the size that it names");
  return std::shared_ptr<const void>(result, result.get());
}

}  // namespace sluice::frontend
