#include "base/hash.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "base/yaml_scalar.h"

#include <boost/json/string.hpp>
#include <fmt/format.h>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <unordered_map>

namespace manta {
namespace {

constexpr std::size_t kMaxExpanded = 10 << 20;
constexpr std::size_t kNodeCost = 16;  // a Boost.JSON value, so that {} × 10⁶ counts too
constexpr std::size_t kMaxDepth = 128;

std::string place(const YAML::Mark& mark) {
  return fmt::format("line {}, column {}", mark.line + 1, mark.column + 1);
}

/// Leaves the parser; never leaves this file.
struct Refusal {
  YAML::Mark mark;
  std::string message;
};

/// Builds one document's Json from yaml-cpp's events, which cost less memory than its node tree
/// and tell plain from quoted scalars.
class Builder final : public YAML::EventHandler {
 public:
  Builder(YamlDuplicates duplicates, YamlLetters letters)
      : duplicates_(duplicates), letters_(letters) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp takes no step past a stray , ] or } and would offer it as a document for ever.
    if (mark.pos == started_) throw Refusal{mark, "a value or the end of the document is missing"};
    started_ = mark.pos;
    frames_.clear();
    anchors_.clear();
    expanded_ = 0;
    document_ = nullptr;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put(mark, anchor, {nullptr, kNodeCost}, "null");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (text.size() == 2 && text == "<<" && tag == "?" && expects_key()) {
      frames_.back().merging = true;
      return;
    }
    auto value = typed(mark, tag, text);
    put(mark, anchor, {std::move(value), kNodeCost + text.size()}, text);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw Refusal{mark, "an alias inside the node that it names"};
    expanded_ += found->second.size;
    if (expanded_ > kMaxExpanded) throw Refusal{mark, "aliases expand to more than 10 MiB"};
    const auto& value = found->second.value;
    const auto* text = value.if_string();
    put(mark, 0, found->second, text ? std::string(text->data(), text->size()) : dump_json(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, JsonArray());
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, JsonObject());
  }
  void OnMapEnd() override { close(); }

  Json take() { return std::exchange(document_, nullptr); }

 private:
  struct Sized {
    Json value;
    std::size_t size;
  };
  struct Frame {
    YAML::Mark mark;
    YAML::anchor_t anchor;
    Json value;
    std::size_t size = kNodeCost;
    std::optional<std::string> key = {};  // read, its value not yet
    bool merging = false;                 // the value of << comes next
    std::vector<Json> merged = {};
  };

  bool expects_key() const {
    return !frames_.empty() && frames_.back().value.is_object() && !frames_.back().key &&
           !frames_.back().merging;
  }

  Json typed(const YAML::Mark& mark, const std::string& tag, const std::string& text) {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    // yaml-cpp passes some bad bytes through, and JSON has no text for them.
    if (!is_utf8(text)) throw Refusal{mark, "text that is no UTF-8"};
    if (tag == "!") return Json(text);  // quoted, or a block
    if (tag == "?" || tag.empty()) {
      if (letters_ == YamlLetters::Booleans && text.size() == 1) {
        const char letter = static_cast<char>(text[0] | 0x20);
        if (letter == 'y' || letter == 'n') return Json(letter == 'y');
      }
      auto value = yaml_detail::resolve_plain(text);
      if (!value) throw Refusal{mark, value.error().message};
      return std::move(*value);
    }
    const auto name =
        tag.starts_with(kCore) ? std::string_view(tag).substr(kCore.size()) : std::string_view();
    if (name == "str") return Json(text);
    if (name == "binary") {
      auto data = base64_decode(text);
      if (!data) throw Refusal{mark, data.error().message};
      if (!is_utf8(*data)) throw Refusal{mark, "!!binary that is no UTF-8 has no JSON form"};
      return Json(*data);
    }
    if (name == "int" || name == "float" || name == "bool" || name == "null") {
      auto value = yaml_detail::resolve_plain(text);
      const bool fits =
          value && ((name == "null" && value->is_null()) || (name == "bool" && value->is_bool()) ||
                    (name == "int" && (value->is_int64() || value->is_uint64())) ||
                    (name == "float" && value->is_number()));
      if (!fits) throw Refusal{mark, fmt::format("{:?} is no {}", text, name)};
      if (name == "float") return Json(value->to_number<double>());
      return std::move(*value);
    }
    throw Refusal{mark, fmt::format("unknown tag {:?}", tag)};
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Json empty) {
    const bool plain = tag == "?" || tag == "!" || tag.empty() || tag == "tag:yaml.org,2002:map" ||
                       tag == "tag:yaml.org,2002:seq";
    if (!plain) throw Refusal{mark, fmt::format("unknown tag {:?}", tag)};
    if (expects_key()) throw Refusal{mark, "a key must be a scalar"};
    if (frames_.size() >= kMaxDepth) throw Refusal{mark, "nested more than 128 levels deep"};
    frames_.push_back({.mark = mark, .anchor = anchor, .value = std::move(empty)});
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    // What a mapping says itself goes before what it merges, and earlier merges before later ones.
    for (const auto& source : frame.merged)
      for (const auto& [key, value] : source.get_object())
        if (!frame.value.get_object().contains(key)) frame.value.get_object().emplace(key, value);
    put(frame.mark, frame.anchor, {std::move(frame.value), frame.size}, {});
  }

  void put(const YAML::Mark& mark, YAML::anchor_t anchor, Sized node, const std::string& text) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, node);
    if (frames_.empty()) {
      document_ = std::move(node.value);
      return;
    }
    Frame& frame = frames_.back();
    frame.size += node.size;
    if (auto* array = frame.value.if_array()) {
      array->push_back(std::move(node.value));
    } else if (frame.merging) {
      merge(mark, frame, std::move(node.value));
    } else if (!frame.key) {
      frame.key = key_text(mark, node.value, text);
      if (duplicates_ == YamlDuplicates::Refuse && frame.value.get_object().contains(*frame.key))
        throw Refusal{mark, fmt::format("the key {:?} is there twice", *frame.key)};
    } else {
      frame.value.get_object()[*frame.key] = std::move(node.value);
      frame.key.reset();
    }
  }

  static std::string key_text(const YAML::Mark& mark, const Json& value, const std::string& text) {
    if (value.is_null()) throw Refusal{mark, "a key must not be null"};
    if (value.is_object() || value.is_array()) throw Refusal{mark, "a key must be a scalar"};
    return value.is_string() ? text : dump_json(value);  // 1: and true: are the keys "1" and "true"
  }

  static void merge(const YAML::Mark& mark, Frame& frame, Json value) {
    frame.merging = false;
    JsonArray sources;
    if (value.is_array())
      sources = std::move(value.get_array());
    else
      sources.push_back(std::move(value));
    for (auto& source : sources) {
      if (!source.is_object()) throw Refusal{mark, "<< must name a mapping or a list of mappings"};
      frame.merged.push_back(std::move(source));
    }
  }

  YamlDuplicates duplicates_;
  YamlLetters letters_;
  std::vector<Frame> frames_ = {};
  std::unordered_map<YAML::anchor_t, Sized> anchors_ = {};
  std::size_t expanded_ = 0;
  Json document_ = nullptr;
  int started_ = -1;  // where the last document began
};

std::unexpected<Error> bad(std::string message) {
  return failed(ErrorCode::BadRequest, "YAML: " + std::move(message));
}

}  // namespace

Result<std::vector<Json>> parse_yaml(std::string_view text, YamlDuplicates duplicates,
                                     YamlLetters letters) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(duplicates, letters);
    std::vector<Json> documents;
    while (parser.HandleNextDocument(builder)) {
      auto document = builder.take();
      if (!document.is_null()) documents.push_back(std::move(document));
    }
    return documents;
  } catch (const Refusal& refusal) {
    return bad(place(refusal.mark) + ": " + refusal.message);
  } catch (const YAML::Exception& e) {
    return bad(e.mark.is_null() ? e.msg : place(e.mark) + ": " + e.msg);
  } catch (const std::exception& e) {
    return bad(e.what());
  }
}

Result<Json> parse_yaml_one(std::string_view text) {
  auto documents = parse_yaml(text);
  if (!documents) return failed(std::move(documents.error()));
  if (documents->size() != 1)
    return bad(fmt::format("expected one document but found {}", documents->size()));
  return std::move(documents->front());
}

}  // namespace manta
