#include "report.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "counters.h"

namespace digits {
namespace {

namespace sl = sluice;

[[gnu::format(printf, 1, 2)]] std::string format(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string row(const char* name, const std::string& value) {
  return format("  %-21s ", name) + value + "\n";
}

std::string bytes(int64_t count) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(count);
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  return format(unit == 0 ? "%.0f %s" : "%.3g %s", value, units[unit]);
}

// 1234567 -> "1,234,567".
std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int at = static_cast<int>(text.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    text.insert(at, 1, ',');
  }
  return text;
}

double ratio(int64_t a, int64_t b) {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += format("\\u%04x", c);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

uint64_t digest(const std::vector<float>& losses) {
  // FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/.
  uint64_t hash = 0xcbf29ce484222325;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(losses.data());
  for (size_t i = 0; i < losses.size() * sizeof(float); ++i) {
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  }
  return hash;
}

void write_counters(std::ostream& out, const sl::Stats& stats) {
  out << "{";
  const char* separator = "";
  for (const Counter& counter : kCounters) {
    out << separator << quoted(counter.name) << ": " << stats.*counter.field;
    separator = ", ";
  }
  out << "}";
}

template <typename T>
void write_numbers(std::ostream& out, const std::vector<T>& numbers, const char* number_format) {
  out << "[";
  for (size_t i = 0; i < numbers.size(); ++i) {
    out << (i == 0 ? "" : ", ") << format(number_format, static_cast<double>(numbers[i]));
  }
  out << "]";
}

void write_report(std::ostream& out, const Report& report) {
  const Run& run = report.run;
  out << "{\"test_accuracy\": " << format("%.6f", run.accuracies.back())
      << ", \"steps_per_second\": " << format("%.3f", run.steps_per_second)
      << ", \"steps_an_epoch\": " << run.steps_an_epoch
      << ", \"losses_digest\": " << quoted(format("%016" PRIx64, digest(run.losses)))
      << ",\n      \"all\": ";
  write_counters(out, run.all);
  out << ",\n      \"last_epoch\": ";
  write_counters(out, run.last_epoch);
  out << ",\n      \"comparisons\": [";
  const char* separator = "";
  for (const Comparison& other : report.comparisons) {
    out << separator << "{\"setting\": " << quoted(other.setting)
        << ", \"same_losses\": " << (other.same_losses ? "true" : "false")
        << ", \"steps_per_second\": " << format("%.3f", other.run.steps_per_second)
        << ", \"last_epoch\": ";
    write_counters(out, other.run.last_epoch);
    out << "}";
    separator = ",\n        ";
  }
  out << "],\n      \"accuracies\": ";
  write_numbers(out, run.accuracies, "%.6f");
  out << ",\n      \"losses\": ";
  write_numbers(out, run.losses, "%.9g");
  out << "}";
}

}  // namespace

bool begins_with(const std::vector<float>& all, const std::vector<float>& some) {
  return all.size() >= some.size() &&
         std::memcmp(all.data(), some.data(), some.size() * sizeof(float)) == 0;
}

std::string summary(const std::string& network, const Options& options, const Run& run,
                    const Digits& digits) {
  const sl::Stats& all = run.all;
  const sl::Stats& last = run.last_epoch;
  const int64_t steps = run.steps_an_epoch;
  std::string text = "\nThe " + network + " network took " +
                     grouped(static_cast<int64_t>(run.losses.size())) + " steps of " +
                     grouped(options.batch) + " on " + grouped(digits.train.size()) +
                     " images; tested on " + grouped(digits.test.size()) + " that it never saw\n\n";
  text += row("test accuracy", format("%.2f %%", run.accuracies.back() * 100));
  text += row("last loss", format("%.9g  (digest of all: %016" PRIx64 ")", run.losses.back(),
                                  digest(run.losses)));
  text += row("ops recorded", grouped(all.ops_recorded) + " → " + grouped(all.kernels_launched) +
                                  " kernels and " + grouped(all.library_calls) + " library calls");
  text +=
      row("kept out of memory", bytes(all.bytes_elided) + " in " + grouped(all.temporaries_elided) +
                                    " temporaries that never had a buffer");
  text += row("kernels compiled",
              grouped(all.compiles) + ", on disk already " + grouped(all.disk_cache_hits) +
                  ", found in the cache " + grouped(all.kernel_cache_hits) +
                  " times, interpreted meanwhile " + grouped(all.generic_tier_launches) + " times");
  text += row("plans", grouped(all.plan_hits) + " hits, " + grouped(all.plan_misses) + " misses");
  text +=
      row("a step at the end",
          format("%.0f ops in %.0f kernels and %.0f library calls", ratio(last.ops_recorded, steps),
                 ratio(last.kernels_launched, steps), ratio(last.library_calls, steps)));
  text += row("the last epoch", grouped(last.compiles) + " compiles, " + grouped(last.plan_misses) +
                                    " plan misses in " + grouped(steps) + " steps");
  text += row("speed", format("%.0f steps/s", run.steps_per_second));
  return text;
}

std::string comparison_table(const Run& run, const std::vector<Comparison>& comparisons) {
  if (comparisons.empty()) return "";
  const auto line = [](const std::string& name, const Run& run, const std::string& note) {
    return format("  %-21s %9.0f %11.1f %11s   ", name.c_str(), run.steps_per_second,
                  ratio(run.last_epoch.kernels_launched, run.steps_an_epoch),
                  bytes(ratio(run.last_epoch.bytes_read + run.last_epoch.bytes_written,
                              run.steps_an_epoch))
                      .c_str()) +
           note + "\n";
  };
  std::string text = format("\n  %-21s %9s %11s %11s   %s\n", "the first epoch", "steps/s",
                            "kernels", "moved", "losses");
  text += line("as it is", run, "");
  for (const Comparison& other : comparisons) {
    text += line(
        other.name, other.run,
        (other.same_losses
             ? "all " + grouped(static_cast<int64_t>(other.run.losses.size())) + " bit-identical"
             : std::string("DIFFERENT BITS")) +
            format("; %.1f times slower", run.steps_per_second / other.run.steps_per_second));
  }
  return text;
}

void write_json(std::ostream& out, const Options& options, const std::vector<Report>& reports) {
  out << "{\n  \"epochs\": " << options.epochs << ",\n  \"batch\": " << options.batch
      << ",\n  \"hidden\": ";
  write_numbers(out, options.hidden, "%.0f");
  out << ",\n  \"seed\": " << options.seed
      << ",\n  \"learning_rate\": " << format("%.9g", options.learning_rate)
      << ",\n  \"build\": " << quoted(sl::build_info()) << ",\n  \"networks\": {";
  const char* separator = "\n";
  for (const Report& report : reports) {
    out << separator << "    " << quoted(report.network) << ": ";
    write_report(out, report);
    separator = ",\n";
  }
  out << "\n  }\n}\n";
}

}  // namespace digits
