// Tensors in files: NumPy's .npy and .npz, and .safetensors.
#ifndef SLUICE_FILES_H_
#define SLUICE_FILES_H_

#include <map>
#include <string>

#include <sluice/tensor.h>

#pragma GCC visibility push(default)
namespace sluice {

// Reading gives tensors on default_device(). Large files are mapped into memory: what is not read
// is never loaded, and on the CPU values stay where they are, so that the file may be replaced or
// deleted but not changed in place or cut as long as a tensor of it lives. A file that is not what
// its format says is an Error (kInvalidArgument) that names the file and what is wrong, one that
// is not there kNotFound, one that cannot be read or written kUnavailable.
//
// Writing computes the tensors, writes a new file beside `path` and renames it: whoever opens
// `path` sees the old file or the whole new one. If writing throws, the old file is still there.

// A .npy file (format versions 1 to 3; Fortran order and big-endian values are read too). bfloat16,
// which NumPy does not have, is written as the ml_dtypes package does: as '<V2', of which NumPy
// reads the bits (x.view(ml_dtypes.bfloat16) makes them numbers).
void save(const std::string& path, const Tensor& x, Location where = Location::current());
Tensor load(const std::string& path, Location where = Location::current());

// A .npz file: a zip archive of .npy files, named as the tensors. Entries are written as they are,
// not compressed; compressed ones are read if Sluice was built with zlib.
void save_npz(const std::string& path, const std::map<std::string, Tensor>& tensors,
              Location where = Location::current());
std::map<std::string, Tensor> load_npz(const std::string& path,
                                       Location where = Location::current());

// A .safetensors file, with `metadata` or, if not null, into it.
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {},
                      Location where = Location::current());
std::map<std::string, Tensor> load_safetensors(
    const std::string& path, std::map<std::string, std::string>* metadata = nullptr,
    Location where = Location::current());

}  // namespace sluice
#pragma GCC visibility pop

#endif  // SLUICE_FILES_H_
