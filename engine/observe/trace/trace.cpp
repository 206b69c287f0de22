// The public functions of traces.
#include <sluice/trace.h>

#include <fstream>

#include <sluice/error.h>
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/observe/recorder.h"
#include "engine/observe/trace/trace_file.h"
#include "trace/dot.h"
#include "trace/html.h"
#include "trace/json_write.h"
#include "trace/perfetto.h"
#include "trace/text.h"

namespace sluice::trace {
namespace {

using engine::Recorder;

// A form that a trace can be written in.
struct Form {
  const char* ending;  // of a path
  bool shows_code;     // source and assembly of kernels
  std::string (*write)(const Trace& trace);
};
const Form kPerfetto = {".perfetto.json", false, [](const Trace& t) { return to_perfetto(t); }};
const Form kJson = {".json", true, [](const Trace& t) { return to_json(t); }};
const Form kDot = {".dot", false, [](const Trace& t) { return to_dot(t); }};
const Form kHtml = {".html", true, [](const Trace& t) { return to_html(to_json(t)); }};
const Form kText = {"", false, [](const Trace& t) { return to_text(t); }};

const Form& form_of(const std::string& path) {
  for (const Form* form : {&kPerfetto, &kJson, &kDot, &kHtml}) {
    if (absl::EndsWith(path, form->ending)) return *form;
  }
  return kText;
}

// A program may ask for a trace while one is recorded: this, too, is the recorder's time.
std::string recorded(const Form& form, bool may_make_code = true) {
  const engine::RecorderWork work;
  return form.write(Recorder::get().snapshot(form.shows_code && may_make_code));
}

}  // namespace

void start() { Recorder::get().start(); }
void stop() { Recorder::get().stop(); }

std::string to_text() { return recorded(kText); }
std::string to_json() { return recorded(kJson); }
std::string to_dot() { return recorded(kDot); }
std::string to_html() { return recorded(kHtml); }
std::string to_perfetto() { return recorded(kPerfetto); }

void write(const std::string& path) { engine::write_trace(path, /*may_make_code=*/true); }

}  // namespace sluice::trace

namespace sluice::engine {

void write_trace(const std::string& path, bool may_make_code) {
  std::ofstream file(path, std::ios::binary);
  file << trace::recorded(trace::form_of(path), may_make_code);
  file.flush();
  if (!file) {
    throw Error(ErrorCode::kUnavailable, absl::StrCat("trace: cannot write ", path));
  }
}

}  // namespace sluice::engine
