// Reads the files of a folder and writes them again, for files_exchange_test.py.
#include <cstdio>
#include <string>

#include <sluice/sluice.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const auto arrays = sluice::load_npz(folder + "/numpy.npz");
  sluice::save_npz(folder + "/sluice.npz", arrays);
  for (const auto& [name, x] : arrays) {
    sluice::save(folder + "/" + name + ".sluice.npy", sluice::load(folder + "/" + name + ".npy"));
  }
  std::map<std::string, std::string> metadata;
  const auto tensors = sluice::load_safetensors(folder + "/python.safetensors", &metadata);
  sluice::save_safetensors(folder + "/sluice.safetensors", tensors, metadata);
  std::printf("%zu arrays, %zu tensors\n", arrays.size(), tensors.size());
}
