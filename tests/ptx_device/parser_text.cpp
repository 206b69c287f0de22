// Words, literals and declarations.
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "tests/ptx_device/parser_state.h"

namespace sluice::ptx {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

}  // namespace

void fail(const std::string& what) { throw ParseError{what}; }

std::string trim(const std::string& text) {
  size_t begin = 0, end = text.size();
  while (begin < end && is_space(text[begin])) ++begin;
  while (end > begin && is_space(text[end - 1])) --end;
  return text.substr(begin, end - begin);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    if (!is_space(c) && !in_word) words.emplace_back();
    in_word = !is_space(c);
    if (in_word) words.back() += c;
  }
  return words;
}

std::vector<std::string> split_operands(const std::string& text) {
  if (trim(text).empty()) return {};
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (std::strchr("{[(", c) != nullptr) ++depth;
    if (std::strchr("}])", c) != nullptr) --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trim(part);
  return parts;
}

uint64_t number_of(const std::string& text, Type type) {
  const bool negative = text[0] == '-';
  const std::string digits = negative ? text.substr(1) : text;
  const char kind = digits.size() > 2 && digits[0] == '0'
                        ? static_cast<char>(std::tolower(static_cast<unsigned char>(digits[1])))
                        : '\0';
  if (kind == 'f' || kind == 'd') {
    const uint64_t bits = std::strtoull(digits.c_str() + 2, nullptr, 16);
    return negative ? bits ^ (uint64_t{1} << (kind == 'f' ? 31 : 63)) : bits;
  }
  if (digits.find('.') != std::string::npos || type == kF32 || type == kF64) {
    const double value = std::strtod(text.c_str(), nullptr);
    const auto narrow = static_cast<float>(value);
    uint64_t bits = 0;
    if (type == kF32) {
      std::memcpy(&bits, &narrow, sizeof(narrow));
    } else {
      std::memcpy(&bits, &value, sizeof(value));
    }
    return bits;
  }
  const uint64_t value = std::strtoull(digits.c_str(), nullptr, 0);
  return negative ? ~value + 1 : value;
}

Declaration parse_declaration(const std::string& text) {
  Declaration declared;
  int64_t count = 1;
  const std::vector<std::string> words = split_words(text);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == ".param" || word == ".ptr" || word == ".global" || word == ".const") continue;
    if (word == ".align" && i + 1 < words.size()) {
      declared.align = std::atoi(words[++i].c_str());
    } else if (word[0] == '.') {
      declared.type = type_of(word.substr(1));
      if (declared.type == kNoType) fail("a declaration with " + word);
    } else {
      const size_t bracket = word.find('[');
      declared.name = word.substr(0, bracket);
      if (bracket != std::string::npos) count = std::atoll(word.c_str() + bracket + 1);
    }
  }
  const int size = bytes_of(declared.type);
  declared.bytes = count * size;
  if (size > declared.align) declared.align = size;
  return declared;
}

}  // namespace sluice::ptx
