#include "options.h"

#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>

namespace digits {
namespace {

template <typename T>
T parse_number(const std::string& flag, std::string_view text, T least, T greatest) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= least && value <= greatest)) {
    throw UsageError(flag + " takes a number from " + std::to_string(least) + " to " +
                     std::to_string(greatest) + ", not '" + std::string(text) + "'");
  }
  return value;
}

std::vector<int64_t> parse_widths(const std::string& flag, std::string_view text) {
  std::vector<int64_t> widths;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    widths.push_back(parse_number<int64_t>(flag, text.substr(begin, end - begin), 1, 8192));
    begin = end + 1;
  }
  return widths;
}

struct Flag {
  const char* name;
  const char* value;  // the value's name in the usage text; null for a switch
  const char* meaning;
  std::function<void(Options&, const std::string& flag, const std::string& value)> set;
};

const std::vector<Flag>& flags() {
  static const std::vector<Flag> flags = {
      {"--network", "NAME", "perceptron or convolutional (both)",
       [](Options& o, auto& f, auto& v) {
         if (v != "perceptron" && v != "convolutional") {
           throw UsageError(f + " takes perceptron or convolutional, not '" + v + "'");
         }
         o.networks = {v};
       }},
      {"--epochs", "N", "passes over the training images (8)",
       [](Options& o, auto& f, auto& v) { o.epochs = parse_number<int64_t>(f, v, 1, 100000); }},
      {"--batch", "N", "images a step (32)",
       [](Options& o, auto& f, auto& v) { o.batch = parse_number<int64_t>(f, v, 1, 1000000); }},
      {"--hidden", "N,N,..", "widths of the perceptron's hidden layers (512,256)",
       [](Options& o, auto& f, auto& v) { o.hidden = parse_widths(f, v); }},
      {"--seed", "N", "of the weights and of the order of the images (1)",
       [](Options& o, auto& f, auto& v) {
         o.seed = parse_number<uint64_t>(f, v, 0, std::numeric_limits<uint64_t>::max());
       }},
      {"--lr", "X", "learning rate at the start; it falls to 0 as a cosine (0.002)",
       [](Options& o, auto& f, auto& v) {
         o.learning_rate = parse_number<double>(f, v, 0.0, 100.0);
       }},
      {"--data", "PATH", "the images, as examples/digits/data/DATA.md describes them",
       [](Options& o, auto&, auto& v) { o.data = v; }},
      {"--json", "PATH", "write every figure there",
       [](Options& o, auto&, auto& v) { o.json = v; }},
      {"--trace", "PATH", "write a trace of some steps there: .html, .json, .perfetto.json, .txt",
       [](Options& o, auto&, auto& v) { o.trace = v; }},
      {"--no-compare", nullptr, "don't repeat an epoch with fusion off and with compilation off",
       [](Options& o, auto&, auto&) { o.compare = false; }},
      {"--quiet", nullptr, "no progress, no pictures",
       [](Options& o, auto&, auto&) { o.quiet = true; }},
      {"--help", nullptr, "this", [](Options& o, auto&, auto&) { o.help = true; }},
  };
  return flags;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const Flag* flag = nullptr;
    for (const Flag& candidate : flags()) {
      if (name == candidate.name) flag = &candidate;
    }
    if (flag == nullptr) throw UsageError("unknown argument '" + argument + "' (see --help)");

    std::string value;
    if (flag->value == nullptr) {
      if (equals != std::string::npos) throw UsageError(name + " takes no value");
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      throw UsageError(name + " needs a value");
    }
    flag->set(options, name, value);
  }
  return options;
}

std::string usage() {
  std::string text =
      "usage: digits [flags]\n"
      "Trains two classifiers of handwritten digits and shows what the lazy engine made of it.\n";
  for (const Flag& flag : flags()) {
    std::string left = flag.name;
    if (flag.value != nullptr) left += std::string(" ") + flag.value;
    left.resize(std::max<size_t>(left.size(), 18), ' ');
    text += "  " + left + " " + flag.meaning + "\n";
  }
  return text;
}

}  // namespace digits
