// Runs the snippets. numpy_snippets [expected.txt]: compares what they print with that file,
// instead of printing it.
#include <fstream>
#include <iostream>
#include <sstream>

#include "examples/numpy/snippets.h"

int main(int argc, char** argv) {
  std::ostringstream printed;
  std::streambuf* const screen = std::cout.rdbuf();
  if (argc > 1) std::cout.rdbuf(printed.rdbuf());
  for (const auto& group : {snippets::preprocessing(), snippets::statistics(), snippets::signals(),
                            snippets::images(), snippets::numerics()}) {
    for (const snippets::Snippet& snippet : group) {
      std::cout << "== " << snippet.name << '\n';
      snippet.run();
    }
  }
  std::cout.rdbuf(screen);
  if (argc == 1) return 0;

  std::ifstream file(argv[1]);
  std::istringstream lines(printed.str());
  std::string expected, line, snippet;
  while (std::getline(file, expected)) {
    if (expected.starts_with("== ")) snippet = expected.substr(3);
    if (!std::getline(lines, line) || line != expected) {
      std::cerr << snippet << " prints\n" << line << "\nand NumPy\n" << expected << '\n';
      return 1;
    }
  }
  return file.is_open() || !file.bad() ? 0 : 2;
}
