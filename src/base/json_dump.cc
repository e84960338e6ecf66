#include "base/json.h"
#include "base/utf8.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace manta {
namespace {

struct Style {
  JsonEscape escape = JsonEscape::Plain;
  bool pretty = false;
  bool sorted = false;
};

// As Go's encoder lays doubles out: plain digits for 1e-6 ≤ |x| < 1e21, else 1.5e+21 / 1e-7.
void put_double(std::string& out, double value) {
  if (!std::isfinite(value)) {  // no JSON text exists; a document cannot hold one
    out += "null";
    return;
  }
  if (value == 0) {
    out += std::signbit(value) ? "-0" : "0";
    return;
  }
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, std::abs(value), std::chars_format::scientific)
          .ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const auto e = text.find('e');
  std::string digits(1, text[0]);
  if (e > 1) digits += text.substr(2, e - 2);
  int exponent = 0;
  const auto exponent_text = text.substr(text[e + 1] == '+' ? e + 2 : e + 1);
  std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);

  if (value < 0) out += '-';
  const int count = static_cast<int>(digits.size());
  if (exponent < -6 - 0 || exponent >= 21) {
    out += digits[0];
    if (count > 1) out.append(".").append(digits, 1);
    out += fmt::format("e{}{}", exponent < 0 ? '-' : '+', std::abs(exponent));
  } else if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  } else if (count <= exponent + 1) {
    out.append(digits).append(static_cast<std::size_t>(exponent + 1 - count), '0');
  } else {
    out.append(digits, 0, static_cast<std::size_t>(exponent) + 1).append(".");
    out.append(digits, static_cast<std::size_t>(exponent) + 1);
  }
}

void put_string(std::string& out, std::string_view text, JsonEscape escape) {
  const bool html = escape == JsonEscape::Html;
  out += '"';
  std::size_t from = 0;
  auto replace = [&](std::size_t at, std::size_t length, std::string_view with) {
    out.append(text, from, at - from).append(with);
    from = at + length;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        replace(i, 1, "\\\"");
        continue;
      case '\\':
        replace(i, 1, "\\\\");
        continue;
      case '\n':
        replace(i, 1, "\\n");
        continue;
      case '\r':
        replace(i, 1, "\\r");
        continue;
      case '\t':
        replace(i, 1, "\\t");
        continue;
      case '\b':
        replace(i, 1, "\\b");
        continue;
      case '\f':
        replace(i, 1, "\\f");
        continue;
      default:
        break;
    }
    if (c < 0x20 || (html && (c == '<' || c == '>' || c == '&'))) {
      replace(i, 1, fmt::format("\\u{:04x}", c));
    } else if (html && (text.substr(i, 3) == "\u2028" || text.substr(i, 3) == "\u2029")) {
      replace(i, 3, text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029");
      i += 2;
    } else if (c >= 0x80) {
      // What programs print may be anything; JSON holds UTF-8 only. As Go's encoder does.
      const auto length = utf8_length(text.substr(i));
      if (length == 0)
        replace(i, 1, "\\ufffd");
      else
        i += length - 1;
    }
  }
  out.append(text, from).append("\"");
}

void put(std::string& out, const Json& value, const Style& style, int depth);

void new_line(std::string& out, const Style& style, int depth) {
  if (!style.pretty) return;
  out += '\n';
  out.append(static_cast<std::size_t>(depth) * 2, ' ');
}

void put_object(std::string& out, const JsonObject& object, const Style& style, int depth) {
  if (object.empty()) {
    out += "{}";
    return;
  }
  std::vector<const JsonObject::value_type*> members;
  if (style.sorted) {
    members.reserve(object.size());
    for (const auto& member : object) members.push_back(&member);
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) {
      return std::string_view(a->key()) < std::string_view(b->key());
    });
  }
  bool first = true;
  auto put_member = [&](const JsonObject::value_type& member) {
    if (!std::exchange(first, false)) out += ',';
    new_line(out, style, depth + 1);
    put_string(out, member.key(), style.escape);
    out += style.pretty ? ": " : ":";
    put(out, member.value(), style, depth + 1);
  };
  out += '{';
  if (style.sorted) {
    for (const auto* member : members) put_member(*member);
  } else {
    for (const auto& member : object) put_member(member);
  }
  new_line(out, style, depth);
  out += '}';
}

void put_array(std::string& out, const JsonArray& array, const Style& style, int depth) {
  if (array.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  bool first = true;
  for (const auto& item : array) {
    if (!std::exchange(first, false)) out += ',';
    new_line(out, style, depth + 1);
    put(out, item, style, depth + 1);
  }
  new_line(out, style, depth);
  out += ']';
}

void put(std::string& out, const Json& value, const Style& style, int depth) {
  switch (value.kind()) {
    case boost::json::kind::null:
      out += "null";
      return;
    case boost::json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case boost::json::kind::int64:
      fmt::format_to(std::back_inserter(out), "{}", value.get_int64());
      return;
    case boost::json::kind::uint64:
      fmt::format_to(std::back_inserter(out), "{}", value.get_uint64());
      return;
    case boost::json::kind::double_:
      put_double(out, value.get_double());
      return;
    case boost::json::kind::string:
      put_string(out, value.get_string(), style.escape);
      return;
    case boost::json::kind::object:
      put_object(out, value.get_object(), style, depth);
      return;
    case boost::json::kind::array:
      put_array(out, value.get_array(), style, depth);
      return;
  }
}

std::string write(const Json& value, const Style& style) {
  std::string out;
  put(out, value, style, 0);
  return out;
}

}  // namespace

std::string dump_json(const Json& value, JsonEscape escape) {
  return write(value, {.escape = escape});
}
std::string pretty_json(const Json& value) { return write(value, {.pretty = true}); }
std::string canonical_json(const Json& value) { return write(value, {.sorted = true}); }

}  // namespace manta
