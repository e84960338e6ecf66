#include "base/yaml.h"
#include "base/yaml_scalar.h"

#include <boost/json/string.hpp>

namespace manta {
namespace {

bool has_control(std::string_view text, bool lines_allowed) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n' && lines_allowed) continue;
    if (c < 0x20 || c == 0x7f) return true;
    // C1 controls, NEL, LS, PS and the byte order mark: line breaks or worse to some readers.
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const auto third = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0;
    if (c == 0xc2 && next < 0xa0) return true;
    if (c == 0xe2 && next == 0x80 && (third == 0xa8 || third == 0xa9)) return true;
    if (c == 0xef && next == 0xbb && third == 0xbf) return true;
  }
  return false;
}

// y, n and dates are strings to us but not to every other reader.
bool others_read_as_type(std::string_view text) {
  if (text.size() == 1 && std::string_view("yYnN=").find(text[0]) != std::string_view::npos)
    return true;
  if (text == "<<") return true;
  return text[0] >= '0' && text[0] <= '9' &&
         text.find_first_not_of("0123456789-:.TtZz+ _") == std::string_view::npos;
}

bool is_plain(std::string_view text) {
  if (text.empty() || has_control(text, false) || others_read_as_type(text)) return false;
  const auto type = yaml_detail::resolve_plain(text);
  if (!type || !type->is_string()) return false;
  if (std::string_view(" ?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos)
    return false;
  if (text.front() == '-' && (text.size() == 1 || text[1] == ' ' || text.starts_with("---")))
    return false;
  if (text.starts_with("...") || text.back() == ' ' || text.back() == ':') return false;
  return text.find(": ") == std::string_view::npos && text.find(" #") == std::string_view::npos;
}

bool is_block(std::string_view text) {
  return text.find('\n') != std::string_view::npos && text.front() != ' ' && text.front() != '\n' &&
         !has_control(text, true);
}

void put_indent(std::string& out, int depth) {
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
}

void put_block(std::string& out, std::string_view text, int depth) {
  const auto last = text.find_last_not_of('\n');
  const auto ending = text.size() - last - 1;
  out += ending == 0 ? "|-\n" : ending == 1 ? "|\n" : "|+\n";
  if (ending > 0) text.remove_suffix(1);
  while (true) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    if (!line.empty()) put_indent(out, depth);
    out.append(line).append("\n");
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

void put_scalar(std::string& out, const Json& value, int depth) {
  const auto* string = value.if_string();
  if (!string) {
    out += value.is_array() ? "[]" : value.is_object() ? "{}" : dump_json(value);
  } else {
    const std::string_view text(string->data(), string->size());
    if (is_block(text)) return put_block(out, text, depth);
    out += is_plain(text) ? std::string(text) : dump_json(value, JsonEscape::Html);
  }
  out += '\n';
}

bool is_nested(const Json& value) {
  return (value.is_object() && !value.get_object().empty()) ||
         (value.is_array() && !value.get_array().empty());
}

// Writes at `depth`; the first line's indent is already there when `inline_first` is set.
void put(std::string& out, const Json& value, int depth, bool inline_first) {
  const auto indent = [&] {
    if (!std::exchange(inline_first, false)) put_indent(out, depth);
  };
  if (!is_nested(value)) {
    indent();
    put_scalar(out, value, depth);
  } else if (const auto* object = value.if_object()) {
    for (const auto& [key, item] : *object) {
      indent();
      const std::string_view name(key);
      out += is_plain(name) ? std::string(name) : dump_json(Json(name), JsonEscape::Html);
      out += ':';
      if (is_nested(item)) {
        out += '\n';
        put(out, item, item.is_array() ? depth : depth + 1,
            false);  // kubectl's way: - below its key
      } else {
        out += ' ';
        put_scalar(out, item, depth + 1);
      }
    }
  } else {
    for (const auto& item : value.get_array()) {
      indent();
      out += "- ";
      put(out, item, depth + 1, true);
    }
  }
}

}  // namespace

std::string dump_yaml(const Json& value) {
  std::string out;
  // A block at the top needs an indent of its own.
  put(out, value, value.is_string() ? 1 : 0, value.is_string());
  return out;
}

}  // namespace manta
