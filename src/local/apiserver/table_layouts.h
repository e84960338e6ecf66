// Which columns a kind's table has.
#pragma once

#include "local/apiserver/kinds.h"
#include "local/apiserver/table_cells.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace manta::local {

struct Column {
  std::string_view name = {};
  std::string_view type = "string";
  std::string_view format = {};
  std::int64_t priority = 0;  // 1: only with -o wide
};
struct Layout {
  std::string_view plural = {};
  std::vector<Column> columns = {};
  Cells cells = nullptr;
};

inline constexpr Column kNameColumn = {"Name", "string", "name"};

/// Of a built-in kind; name and age when it has no columns of its own.
const Layout& layout_of(const Kind& kind);

}  // namespace manta::local
