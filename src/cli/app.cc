#include "cli/app.h"

#include "cli/command_words.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/console.h"
#include "cli/daemon.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "operator/options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace manta::cli {
namespace {

/// What the command line said. Subcommands fill in their part and set `action`.
struct Choices {
  std::string data_dir = {};
  std::function<int(const Paths&)> action = {};

  bool foreground = false;
  bool control_plane_only = false;
  bool with_operator = false;
  bool without_operator = false;
  bool no_outbound = false;
  std::string feature_gates = {};
  bool for_runs = false;
  std::optional<std::uint16_t> port = {};
  int ready_fd = -1;
  bool purge = false;
  bool as_json = false;
  bool as_text = false;
  RunOptions run = {};
  std::string timeout = {};
  std::vector<std::string> images = {};
  std::string image = {};
  std::string root = {};
  std::string venv = {};
  bool with_default = false;
  bool again = false;
  bool quiet = false;
  std::string shell = {};
};

CLI::App* add(CLI::App& parent, const std::string& name, const std::string& what,
              const std::string& examples) {
  auto* command = parent.add_subcommand(name, what);
  if (!examples.empty()) command->footer("Examples:\n" + examples);
  return command;
}

void add_up(CLI::App& app, Choices& c) {
  auto* up =
      add(app, "up", "Start the single-machine Kubernetes in the background",
          "  manta up && export KUBECONFIG=$(manta kubeconfig)\n"
          "  manta up --port 6443\n"
          "  manta up --control-plane-only     API server, garbage collection and namespaces only");
  up->add_flag("--foreground", c.foreground, "Stay in the terminal; the log goes to stderr");
  up->add_option("--port", c.port,
                 "API server port on 127.0.0.1 (default 16443, or a free one; 0: a free one)")
      ->check(CLI::Range(0, 65535));
  up->add_flag("--control-plane-only", c.control_plane_only,
               "No node, no Job controller, no scheduler, no operator");
  auto* with = up->add_flag("--operator", c.with_operator,
                            "With --control-plane-only: the operator all the same");
  auto* without = up->add_flag("--no-operator", c.without_operator,
                               "Everything but the operator: bring your own");
  without->excludes(with);
  up->add_flag("--no-outbound", c.no_outbound, "Pods reach each other and this machine only");
  up->add_option("--feature-gates", c.feature_gates,
                 "The operator's, as Name=bool separated by commas")
      ->excludes(without);
  up->add_flag("--for-runs", c.for_runs)->group("");    // who started it
  up->add_option("--ready-fd", c.ready_fd)->group("");  // how a starting process is told
  up->callback([&c] {
    c.action = [&c](const Paths& paths) {
      const DaemonOptions options{
          .port = c.port,
          .control_plane_only = c.control_plane_only,
          .with_operator = c.with_operator || !(c.control_plane_only || c.without_operator),
          .outbound = !c.no_outbound,
          .for_runs = c.for_runs,
          .feature_gates = c.feature_gates};
      return c.foreground ? run_daemon(paths, options, c.ready_fd) : command_up(paths, options);
    };
  });
}

void add_down_and_status(CLI::App& app, Choices& c) {
  auto* down = add(app, "down", "Stop it: every process, network and mount of it goes",
                   "  manta down            objects stay for the next `manta up`\n"
                   "  manta down --purge    they go, too");
  down->add_flag("--purge", c.purge, "Delete the stored objects as well");
  down->callback([&c] { c.action = [&c](const Paths& p) { return command_down(p, c.purge); }; });

  auto* status = add(app, "status", "Is it running, and where (exit code 3: it is not)",
                     "  manta status\n  manta status --json");
  status->add_flag("--json", c.as_json, "For programs");
  status->callback(
      [&c] { c.action = [&c](const Paths& p) { return command_status(p, c.as_json); }; });

  auto* config = add(app, "kubeconfig", "Print the kubeconfig file's place",
                     "  export KUBECONFIG=$(manta kubeconfig)\n  manta kubeconfig --print");
  config->add_flag("--print", c.as_text, "Print its content instead");
  config->callback(
      [&c] { c.action = [&c](const Paths& p) { return command_kubeconfig(p, c.as_text); }; });
}

void add_run(CLI::App& app, Choices& c) {
  auto* run = add(app, "run", "Run a RayJob from a file and follow it to its end",
                  "  manta run samples/ray-job.sample.yaml\n"
                  "  manta run --keep --timeout 10m job.yaml\n"
                  "  cat job.yaml | manta run -\n\n"
                  "The job's output goes to stdout, progress to stderr.\n"
                  "Exit code: 0 SUCCEEDED, 1 failed, 124 timeout, 130 interrupted.");
  run->add_option("FILE", c.run.file,
                  "Manifest with one RayJob and what it needs; -: standard input")
      ->required();
  run->add_flag("--keep", c.run.keep, "Leave the objects and the daemon as they are at the end");
  run->add_option("--timeout", c.timeout, "Give up after this: 90s, 10m, 1h30m, or seconds")
      ->check([](const std::string& text) -> std::string {
        const auto timeout = parse_timeout(text);
        return timeout ? "" : timeout.error().message;
      });
  run->callback([&c] {
    c.action = [&c](const Paths& paths) {
      if (!c.timeout.empty()) c.run.timeout = *parse_timeout(c.timeout);
      return run_file(paths, c.run);
    };
  });
}

void add_image(CLI::App& app, Choices& c) {
  auto* image = add(app, "image", "What image names mean on this machine",
                    "  manta image ls\n"
                    "  manta image pull rayproject/ray:2.52.0-py311\n"
                    "  manta image add my/app:1 --venv ~/venvs/app");
  image->require_subcommand(1);

  auto* pull = add(*image, "pull", "Prepare a Python environment with a Ray",
                   "  manta image pull rayproject/ray:2.52.0\n  manta image pull --default");
  pull->add_option("NAME", c.images, "rayproject/ray:VERSION[-pyXY][-cpu]");
  pull->add_flag("--default", c.with_default, "The Ray that Manta comes with");
  pull->add_flag("--again", c.again, "Rebuild it although it is there");
  pull->add_flag("-q,--quiet", c.quiet, "No output of the installer");
  pull->callback([&c] {
    if (c.images.empty() && !c.with_default)
      throw CLI::RequiredError("an image's name, or --default,");
    c.action = [&c](const Paths& p) {
      return command_image_pull(p, c.images, c.with_default, c.again, c.quiet);
    };
  });

  auto* put = add(*image, "add", "Give an image name a folder that is there",
                  "  manta image add redis:7 --root ~/roots/redis\n"
                  "  manta image add my/app:1 --venv ~/venvs/app");
  put->add_option("NAME", c.image, "The image's name in manifests")->required();
  auto* root = put->add_option("--root", c.root, "A root file system");
  auto* venv = put->add_option("--venv", c.venv, "A Python environment");
  root->excludes(venv);
  put->callback([&c] {
    if (c.root.empty() && c.venv.empty()) throw CLI::RequiredError("--root or --venv");
    c.action = [&c](const Paths& p) { return command_image_add(p, c.image, c.root, c.venv); };
  });

  auto* list = add(*image, "ls", "List prepared images", "")->alias("list");
  list->callback([&c] { c.action = [](const Paths& p) { return command_image_list(p); }; });

  auto* remove = add(*image, "rm", "Forget an image; a pulled one's folder is deleted", "");
  remove->add_option("NAME", c.image, "As `manta image ls` shows it")->required();
  remove->callback(
      [&c] { c.action = [&c](const Paths& p) { return command_image_remove(p, c.image); }; });

  auto* chosen = add(*image, "default", "Show or set what unprepared rayproject/ray tags run on",
                     "  manta image default rayproject/ray:2.60.0");
  chosen->add_option("NAME", c.image, "The new default");
  chosen->callback(
      [&c] { c.action = [&c](const Paths& p) { return command_image_default(p, c.image); }; });
}

void add_rest(CLI::App& app, Choices& c) {
  auto* doctor = add(app, "doctor", "Check what this machine offers", "  manta doctor");
  doctor->callback([&c] { c.action = [](const Paths& p) { return command_doctor(p); }; });

  auto* version = add(app, "version", "Print the version", "");
  version->callback([&c] { c.action = [](const Paths&) { return command_version(); }; });

  auto* completion = add(app, "completion", "Print a shell completion script",
                         "  source <(manta completion bash)\n"
                         "  manta completion zsh > ~/.zfunc/_manta\n"
                         "  manta completion fish | source");
  completion->add_option("SHELL", c.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

/// The first word where a command of `app` should be, if there is none of that name: CLI11 would
/// only say that some command is missing.
std::optional<std::string> find_unknown_command(const CLI::App& app, std::span<char*> words) {
  while (!words.empty()) {
    const std::string_view word = words.front();
    words = words.subspan(1);
    if (word == "--data-dir" && !words.empty()) words = words.subspan(1);
    if (word.starts_with('-')) continue;
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    if (commands.empty()) return std::nullopt;
    const auto known = std::ranges::find_if(
        commands, [&](const CLI::App* command) { return command->check_name(std::string(word)); });
    if (known != commands.end()) return find_unknown_command(**known, words);
    std::vector<std::string> names;
    names.reserve(commands.size());
    for (const auto* command : commands) names.push_back(command->get_name());
    const auto& parent = app.get_name();
    return unknown_command(parent == "manta" ? parent : "manta " + parent, std::string(word),
                           names);
  }
  return std::nullopt;
}

/// Every command with what may follow it, from the tree itself.
void collect(const CLI::App& app, const std::string& name, std::vector<CommandWords>& out) {
  CommandWords words{.name = name, .help = app.get_description()};
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    words.words.push_back(sub->get_name());
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const auto& flag : option->get_lnames()) words.words.push_back("--" + flag);
    if (option->get_positional() && option->get_name() == "FILE") words.takes_file = true;
  }
  if (name == "completion") words.words.insert(words.words.end(), {"bash", "zsh", "fish"});
  out.push_back(std::move(words));
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    collect(*sub, name.empty() ? sub->get_name() : name + " " + sub->get_name(), out);
}

std::string version_text() { return fmt::format("manta {}", operator_::operator_version()); }

int print_completion(const CLI::App& app, const std::string& shell) {
  std::vector<CommandWords> commands;
  collect(app, "", commands);
  const auto script = completion_script(shell, commands);
  if (!script) {
    print_error(script.error().message);
    return 2;
  }
  fmt::print("{}", *script);
  return 0;
}

}  // namespace

