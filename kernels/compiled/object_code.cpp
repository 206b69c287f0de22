#include "kernels/compiled/object_code.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/compiled/machine.h"

namespace sluice::kernels {
namespace {

constexpr uint64_t kMaxAlignment = 4096;  // that of memory
constexpr uint64_t kMaxBytes = uint64_t{1} << 28;

absl::Status damaged(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("compiled code: ", what));
}

}  // namespace

class ObjectReader {
 public:
  ObjectReader(absl::string_view object, absl::FunctionRef<void*(const char*)> address_of)
      : object_(object), address_of_(address_of) {}

  absl::StatusOr<ObjectCode> load() {
    for (const auto step : {&ObjectReader::read_sections, &ObjectReader::read_symbols,
                            &ObjectReader::copy, &ObjectReader::resolve, &ObjectReader::relocate}) {
      if (absl::Status status = (this->*step)(); !status.ok()) return status;
    }
    __builtin___clear_cache(base_, base_ + bytes_);
    if (mprotect(code_.memory_.get(), code_.memory_.get_deleter().bytes, PROT_READ | PROT_EXEC)) {
      return absl::ResourceExhaustedError("compiled code: memory cannot be made executable");
    }
    return std::move(code_);
  }

 private:
  struct Section {
    Elf64_Shdr header;
    std::optional<uint64_t> place;  // in memory, of those that are loaded
  };
  struct Symbol {
    Elf64_Sym entry;
    const char* name = "";
    char* address = nullptr;  // null: a section that is not loaded, a file's name
  };

  // The `index`-th T of a table at `offset`.
  template <typename T>
  bool read(uint64_t offset, uint64_t index, T* value) const {
    const uint64_t size = object_.size();
    if (offset > size || index >= (size - offset) / sizeof(T)) return false;
    std::memcpy(value, object_.data() + offset + index * sizeof(T), sizeof(T));
    return true;
  }

  // Of a section whose contents are a table of T, their number.
  template <typename T>
  static uint64_t count(const Section& table) {
    return table.header.sh_entsize == sizeof(T) ? table.header.sh_size / sizeof(T) : 0;
  }

