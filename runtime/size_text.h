// Numbers of bytes as people write them.
#ifndef SLUICE_RUNTIME_SIZE_TEXT_H_
#define SLUICE_RUNTIME_SIZE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::runtime {

// "512 bytes", "19.1 MiB".
std::string size_text(int64_t bytes);

// "4096", "100M", "2GiB", "1.5 GB": K, M, G and T, alone or with iB, are powers of 1024, with B
// powers of 1000. Nothing if it is no number of bytes, or does not fit.
std::optional<int64_t> parse_size(std::string_view text);

}  // namespace sluice::runtime

#endif  // SLUICE_RUNTIME_SIZE_TEXT_H_
