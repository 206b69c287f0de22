#include <sluice/files.h>
#include "engine/observe/call_site.h"
#include "frontend/checks.h"
#include "frontend/files/npy.h"
#include "frontend/files/zip.h"

namespace sluice {

void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
              Location where) {
  const engine::CallSite site(where, "save_npz");
  for (const auto& [name, tensor] : tensors) {
    frontend::node_of("save_npz", tensor);
    if (name.empty() || name.size() > 60000) {
      frontend::fail("save_npz", "a name of ", name.size(), " bytes");
    }
  }
  // Recorded work is submitted together before any of it is waited for.
  for (const auto& [name, tensor] : tensors) tensor.eval(where);
  frontend::write_file("save_npz", path, [&](frontend::Append append) {
    frontend::ZipWriter zip(append);
    for (const auto& [name, tensor] : tensors) {
      const frontend::Values values(tensor);
      const std::string header = frontend::npy_header(tensor.dtype(), tensor.shape());
      zip.add(name + ".npy", {std::as_bytes(std::span(header)), values.bytes()});
    }
    zip.finish();
  });
}

std::map<std::string, Tensor> load_npz(const std::string& path, Location where) {
  const engine::CallSite site(where, "load_npz");
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, contents] : frontend::read_zip(frontend::open_file("load_npz", path))) {
    if (!name.ends_with(".npy")) continue;
    tensors.emplace(name.substr(0, name.size() - 4), frontend::read_npy(contents));
  }
  return tensors;
}

}  // namespace sluice
