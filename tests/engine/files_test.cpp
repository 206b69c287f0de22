// Files: what is written is read again, what NumPy and safetensors write is read, and what is wrong
// is an error. $SLUICE_FUZZ_FILES is how many damaged files of each kind are read.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/support/golden_file.h"
#include "tests/support/test_util.h"

namespace sluice::test {
namespace {

using Code = ErrorCode;

std::string golden(const std::string& name) { return golden_file("files/" + name); }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

class Files : public testing::Test {
 protected:
  Files() {
    std::string path = testing::TempDir() + "/sluice_files_XXXXXX";
    folder_ = mkdtemp(path.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }
  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

void expect_same(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape(), b.shape());
  EXPECT_EQ(read_bytes(a), read_bytes(b));
}

std::map<std::string, Tensor> of_all_dtypes() {
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : all_dtypes()) {
    const NdArray values = [&] {
      std::mt19937_64 rng(7);
      return random_array(rng, dtype, {3, 5});
    }();
    tensors[name_of(dtype)] = to_tensor(values);
    tensors[std::string(name_of(dtype)) + " view"] = to_tensor(values).T();
    tensors[std::string(name_of(dtype)) + " nothing"] = zeros({2, 0}, dtype);
    tensors[std::string(name_of(dtype)) + " scalar"] = ones({}, dtype);
    tensors[std::string(name_of(dtype)) + " large"] = ones({300, 401}, dtype);
  }
  return tensors;
}

TEST_F(Files, EveryDTypeAndShapeComesBack) {
  const auto tensors = of_all_dtypes();
  for (const auto& [name, x] : tensors) {
    SCOPED_TRACE(name);
    save(in_folder("x.npy"), x);
    expect_same(load(in_folder("x.npy")), x);
  }
  save_npz(in_folder("x.npz"), tensors);
  save_safetensors(in_folder("x.safetensors"), tensors, {{"key", "value"}});
  std::map<std::string, std::string> metadata;
  for (const auto& read :
       {load_npz(in_folder("x.npz")), load_safetensors(in_folder("x.safetensors"), &metadata)}) {
    ASSERT_EQ(read.size(), tensors.size());
    for (const auto& [name, x] : tensors) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(read.contains(name));
      expect_same(read.at(name), x);
    }
  }
  EXPECT_EQ(metadata, (std::map<std::string, std::string>{{"key", "value"}}));
}

TEST_F(Files, EqualTensorsGiveEqualFiles) {
  for (const char* name : {"a.npz", "b.npz"}) save_npz(in_folder(name), {{"x", arange(5)}});
  EXPECT_EQ(content_of(in_folder("a.npz")), content_of(in_folder("b.npz")));
}

TEST_F(Files, NumPysFiles) {
  const Tensor x = arange(6).reshape(2, 3);
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::kBFloat16) continue;
    SCOPED_TRACE(name_of(dtype));
    expect_same(load(golden(std::string(name_of(dtype)) + ".npy")),
                (dtype == DType::kBool ? x % 2 : x).astype(dtype));
  }
  expect_same(load(golden("fortran.npy")), x);
  expect_same(load(golden("version2.npy")), x);
  expect_same(load(golden("big_endian.npy")), x.astype(DType::kFloat32));
  expect_same(load(golden("big_endian_fortran.npy")), x.astype(DType::kInt16));
  expect_same(load(golden("scalar.npy")), full({}, 2.5, DType::kFloat64));
  expect_same(load(golden("nothing.npy")), zeros({0, 3}));
  auto arrays = load_npz(golden("stored.npz"));
  expect_same(arrays.at("x"), x);
  expect_same(arrays.at("y"), Tensor::from({0.5f, -1.f}));
  try {
    arrays = load_npz(golden("deflated.npz"));
    expect_same(arrays.at("x"), x);
    expect_same(arrays.at("y"), zeros(1000));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented) << error.what();  // without zlib
  }
}

TEST_F(Files, FilesOfTheSafetensorsPackage) {
  std::map<std::string, std::string> metadata;
  const auto tensors = load_safetensors(golden("plain.safetensors"), &metadata);
  const Tensor x = arange(6).reshape(2, 3);
  expect_same(tensors.at("x"), x);
  expect_same(tensors.at("mask"), x > 2);
  expect_same(tensors.at("y"), Tensor::from({0.5f, -1.f}).astype(DType::kFloat16));
  expect_same(tensors.at("scalar"), full({}, 2.5, DType::kFloat64));
  EXPECT_EQ(metadata.at("made by"), "safetensors");
}

