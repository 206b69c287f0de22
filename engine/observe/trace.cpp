#include <sluice/trace.h>

#include <fstream>

#include <sluice/error.h>
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/observe/recorder.h"
#include "trace/dot.h"
#include "trace/html.h"
#include "trace/json.h"
#include "trace/perfetto.h"
#include "trace/text.h"

namespace sluice::trace {
namespace {

using engine::Recorder;

}  // namespace

void start() { Recorder::get().start(); }
void stop() { Recorder::get().stop(); }

std::string to_text() { return to_text(Recorder::get().snapshot()); }
std::string to_json() { return to_json(Recorder::get().snapshot()); }
std::string to_dot() { return to_dot(Recorder::get().snapshot()); }
std::string to_html() { return to_html(to_json()); }
std::string to_perfetto() { return to_perfetto(Recorder::get().snapshot()); }

void write(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << (absl::EndsWith(path, ".perfetto.json") ? to_perfetto()
           : absl::EndsWith(path, ".json")        ? to_json()
           : absl::EndsWith(path, ".dot")         ? to_dot()
           : absl::EndsWith(path, ".html")        ? to_html()
                                                  : to_text());
  file.flush();
  if (!file) {
    throw Error(absl::StatusCode::kUnavailable, absl::StrCat("trace: cannot write ", path));
  }
}

}  // namespace sluice::trace