  absl::Status read_sections() {
    Elf64_Ehdr header;
    constexpr unsigned char kIdent[] = {ELFMAG0,    ELFMAG1,     ELFMAG2,   ELFMAG3,
                                        ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
    if (!read(0, 0, &header) || std::memcmp(header.e_ident, kIdent, sizeof(kIdent)) != 0 ||
        header.e_type != ET_REL || header.e_machine != machine_.elf ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
      return damaged(absl::StrCat("not an object file for ", machine_.name));
    }
    sections_.resize(header.e_shnum);
    for (size_t i = 0; i < sections_.size(); ++i) {
      Elf64_Shdr& section = sections_[i].header;
      if (!read(header.e_shoff, i, &section)) return damaged("sections are missing");
      if (section.sh_type != SHT_NULL && (section.sh_offset > object_.size() ||
                                          section.sh_size > object_.size() - section.sh_offset)) {
        return damaged("a section ends too late");
      }
      if (section.sh_type == SHT_NULL || (section.sh_flags & SHF_ALLOC) == 0) continue;
      const uint64_t alignment = std::max<uint64_t>(section.sh_addralign, 1);
      if (section.sh_type != SHT_PROGBITS || (section.sh_flags & (SHF_WRITE | SHF_TLS)) != 0 ||
          (alignment & (alignment - 1)) != 0 || alignment > kMaxAlignment) {
        return damaged("a section of a kind that kernels do not have");
      }
      sections_[i].place = (bytes_ + alignment - 1) & ~(alignment - 1);
      bytes_ = *sections_[i].place + section.sh_size;
      if (bytes_ > kMaxBytes) return damaged("too large");
    }
    return absl::OkStatus();
  }

  absl::Status read_symbols() {
    const auto table = std::find_if(sections_.begin(), sections_.end(), [](const Section& section) {
      return section.header.sh_type == SHT_SYMTAB;
    });
    if (table == sections_.end() || table->header.sh_link >= sections_.size()) {
      return damaged("no symbols");
    }
    const Elf64_Shdr& strings = sections_[table->header.sh_link].header;
    if (strings.sh_type != SHT_STRTAB || strings.sh_size == 0 ||
        object_[strings.sh_offset + strings.sh_size - 1] != '\0') {
      return damaged("no names");
    }
    symbols_.resize(count<Elf64_Sym>(*table));
    for (size_t i = 0; i < symbols_.size(); ++i) {
      Symbol& symbol = symbols_[i];
      if (!read(table->header.sh_offset, i, &symbol.entry) ||
          symbol.entry.st_name >= strings.sh_size) {
        return damaged("a symbol has no name");
      }
      symbol.name = object_.data() + strings.sh_offset + symbol.entry.st_name;
    }
    bytes_ = (bytes_ + Machine::kStubBytes - 1) / Machine::kStubBytes * Machine::kStubBytes;
    stubs_ = bytes_;
    bytes_ += Machine::kStubBytes * std::count_if(symbols_.begin(), symbols_.end(), is_undefined);
    return absl::OkStatus();
  }

  static bool is_undefined(const Symbol& symbol) {
    return symbol.entry.st_shndx == SHN_UNDEF && *symbol.name != '\0';
  }

  absl::Status copy() {
    if (bytes_ == 0) return damaged("no code");
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return absl::ResourceExhaustedError("compiled code: no memory");
    code_.memory_ = {memory, ObjectCode::Unmap{bytes_}};
    base_ = static_cast<char*>(memory);
    for (const Section& section : sections_) {
      if (!section.place) continue;
      std::memcpy(base_ + *section.place, object_.data() + section.header.sh_offset,
                  section.header.sh_size);
    }
    return absl::OkStatus();
  }

  absl::Status resolve() {
    uint64_t stub = stubs_;
    for (Symbol& symbol : symbols_) {
      const Elf64_Section index = symbol.entry.st_shndx;
      if (is_undefined(symbol)) {
        const void* const target = address_of_(symbol.name);
        if (target == nullptr) return damaged(absl::StrCat("there is no ", symbol.name));
        symbol.address = base_ + stub;
        machine_.write_stub(symbol.address, target);
        stub += Machine::kStubBytes;
      } else if (index != SHN_UNDEF && index < SHN_LORESERVE) {
        if (index >= sections_.size()) return damaged("a symbol of no section");
        const Section& section = sections_[index];
        if (!section.place) continue;
        if (symbol.entry.st_value > section.header.sh_size) return damaged("a symbol lies outside");
        symbol.address = base_ + *section.place + symbol.entry.st_value;
        if (ELF64_ST_BIND(symbol.entry.st_info) == STB_GLOBAL &&
            ELF64_ST_TYPE(symbol.entry.st_info) == STT_FUNC) {
          code_.functions_.emplace_back(symbol.name, symbol.address);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status relocate() {
    for (const Section& table : sections_) {
      const Elf64_Shdr& header = table.header;
      if (header.sh_type != SHT_RELA && header.sh_type != SHT_REL) continue;
      if (header.sh_info >= sections_.size()) return damaged("relocations of no section");
      const Section& section = sections_[header.sh_info];
      if (!section.place) continue;
      if (header.sh_type == SHT_REL || count<Elf64_Rela>(table) == 0) {
        return damaged("relocations of an unknown form");
      }
      for (uint64_t i = 0; i < count<Elf64_Rela>(table); ++i) {
        Elf64_Rela entry;
        if (!read(header.sh_offset, i, &entry) || !relocate(section, entry)) {
          return damaged("a relocation of an unknown kind");
        }
      }
    }
    return absl::OkStatus();
  }

  bool relocate(const Section& section, const Elf64_Rela& entry) {
    const uint64_t index = ELF64_R_SYM(entry.r_info);
    if (index >= symbols_.size() || symbols_[index].address == nullptr) return false;
    const uint64_t size = section.header.sh_size;
    if (entry.r_offset > size) return false;
    return machine_.relocate(
        {.type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)),
         .field = base_ + *section.place + entry.r_offset,
         .room = size - entry.r_offset,
         .target = reinterpret_cast<uint64_t>(symbols_[index].address) + entry.r_addend,
         .is_stub = is_undefined(symbols_[index])});
  }

  const Machine& machine_ = host_machine();
  const absl::string_view object_;
  const absl::FunctionRef<void*(const char*)> address_of_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  uint64_t bytes_ = 0;  // of all that is loaded
  uint64_t stubs_ = 0;  // where the stubs begin
  char* base_ = nullptr;
  ObjectCode code_;
};

absl::StatusOr<ObjectCode> ObjectCode::load(absl::string_view object,
                                            absl::FunctionRef<void*(const char*)> address_of) {
  return ObjectReader(object, address_of).load();
}

void ObjectCode::Unmap::operator()(void* memory) const { munmap(memory, bytes); }

void* ObjectCode::address(absl::string_view name) const {
  for (const auto& [known, address] : functions_) {
    if (known == name) return address;
  }
  return nullptr;
}

}  // namespace sluice::kernels