TEST_F(Files, AFileMayBeReplacedWhileItIsRead) {
  const std::string path = in_folder("x.npy");
  save(path, arange(100000));
  const Tensor old = load(path);
  save(path, old + 1);
  EXPECT_EQ(old[99999].item<int64_t>(), 99999);
  EXPECT_EQ(load(path)[99999].item<int64_t>(), 100000);
  std::filesystem::remove(path);
  EXPECT_EQ(sum(old - arange(100000)).item<int64_t>(), 0);
}

TEST_F(Files, LargeFilesAreReadInPlace) {
  if (default_device() != Device::cpu()) GTEST_SKIP() << "copied";
  for (const char* name : {"x.npy", "x.npz", "x.safetensors"}) {
    const std::string path = in_folder(name);
    const Tensor x = ones({1000, 1000});
    if (path.ends_with("npy")) save(path, x);
    if (path.ends_with("npz")) save_npz(path, {{"x", x}});
    if (path.ends_with("rs")) save_safetensors(path, {{"x", x}});
    const int64_t before = stats().bytes_live;
    const Tensor read = path.ends_with("npy")   ? load(path)
                        : path.ends_with("npz") ? load_npz(path).at("x")
                                                : load_safetensors(path).at("x");
    EXPECT_EQ(stats().bytes_live, before) << name;
    EXPECT_EQ(sum(read).item<double>(), 1e6);
  }
}

TEST_F(Files, AFailureLeavesTheOldFile) {
  const std::string path = in_folder("x.npy");
  save(path, arange(3));
  const Tensor wrong = take(arange(3), Tensor::from<int64_t>({9}), 0);
  EXPECT_TRUE(fails_with([&] { save(path, wrong); }, Code::kOutOfRange, {"take", "9"}));
  EXPECT_TRUE(fails_with(
      [&] {
        save_npz(path, {{"x", arange(3)}, {"y", wrong}});
      },
      Code::kOutOfRange, {"take"}));
  expect_same(load(path), arange(3));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, WhatIsNotThereOrCannotBeWritten) {
  EXPECT_TRUE(fails_with([&] { return load(in_folder("none.npy")); }, Code::kNotFound,
                         {"load", "none.npy", "No such file"}));
  EXPECT_TRUE(fails_with([&] { save(in_folder("no/x.npy"), ones(1)); }, Code::kNotFound,
                         {"save", "no/x.npy"}));
  EXPECT_TRUE(fails_with([&] { return load(folder_); }, Code::kInvalidArgument, {"regular file"}));
  EXPECT_TRUE(fails_with([&] { save(in_folder("x.npy"), Tensor()); }, Code::kFailedPrecondition,
                         {"save", "empty"}));
  EXPECT_TRUE(fails_with(
      [&] {
        save_safetensors(in_folder("x"), {{"__metadata__", ones(1)}});
      },
      Code::kInvalidArgument, {"__metadata__"}));
}

// A .npy file with this header.
std::string npy(const std::string& dict, size_t bytes = 64) {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>(dict.size() & 0xff);
  file += static_cast<char>(dict.size() >> 8);
  return file + dict + std::string(bytes, '\0');
}

std::string safetensors(const std::string& header, size_t bytes) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(bytes, '\0');
}