int command_version() {
  fmt::print("{}\n", version_text());
  return 0;
}

int run_app(int argc, char** argv) {
  survive_closed_pipes();
  Choices choices;
  CLI::App app("manta: a single-machine Kubernetes for Ray, with the Ray operator inside", "manta");
  app.footer(
      "Examples:\n"
      "  manta run samples/ray-job.sample.yaml    one job, from nothing to its result\n"
      "  manta up && export KUBECONFIG=$(manta kubeconfig)\n"
      "  kubectl apply -f samples/ray-cluster.sample.yaml\n\n"
      "Data lives in --data-dir, MANTA_HOME or ~/.local/share/manta.");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", [] { return version_text(); });
  app.add_option("--data-dir", choices.data_dir, "Where manta keeps its data");
  add_up(app, choices);
  add_run(app, choices);
  add_down_and_status(app, choices);
  add_image(app, choices);
  add_rest(app, choices);
  if (const auto unknown = find_unknown_command(app, std::span(argv, argc).subspan(1))) {
    print_error(*unknown);
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (!choices.shell.empty()) return print_completion(app, choices.shell);
  const auto paths = find_paths(choices.data_dir, process_environment);
  if (!paths) {
    print_error(paths.error().message);
    return 1;
  }
  return choices.action(*paths);
}

}  // namespace manta::cli
