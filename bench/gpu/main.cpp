// The GPU bench. It needs a device and no further library. scripts/gpu-check runs it and compares
// the results with goals and other frameworks.
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include "bench/gpu/measure.h"

namespace sluice::bench {
namespace {

struct Group {
  const char* name;
  void (*run)(const Bench& bench);
};

constexpr Group kGroups[] = {
    {"copies", bench_copies},     {"pointwise", bench_pointwise}, {"rows", bench_rows},
    {"matmul", bench_matmul},     {"step", bench_step},           {"host", bench_host},
    {"compiler", bench_compiler}, {"layers", bench_layers},       {"arrays", bench_arrays},
};

constexpr const char* kUsage =
    "usage: gpu_bench [--device cuda|cpu] [--only GROUP,...] [--quick] [--json FILE]\n"
    "       gpu_bench --probe | --list\n"
    "  --device NAME  cuda unless given; cuda:1 is the second GPU\n"
    "  --only LIST    of the groups that --list names\n"
    "  --quick        tiny sizes: shows that it runs, measures nothing\n"
    "  --json FILE    appends a line of JSON for each result\n"
    "  --probe        computes one number and says what there is, as JSON\n"
    "Exit codes: 1 a workload failed, 2 bad arguments, 3 the device cannot be used.\n";

struct Arguments {
  std::string device = "cuda";
  std::string only;
  const char* json = nullptr;
  bool quick = false, probe = false, list = false;
};

bool parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (name == "--quick") {
      arguments->quick = true;
    } else if (name == "--probe") {
      arguments->probe = true;
    } else if (name == "--list") {
      arguments->list = true;
    } else if (value == nullptr) {
      return false;
    } else if (name == "--device") {
      arguments->device = argv[++i];
    } else if (name == "--only") {
      arguments->only = argv[++i];
    } else if (name == "--json") {
      arguments->json = argv[++i];
    } else {
      return false;
    }
  }
  return true;
}

bool chooses(const std::string& list, const char* name) {
  return list.empty() || ("," + list + ",").find("," + std::string(name) + ",") != list.npos;
}

bool choose_device(const std::string& name) {
  try {
    const bool first = name == "cuda";
    set_default_device(name == "cpu" ? Device::cpu()
                                     : Device::cuda(first ? 0 : std::stoi(name.substr(5))));
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
  } catch (const std::exception&) {
    std::fprintf(stderr, "gpu_bench: no device is called '%s'\n", name.c_str());
  }
  return false;
}

int run(const Arguments& arguments) {
  const Settings settings{.on_gpu = arguments.device != "cpu", .quick = arguments.quick};
  if (arguments.probe) {
    try {
      probe(settings);
    } catch (const Error& error) {
      std::fprintf(stderr, "gpu_bench: %s\n", error.what());
      return error.code() == ErrorCode::kFailedPrecondition ? 3 : 1;
    }
    return 0;
  }
  config().compile = CompileMode::kBlocking;
  Report report(arguments.json);
  const Bench bench{settings, &report};
  for (const Group& group : kGroups) {
    if (chooses(arguments.only, group.name)) group.run(bench);
  }
  return report.failed() ? 1 : 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  if (arguments.list) {
    for (const Group& group : kGroups) std::puts(group.name);
    return 0;
  }
  if (!choose_device(arguments.device)) return 3;
  return run(arguments);
}
