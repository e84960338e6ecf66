// Walks a rule's tree.
#include "fmt/format.h"
#include "local/apiserver/cel.h"
#include "local/apiserver/cel_ast.h"
#include "local/apiserver/cel_functions.h"
#include "local/apiserver/cel_operators.h"
#include "local/apiserver/cel_value.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

namespace manta::local::cel {
namespace {

/// How CRD field names that are no identifiers are written in rules.
std::string unescape(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
  std::string plain;
  while (!name.empty()) {
    bool found = false;
    for (const auto& [escape, text] : kEscapes)
      if (name.starts_with(escape)) {
        plain += text;
        name.remove_prefix(escape.size());
        found = true;
        break;
      }
    if (found) continue;
    plain += name.front();
    name.remove_prefix(1);
  }
  // __namespace__ and other reserved words.
  if (plain.size() > 4 && plain.starts_with("__") && plain.ends_with("__"))
    return plain.substr(2, plain.size() - 4);
  return plain;
}

/// What a macro runs over. One variable over a map is its key; two are key and value, or index and
/// item.
struct Range {
  Value over = {};
  Values keys = {};  // of a map
  bool pair = false;

  bool is_map() const { return over.kind == Value::Kind::Map; }
  Value first(std::size_t i) const {
    return is_map() ? keys[i] : make_int(static_cast<std::int64_t>(i));
  }
  Value last(std::size_t i) const {
    if (!is_map()) return item(over, i);
    return pair ? *lookup(over, keys[i]) : keys[i];
  }
};

/// Macro variables, innermost last; a scope's end forgets what it bound.
using Locals = std::vector<std::pair<std::string, Value>>;
class Scope {
 public:
  Scope(Locals& locals, const Node& macro, const Range& range, std::size_t step)
      : locals_(locals), depth_(locals.size()) {
    if (range.pair) locals_.emplace_back(macro.second, range.first(step));
    locals_.emplace_back(macro.text, range.last(step));
  }
  ~Scope() { locals_.resize(depth_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Locals& locals_;
  std::size_t depth_;
};

class Evaluator {
 public:
  explicit Evaluator(const Bindings& bindings) : bindings_(bindings) {}

  std::size_t cost() const { return cost_; }

  Outcome eval(const Node& node) {
    // Rules are checked on every write: one must neither hold the loop nor fill the memory.
    if (!afford(1)) return too_costly();
    auto value = step(node);
    if (value && !afford(value->text.size() / kFreeText)) return too_costly();
    return value;
  }

 private:
  /// Texts are copied from step to step; so much of one costs nothing.
  static constexpr std::size_t kFreeText = 128;
  /// Patterns that are made as the rule runs: what all may take, and what making one costs.
  static constexpr std::size_t kMadePatterns = 4u << 20, kMakingPattern = 5'000;

  /// False when that is more than is left, which it stays from then on.
  bool afford(std::size_t cost) {
    cost_ = std::min(cost_ + cost, kMaxCost + 1);
    return cost_ <= kMaxCost;
  }
  bool afford_all(const Values& values) {
    for (const auto& value : values)
      if (!afford(cost_of(value, kMaxCost - std::min(cost_, kMaxCost)))) return false;
    return true;
  }

  // Each kind is a call of its own: inlined, what they all hold would be in the frame of every
  // level of a tree that may be a thousand deep.
  Outcome step(const Node& node) {
    using enum Node::Kind;
    switch (node.kind) {
      case Literal:
        return node.literal;
      case Name:
        return name(node);
      case Select:
      case Has:
        return select(node);
      case Index:
        return index(node);
      case Call:
        return call(node);
      case List:
        return list(node);
      case Map:
        return map(node);
      case Not:
      case Negate:
        return unary(node);
      case And:
      case Or:
        return logic(node);
      case Conditional:
        return conditional(node);
      case MapMacro:
        return map_macro(node);
      case All:
      case Exists:
      case ExistsOne:
      case Filter:
        return predicate_macro(node);
      default:
        return binary(node);
    }
  }

  [[gnu::noinline]] Outcome name(const Node& node) {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local)
      if (local->first == node.text) return local->second;
    if (auto bound = bindings_.find(node.text); bound != bindings_.end() && bound->second)
      return from_json(*bound->second);
    if (node.text == "self" || node.text == "oldSelf")
      return fail(fmt::format("no such attribute: {}", node.text));
    auto type = make_of(Value::Kind::Type);
    type.text = node.text;
    return type;
  }

  /// What an Optional holds: selections chained on it go on with that.
  static Value inside(const Value& optional) { return optional.items->front(); }
  /// The member or item that was looked for, as an Optional.
  static Value maybe(std::optional<Value> found) {
    return found ? make_some(std::move(*found)) : make_none();
  }

  [[gnu::noinline]] Outcome select(const Node& node) {
    auto target = eval(*node.children[0]);
    if (!target) return target;
    const bool has = node.kind == Node::Kind::Has;
    const bool chained = target->kind == Value::Kind::Optional;
    if (chained) {
      if (!target->flag) return has ? make_bool(false) : *target;
      *target = inside(*target);
    }
    if (target->kind != Value::Kind::Map) return no_overload();
    auto found = lookup(*target, make_string(node.text));
    if (!found) found = lookup(*target, make_string(unescape(node.text)));
    if (has) return make_bool(found.has_value());
    if (node.flag || chained) return maybe(std::move(found));
    if (!found) return fail(fmt::format("no such key: {}", unescape(node.text)));
    return std::move(*found);
  }

  [[gnu::noinline]] Outcome index(const Node& node) {
    auto target = eval(*node.children[0]);
    if (!target) return target;
    auto key = eval(*node.children[1]);
    if (!key) return key;
    const bool chained = target->kind == Value::Kind::Optional;
    if (chained) {
      if (!target->flag) return *target;
      *target = inside(*target);
    }
    const bool optional = node.flag || chained;
    if (target->kind == Value::Kind::List) return list_item(*target, *key, optional);
    if (target->kind != Value::Kind::Map) return no_overload();
    auto found = lookup(*target, *key);
    if (optional) return maybe(std::move(found));
    if (!found)
      return fail(fmt::format("no such key: {}",
                              key->text.empty() ? std::to_string(key->integer) : key->text));
    return std::move(*found);
  }

  static Outcome list_item(const Value& list, const Value& at, bool optional) {
    if (at.kind != Value::Kind::Int && at.kind != Value::Kind::Uint) return no_overload();
    if (at.integer < 0 || static_cast<std::size_t>(at.integer) >= size_of(list)) {
      if (optional) return make_none();
      return fail(fmt::format("index out of bounds: {}", at.integer));
    }
    auto value = item(list, static_cast<std::size_t>(at.integer));
    return optional ? make_some(std::move(value)) : std::move(value);
  }

  Result<Values> all(const std::vector<std::unique_ptr<Node>>& nodes) {
    Values values;
    for (const auto& node : nodes) {
      auto value = eval(*node);
      if (!value) return failed(value.error());
      values.push_back(std::move(*value));
    }
    return values;
  }

  [[gnu::noinline]] Outcome list(const Node& node) {
    auto items = all(node.children);
    if (!items) return failed(items.error());
    return make_list(std::move(*items));
  }

  [[gnu::noinline]] Outcome map(const Node& node) {
    auto parts = all(node.children);
    if (!parts) return failed(parts.error());
    auto made = make_of(Value::Kind::Map);
    made.entries = std::make_shared<Pairs>();
    for (std::size_t i = 0; i + 1 < parts->size(); i += 2)
      made.entries->emplace_back(std::move((*parts)[i]), std::move((*parts)[i + 1]));
    return made;
  }

  [[gnu::noinline]] Outcome call(const Node& node) {
    auto arguments = all(node.children);
    if (!arguments) return failed(arguments.error());
    const auto& subject = arguments->front();
    if (is_pattern_function(node.text) && subject.kind == Value::Kind::String &&
        (*arguments)[1].kind == Value::Kind::String)
      return match(node, *arguments);
    // How many there are is known; everything else goes over what it is given.
    const bool counted = node.text == "size" && subject.kind != Value::Kind::String;
    if (!counted && !afford_all(*arguments)) return too_costly();
    if (node.text == "split" && !afford(subject.text.size())) return too_costly();
    return call_function(node.text, node.flag, *arguments);
  }

  Outcome match(const Node& node, const Values& arguments) {
    const auto& [text, expression] = std::tie(arguments[0].text, arguments[1].text);
    if (!afford((text.size() / 10 + 1) * (expression.size() / 4 + 1))) return too_costly();
    if (node.pattern) return call_pattern(node.text, *node.pattern, arguments);
    if (!patterns_) patterns_.emplace(kMadePatterns);
    if (!afford(kMakingPattern)) return too_costly();
    const auto pattern = patterns_->compile(expression);
    if (!pattern) return failed(pattern.error());
    return call_pattern(node.text, **pattern, arguments);
  }

  /// Neither is gone over, to be compared or joined.
  static bool is_scalar(const Value& a, const Value& b) {
    auto small = [](const Value& value) {
      return value.kind != Value::Kind::List && value.kind != Value::Kind::Map &&
             value.text.size() < kFreeText;
    };
    return small(a) && small(b);
  }

  [[gnu::noinline]] Outcome binary(const Node& node) {
    auto sides = all(node.children);
    if (!sides) return failed(sides.error());
    if (!is_scalar((*sides)[0], (*sides)[1]) && !afford_all(*sides)) return too_costly();
    return apply_operator(node.kind, (*sides)[0], (*sides)[1]);
  }

  [[gnu::noinline]] Outcome conditional(const Node& node) {
    auto condition = eval(*node.children[0]);
    if (!condition) return condition;
    if (condition->kind != Value::Kind::Bool) return no_overload();
    return eval(*node.children[condition->flag ? 1 : 2]);
  }

  [[gnu::noinline]] Outcome unary(const Node& node) {
    auto value = eval(*node.children[0]);
    if (!value) return value;
    if (node.kind == Node::Kind::Not) {
      if (value->kind != Value::Kind::Bool) return no_overload();
      return make_bool(!value->flag);
    }
    if (value->kind == Value::Kind::Double) return make_double(-value->real);
    if (value->kind == Value::Kind::Int) {
      if (value->integer == std::numeric_limits<std::int64_t>::min())
        return fail("integer overflow");
      return make_int(-value->integer);
    }
    return no_overload();
  }

  /// `false && error` is false, `true || error` true, whichever side the error is on.
  [[gnu::noinline]] Outcome logic(const Node& node) {
    const bool decisive = node.kind == Node::Kind::Or;
    auto left = eval(*node.children[0]);
    if (left && left->kind == Value::Kind::Bool && left->flag == decisive) return left;
    auto right = eval(*node.children[1]);
    if (right && right->kind == Value::Kind::Bool && right->flag == decisive) return right;
    if (!left) return left;
    if (!right) return right;
    if (left->kind != Value::Kind::Bool || right->kind != Value::Kind::Bool) return no_overload();
    return make_bool(!decisive);
  }

  Result<Range> range(const Node& node) {
    auto over = eval(*node.children[0]);
    if (!over) return failed(over.error());
    if (over->kind != Value::Kind::List && over->kind != Value::Kind::Map) return no_overload();
    Range made{.over = std::move(*over), .pair = !node.second.empty()};
    if (made.is_map()) {
      if (!afford(size_of(made.over))) return too_costly();
      made.keys = keys_of(made.over);
    }
    return made;
  }

  /// map(x, transform), or map(x, condition, transform).
  [[gnu::noinline]] Outcome map_macro(const Node& node) {
    const auto steps = range(node);
    if (!steps) return failed(steps.error());
    const bool conditional = node.children.size() == 3;
    Values made;
    for (std::size_t i = 0; i < size_of(steps->over); ++i) {
      const Scope scope(locals_, node, *steps, i);
      auto value = eval(*node.children[1]);
      if (value && conditional) {
        if (value->kind != Value::Kind::Bool || !value->flag) continue;
        value = eval(*node.children[2]);
      }
      if (!value) return value;
      made.push_back(std::move(*value));
    }
    return make_list(std::move(made));
  }

  /// all() and exists() stop at the first item that decides; only without one does an error count.
  [[gnu::noinline]] Outcome predicate_macro(const Node& node) {
    using enum Node::Kind;
    const auto steps = range(node);
    if (!steps) return failed(steps.error());
    std::optional<Error> error;
    std::size_t hits = 0;
    Values kept;
    for (std::size_t i = 0; i < size_of(steps->over); ++i) {
      const Scope scope(locals_, node, *steps, i);
      auto verdict = eval(*node.children[1]);
      if (!verdict) {
        if (node.kind == ExistsOne || node.kind == Filter) return verdict;
        error = verdict.error();
        continue;
      }
      if (verdict->kind != Value::Kind::Bool) return no_overload();
      if (node.kind == All && !verdict->flag) return make_bool(false);
      if (node.kind == Exists && verdict->flag) return make_bool(true);
      if (!verdict->flag) continue;
      ++hits;
      if (node.kind == Filter) kept.push_back(steps->last(i));
    }
    if (node.kind == Filter) return make_list(std::move(kept));
    if (error) return failed(std::move(*error));
    if (node.kind == ExistsOne) return make_bool(hits == 1);
    return make_bool(node.kind == All);
  }

  const Bindings& bindings_;
  Locals locals_ = {};
  std::size_t cost_ = 0;
  std::optional<Patterns> patterns_ = {};
};

}  // namespace

Outcome evaluate(const Node& root, const Bindings& bindings, std::size_t* spent) {
  Evaluator evaluator(bindings);
  auto value = evaluator.eval(root);
  if (spent) *spent += evaluator.cost();
  return value;
}

}  // namespace manta::local::cel