TEST_F(Files, HeadersThatAreWrong) {
  const std::string path = in_folder("x");
  const auto bad_npy = [&](const std::string& content, const std::string& part) {
    write(path, content);
    EXPECT_TRUE(
        fails_with([&] { return load(path); }, Code::kInvalidArgument, {"load", path, part}));
  };
  bad_npy("", "not a .npy file");
  bad_npy("PK", "not a .npy file");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (100,), }"), "400 bytes");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }"),
          "9223372036854775807");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99223372036854775807,), }"),
          "extent");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }"),
          "4294967296");
  bad_npy(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }"), "<c8");
  bad_npy(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }"), "structured");
  bad_npy(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "|O");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"), "True nor False");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }"), "extent");
  bad_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }"),
          "8 dimensions");
  bad_npy(npy("{'descr': '<f4', 'shape': (1,), }"), "missing");
  bad_npy(npy("{'descr': '<f4'"), "'}'");
  bad_npy(npy("{'descr': '<f4"), "does not end");

  const auto bad_tensors = [&](const std::string& content, const std::string& part) {
    write(path, content);
    EXPECT_TRUE(fails_with([&] { return load_safetensors(path); }, Code::kInvalidArgument,
                           {"load_safetensors", path, part}));
  };
  bad_tensors("", "length");
  bad_tensors(std::string(8, '\xff'), "too many");
  bad_tensors(safetensors("{", 0), "JSON");
  bad_tensors(safetensors("[]", 0), "no object");
  bad_tensors(safetensors(R"({"x":1})", 0), "no object");
  bad_tensors(safetensors(R"({"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1),
              "F8_E4M3");
  bad_tensors(safetensors(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4),
              "float32(2,)");
  bad_tensors(safetensors(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), "-1");
  bad_tensors(safetensors(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", 4), "at 2");
  bad_tensors(safetensors(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 4),
              "of which 2");
  bad_tensors(safetensors(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                          3),
              "at 1");
  bad_tensors(safetensors(R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                          R"("x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
                          2),
              "two entries");
  bad_tensors(safetensors(R"({"x":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1) + "x",
              "named");

  write(path, "PK\5\6");
  EXPECT_TRUE(
      fails_with([&] { return load_npz(path); }, Code::kInvalidArgument, {"load_npz", "zip"}));
  std::string damaged = content_of(golden("stored.npz"));
  damaged[200] = static_cast<char>(damaged[200] ^ 1);
  write(path, damaged);
  EXPECT_TRUE(
      fails_with([&] { return load_npz(path); }, Code::kInvalidArgument, {"load_npz", "checksum"}));
}

// Either an Error or tensors that can be read.
void read_damaged(const std::string& kind, const std::string& path) {
  try {
    if (kind == "npy") {
      read_bytes(load(path));
    } else {
      for (const auto& [name, x] : kind == "npz" ? load_npz(path) : load_safetensors(path)) {
        read_bytes(x);
      }
    }
  } catch (const Error&) {
  }
}

TEST_F(Files, DamagedFilesAreErrorsOrRead) {
  const char* const given = getenv("SLUICE_FUZZ_FILES");
  const int count = given != nullptr ? atoi(given) : 600;
  save_npz(in_folder("own.npz"), {{"a", arange(3)}, {"b", ones({2, 2})}});
  save_safetensors(in_folder("own.safetensors"), {{"a", arange(3)}, {"b", arange(4) > 1}},
                   {{"k", "v"}});
  const std::pair<std::string, std::string> sources[] = {
      {"npy", golden("bool.npy")},
      {"npy", golden("big_endian_fortran.npy")},
      {"npz", golden("stored.npz")},
      {"npz", golden("deflated.npz")},
      {"npz", in_folder("own.npz")},
      {"safetensors", golden("plain.safetensors")},
      {"safetensors", in_folder("own.safetensors")}};
  const std::string path = in_folder("damaged");
  constexpr char kNasty[] = {0, 1, '\x7f', '\x80', '\xff', '9', '-', '(', ',', '[', '{', '"'};
  for (const auto& [kind, source] : sources) {
    const std::string whole = content_of(source);
    ASSERT_FALSE(whole.empty()) << source;
    std::mt19937_64 rng(whole.size());
    for (int i = 0; i < count; ++i) {
      std::string content = whole;
      const auto at = [&] { return rng() % content.size(); };
      for (uint64_t edits = 1 + rng() % 4; edits > 0 && !content.empty(); --edits) {
        switch (rng() % 7) {
          case 0: content.resize(at()); break;
          case 1: content.erase(at(), rng() % 16); break;
          case 2: content.insert(at(), content.substr(at(), rng() % 64)); break;
          case 3: content[at()] = kNasty[rng() % std::size(kNasty)]; break;
          default: {
            char& byte = content[at()];
            byte = static_cast<char>(byte ^ (1 << (rng() % 8)));
          }
        }
      }
      write(path, content);
      SCOPED_TRACE(source + " " + std::to_string(i));
      EXPECT_NO_THROW(read_damaged(kind, path));
    }
  }
}

}  // namespace
}  // namespace sluice::test
