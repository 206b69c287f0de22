// Writes C++ text line by line, indented by its blocks.
#ifndef SLUICE_KERNELS_GPU_EMIT_WRITER_H_
#define SLUICE_KERNELS_GPU_EMIT_WRITER_H_

#include <string>

#include "absl/strings/str_cat.h"

namespace sluice::kernels::cuda {

class Writer {
 public:
  template <typename... Parts>
  void line(const Parts&... parts) {
    text_.append(2 * depth_, ' ');
    absl::StrAppend(&text_, parts..., "\n");
  }
  void blank() { text_ += '\n'; }
  // A line that ends with a brace, whose block the lines until close() are in.
  template <typename... Parts>
  void open(const Parts&... parts) {
    line(parts..., " {");
    ++depth_;
  }
  // Ends a block and begins the next one of the same statement: `} else {`.
  template <typename... Parts>
  void reopen(const Parts&... parts) {
    --depth_;
    open("} ", parts...);
  }
  void close(const char* end = "}") {
    --depth_;
    line(end);
  }
  // Text of whole lines, as it is.
  void raw(const std::string& text) { text_ += text; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

}  // namespace sluice::kernels::cuda

#endif  // SLUICE_KERNELS_GPU_EMIT_WRITER_H_
