#include "picture.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace digits {
namespace {

// A picture is kWide x kHigh characters. A character is about twice as high as wide.
constexpr int kWide = 16;
constexpr int kHigh = 8;
constexpr int kGap = 3;
constexpr int kMostRows = 2;

// The image at (x, y) in [0, kSide), interpolated between pixels.
float sample(const float* pixels, float x, float y) {
  const auto clamp = [](float at) { return std::clamp(at - 0.5f, 0.f, kSide - 1.f); };
  x = clamp(x);
  y = clamp(y);
  const int left = std::min(static_cast<int>(x), kSide - 2);
  const int top = std::min(static_cast<int>(y), kSide - 2);
  const float across = x - static_cast<float>(left), down = y - static_cast<float>(top);
  const float* const at = pixels + top * kSide + left;
  return std::lerp(std::lerp(at[0], at[1], across), std::lerp(at[kSide], at[kSide + 1], across),
                   down);
}

// One line of characters of the picture.
std::string picture_line(const float* pixels, int line, bool colour) {
  static constexpr const char* kDensities[] = {" ", "░", "▒", "▓", "█"};
  constexpr float kStep = static_cast<float>(kSide) / kWide;
  std::string text;
  for (int column = 0; column < kWide; ++column) {
    const float x = (static_cast<float>(column) + 0.5f) * kStep;
    if (colour) {
      // An upper half block: foreground is the upper pixel, background the lower one.
      const auto grey = [&](int row) {
        const float y = (static_cast<float>(row) + 0.5f) * kStep;
        return 232 + static_cast<int>(std::lround(sample(pixels, x, y) * 23));
      };
      text += "\x1b[38;5;" + std::to_string(grey(2 * line)) + ";48;5;" +
              std::to_string(grey(2 * line + 1)) + "m▀";
    } else {
      const float y = (static_cast<float>(line) + 0.5f) * kSide / kHigh;
      text += kDensities[std::lround(sample(pixels, x, y) * 4)];
    }
  }
  return colour ? text + "\x1b[0m" : text;
}

}  // namespace

Terminal stdout_terminal() {
  const char* const kind = std::getenv("TERM");
  const bool is_terminal =
      isatty(STDOUT_FILENO) != 0 && kind != nullptr && std::string_view(kind) != "dumb";
  Terminal terminal{.colour = is_terminal && std::getenv("NO_COLOR") == nullptr};
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

std::string mistakes(const HostImages& images, const std::vector<int64_t>& predictions,
                     const Terminal& terminal) {
  std::vector<int64_t> wrong;
  for (int64_t i = 0; i < images.size(); ++i) {
    if (predictions[i] != images.labels[i]) wrong.push_back(i);
  }
  const int64_t across = std::max(1, (terminal.columns - 2 + kGap) / (kWide + kGap));
  const int64_t shown = std::min<int64_t>(wrong.size(), across * kMostRows);

  std::string text;
  const std::string gap(kGap, ' ');
  for (int64_t first = 0; first < shown; first += across) {
    const int64_t last = std::min(first + across, shown);
    for (int line = -1; line < kHigh; ++line) {
      text += "  ";
      for (int64_t i = first; i < last; ++i) {
        const int64_t image = wrong[i];
        if (line < 0) {
          char caption[64];
          std::snprintf(caption, sizeof caption, "%-*s", kWide,
                        ("took " + std::to_string(images.labels[image]) + " for " +
                         std::to_string(predictions[image]))
                            .c_str());
          text += caption;
        } else {
          text += picture_line(images.pixels.data() + image * kPixels, line, terminal.colour);
        }
        if (i + 1 < last) text += gap;
      }
      text += "\n";
    }
    text += "\n";
  }
  if (shown < static_cast<int64_t>(wrong.size())) {
    text += "  and " + std::to_string(static_cast<int64_t>(wrong.size()) - shown) + " more\n\n";
  }
  return text;
}

std::string confusion_matrix(const HostImages& images, const std::vector<int64_t>& predictions) {
  int64_t counts[kClasses][kClasses] = {};
  for (int64_t i = 0; i < images.size(); ++i) ++counts[images.labels[i]][predictions[i]];

  char cell[32];
  std::string text = "  is \\ taken for";
  for (int column = 0; column < kClasses; ++column) {
    std::snprintf(cell, sizeof cell, "%5d", column);
    text += cell;
  }
  text += "\n";
  for (int row = 0; row < kClasses; ++row) {
    std::snprintf(cell, sizeof cell, "  %14d", row);
    text += cell;
    for (const int64_t count : counts[row]) {
      if (count == 0) {
        text += "    ·";
      } else {
        std::snprintf(cell, sizeof cell, "%5lld", static_cast<long long>(count));
        text += cell;
      }
    }
    text += "\n";
  }
  return text;
}

}  // namespace digits
