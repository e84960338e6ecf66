// Ray's small texts: cron schedules, versions, names, arguments for shells, runtimeEnvYAML.
#include "base/yaml.h"
#include "fuzz/fuzz.h"
#include "ray/builders/probes.h"
#include "ray/builders/start_params.h"
#include "ray/builders/submit_command.h"
#include "ray/cron.h"
#include "ray/k8s_shapes.h"
#include "ray/name_rules.h"
#include "ray/ray_version.h"
#include "ray/runtime_env.h"

using namespace manta;
using namespace manta::fuzz;
using namespace manta::ray;
using namespace std::chrono;

static void check_cron(std::string_view text, Input& in) {
  const auto schedule = CronSchedule::parse(text);
  if (!schedule) return FUZZ_CHECK(!schedule.error().message.empty(), text);
  // 1970 to 2100, and a zone that changes its clock twice a year, by whole or broken hours.
  const Time after{seconds{in.number<std::int64_t>(0, 4'102'444'800)}};
  const seconds standard{in.number(-12 * 60, 14 * 60) * 60}, shift{in.number(-2, 4) * 1800};
  const auto zone = [=](Time time) {
    return (duration_cast<hours>(time.time_since_epoch()).count() / 4383) % 2 == 0
               ? standard
               : standard + shift;
  };
  auto previous = after;
  for (int n = 0; n < 3; ++n) {
    const auto due = schedule->next(previous, zone);
    if (!due) break;
    FUZZ_CHECK(*due > previous, text);
    if (!text.starts_with('@')) {
      FUZZ_CHECK((floor<seconds>(due->time_since_epoch()) + zone(*due)).count() % 60 == 0, text);
      // Asking again from just before gives the same instant: nothing is skipped.
      FUZZ_CHECK(schedule->next(*due - seconds{1}, zone) == due, text);
    }
    previous = *due;
  }
}

// The fields of a schedule with only "*" and numbers, compared minute by minute.
static void check_cron_meaning(Input& in) {
  const int minute = in.number(-1, 59), hour = in.number(-1, 23), weekday_ = in.number(-1, 6);
  const auto word = [](int value) { return value < 0 ? std::string("*") : std::to_string(value); };
  const auto text = word(minute) + " " + word(hour) + " * * " + word(weekday_);
  const Time after{seconds{in.number<std::int64_t>(0, 2'000'000'000)}};
  const auto schedule = CronSchedule::parse(text);
  FUZZ_CHECK(schedule.has_value(), text);
  const auto due = schedule->next(after, [](Time) { return seconds{0}; });
  FUZZ_CHECK(due.has_value(), text);
  for (auto t = floor<minutes>(after) + minutes{1};; t += minutes{1}) {
    const auto day = floor<days>(t);
    const hh_mm_ss clock(t - day);
    const bool matches = (minute < 0 || clock.minutes().count() == minute) &&
                         (hour < 0 || clock.hours().count() == hour) &&
                         (weekday_ < 0 || weekday(day).c_encoding() == unsigned(weekday_));
    if (matches) return FUZZ_CHECK(t == *due, text);
    FUZZ_CHECK(t < *due, text);
  }
}

static void check_version(std::string_view text) {
  const auto version = parse_ray_version(text);
  (void)version_at_least(text, 2, 53);
  (void)supports_job_metadata(text);
  if (!version) return;
  FUZZ_CHECK(version->components.size() >= 2, text);
  std::string plain;
  for (const auto component : version->components)
    plain += (plain.empty() ? "" : ".") + std::to_string(component);
  const auto again = parse_ray_version(plain);
  FUZZ_CHECK(again && *again == *version, text, plain);
  const auto longer = parse_ray_version(plain + ".0rc1");
  FUZZ_CHECK(longer && *longer == *version, text, plain);
}

// Bash's reading of one word in double or single quotes, as quote_argument writes them.
static std::string unquoted(std::string_view word) {
  std::string out;
  char quote = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote == c) {
      quote = 0;
    } else if (c == '\\' && quote == 0) {
      FUZZ_CHECK(i + 1 < word.size(), word);
      out += word[++i];
    } else if (c == '\\' && quote == '"') {
      FUZZ_CHECK(i + 1 < word.size(), word);
      const char next = word[i + 1];
      if (next == '$' || next == '`' || next == '"' || next == '\\') {
        out += next;
        ++i;
      } else if (next == '\n') {
        ++i;
      } else {
        out += c;
      }
    } else {
      FUZZ_CHECK(quote == '\'' || (c != '$' && c != '`'), word);
      FUZZ_CHECK(
          quote != 0 || std::string_view(" \t\n|&;<>()*?[]#~!").find(c) == std::string_view::npos,
          word);
      out += c;
    }
  }
  FUZZ_CHECK(quote == 0, word);
  return out;
}

FUZZ(data) {
  Input in(data);
  const std::string text(data);
  check_cron(text, in);
  check_version(text);
  if (text.find('\0') == std::string::npos)
    FUZZ_CHECK(unquoted(quote_argument(text)) == text, text, quote_argument(text));
  for (const auto faults : {dns1035_label_faults, dns1123_label_faults, dns1123_subdomain_faults,
                            label_key_faults, label_value_faults})
    for (const auto& fault : faults(text)) FUZZ_CHECK(!fault.empty(), text);
  // A label is a subdomain; a 1035 label is a 1123 label.
  if (dns1035_label_faults(text).empty()) FUZZ_CHECK(dns1123_label_faults(text).empty(), text);
  if (dns1123_label_faults(text).empty()) FUZZ_CHECK(dns1123_subdomain_faults(text).empty(), text);
  const auto quoted = go_quote(text);
  FUZZ_CHECK(quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"', quoted);
  FUZZ_CHECK(quoted.find('\n') == std::string::npos, quoted);
  (void)quantity_as_float(text);
  (void)is_gpu_resource(text);
  (void)parse_shape(text);
  if (const auto json = runtime_env_text(text)) FUZZ_CHECK(parse_json(*json).has_value(), *json);

  Input choices(data);
  check_cron_meaning(choices);
  std::string cron;
  for (int n = choices.rarely(20) ? 4 : 5; n > 0; --n) {
    for (int m = choices.number(1, 3); m > 0; --m) {
      cron += choices.flag() ? std::string(choices.one_of({"*", "?", "mon", "JAN", "L", ""}))
                             : std::to_string(choices.number(0, 12));
      if (choices.flag()) cron += "-" + std::to_string(choices.number(0, 31));
      if (choices.rarely(3)) cron += "/" + std::to_string(choices.number(0, 20));
      if (m > 1) cron += ",";
    }
    cron += " ";
  }
  check_cron(choices.rarely(6) ? "@every " + choices.text() : cron, choices);

  StartParams params;
  for (int n = choices.number(0, 5); n > 0; --n)
    params.emplace(choices.one_of({"port", "num-cpus", "block", "resources", "labels", "a"}),
                   choices.text());
  (void)gcs_port(params);
  (void)port_param(params, "port", 1);
  (void)ray_start_text(RayNode::Head, params);
}
