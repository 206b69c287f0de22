// sluice-trace: shows, converts and compares the traces that Sluice writes.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tools/trace/diff.h"
#include "tools/trace/json_read.h"
#include "tools/trace/kernel_list.h"
#include "tools/trace/summary.h"
#include "trace/dot.h"
#include "trace/html.h"
#include "trace/json_write.h"
#include "trace/perfetto.h"
#include "trace/text.h"

namespace sluice::trace {
namespace {

constexpr char kUsage[] =
    R"(usage: sluice-trace COMMAND FILE...

Shows, converts and compares traces: the .json files that a program using Sluice writes when
SLUICE_TRACE names them (SLUICE_TRACE=run.json ./program).

  show FILE [--no-times]      what ran: windows, kernels, and why they were cut where they were;
                              without times, equal for equal runs of a deterministic program
  top FILE [-n N]             the N (10) steps that took longest, and the N cut edges of most bytes
  diff A B                    what is different in B: fusions lost and won, kernels, counts
  kernels FILE                all kernels
  kernels FILE --source K     program, source and assembly of one: K is its number, or how its key
                              begins
  dot FILE [OUT]              the graphs, for Graphviz; to the standard output if there is no OUT
  html FILE OUT               a page to look around in, which needs no network
  perfetto FILE OUT           a time line, for https://ui.perfetto.dev

Exit code: 0; of diff 1 if something else ran: more than how many kernels were compiled differs;
2 if something is wrong, which a line says.
)";

constexpr size_t kTop = 10;

// What is wrong with how it was called, or with a file; main() says so.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Failure usage_failure(const std::string& problem) {
  return Failure(problem + " (see sluice-trace --help)");
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    throw Failure(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  std::string text;
  char piece[1 << 16];
  while (const size_t size = std::fread(piece, 1, sizeof(piece), file.get())) {
    text.append(piece, size);
  }
  // A directory can be opened, but not read.
  if (std::ferror(file.get()) != 0) {
    throw Failure(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  return text;
}

void write_to(std::FILE* file, const std::string& name, const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0) {
    throw Failure(absl::StrCat("cannot write ", name, ": ", std::strerror(errno)));
  }
}

void write_file(const std::string& path, const std::string& text) {
  const File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) {
    throw Failure(absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  write_to(file.get(), path, text);
}

void print(const std::string& text) { write_to(stdout, "the output", text); }

Trace load(const std::string& path) {
  absl::StatusOr<Trace> trace = from_json(read_file(path));
  if (!trace.ok()) throw Failure(absl::StrCat(path, ": ", trace.status().message()));
  return *std::move(trace);
}

// What follows a command, taken from the front; done() fails if something is left.
class Arguments {
 public:
  Arguments(std::string command, std::vector<std::string> words)
      : command_(std::move(command)), words_(std::move(words)) {}

  // True if `flag` is there, which is taken; with its value if `value` is not null.
  bool take_flag(const std::string& flag, std::string* value = nullptr) {
    for (size_t i = 0; i < words_.size(); ++i) {
      if (words_[i] != flag) continue;
      if (value != nullptr) {
        if (i + 1 == words_.size()) throw usage_failure(flag + " needs a value");
        *value = words_[i + 1];
        words_.erase(words_.begin() + static_cast<int64_t>(i) + 1);
      }
      words_.erase(words_.begin() + static_cast<int64_t>(i));
      return true;
    }
    return false;
  }
  bool empty() const { return words_.empty(); }
  std::string take(const char* what) {
    if (words_.empty()) throw usage_failure(absl::StrCat(command_, " needs ", what));
    std::string word = words_.front();
    if (word.size() > 1 && word[0] == '-') throw unknown(word);
    words_.erase(words_.begin());
    return word;
  }
  void done() const {
    if (!words_.empty()) throw unknown(words_.front());
  }

 private:
  Failure unknown(const std::string& word) const {
    return usage_failure(absl::StrCat(command_, " does not take '", word, "'"));
  }

  std::string command_;
  std::vector<std::string> words_;
};

int show(Arguments& arguments) {
  const TextOptions options = {.times = !arguments.take_flag("--no-times")};
  const std::string path = arguments.take("a FILE");
  arguments.done();
  print(to_text(load(path), options));
  return 0;
}

int top(Arguments& arguments) {
  size_t count = kTop;
  if (std::string value; arguments.take_flag("-n", &value)) {
    if (!absl::SimpleAtoi(value, &count)) {
      throw usage_failure(absl::StrCat("-n: '", value, "' is not a number"));
    }
  }
  const std::string path = arguments.take("a FILE");
  arguments.done();
  const Trace trace = load(path);
  print(to_text(trace, summarize(trace), count));
  return 0;
}

int diff(Arguments& arguments) {
  const std::string path_a = arguments.take("two FILEs"), path_b = arguments.take("two FILEs");
  arguments.done();
  const Trace a = load(path_a), b = load(path_b);
  const Diff difference = diff(a, b);
  print(to_text(difference, a, b));
  return difference.ran_alike() ? 0 : 1;
}

int kernels(Arguments& arguments) {
  std::string kernel;
  const bool is_one = arguments.take_flag("--source", &kernel);
  const std::string path = arguments.take("a FILE");
  arguments.done();
  const Trace trace = load(path);
  if (!is_one) {
    print(list_kernels(trace));
    return 0;
  }
  const absl::StatusOr<int32_t> found = find_kernel(trace, kernel);
  if (!found.ok()) throw Failure(absl::StrCat(path, ": ", found.status().message()));
  print(describe_kernel(trace, *found));
  return 0;
}

int dot(Arguments& arguments) {
  const std::string path = arguments.take("a FILE");
  const std::string out = arguments.empty() ? "" : arguments.take("OUT");
  arguments.done();
  const std::string text = to_dot(load(path));
  if (out.empty()) {
    print(text);
  } else {
    write_file(out, text);
  }
  return 0;
}

int html(Arguments& arguments) {
  const std::string path = arguments.take("a FILE"), out = arguments.take("OUT");
  arguments.done();
  write_file(out, to_html(to_json(load(path))));
  return 0;
}

int perfetto(Arguments& arguments) {
  const std::string path = arguments.take("a FILE"), out = arguments.take("OUT");
  arguments.done();
  write_file(out, to_perfetto(load(path)));
  return 0;
}

struct Command {
  const char* name;
  int (*run)(Arguments& arguments);  // gives the exit code
};
constexpr Command kCommands[] = {{"show", show},        {"top", top}, {"diff", diff},
                                 {"kernels", kernels},  {"dot", dot}, {"html", html},
                                 {"perfetto", perfetto}};

int run(std::vector<std::string> words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") {
      print(kUsage);
      return 0;
    }
  }
  if (words.empty()) throw usage_failure("a COMMAND is needed");
  const std::string name = words.front();
  words.erase(words.begin());
  for (const Command& command : kCommands) {
    if (name != command.name) continue;
    Arguments arguments(name, std::move(words));
    return command.run(arguments);
  }
  throw usage_failure(absl::StrCat("there is no command '", name, "'"));
}

}  // namespace
}  // namespace sluice::trace

int main(int argc, char** argv) {
  try {
    return sluice::trace::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-trace: %s\n", error.what());
    return 2;
  }
}
