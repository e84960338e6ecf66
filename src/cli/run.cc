#include "cli/run.h"

#include "base/asio_loop.h"
#include "base/async.h"
#include "base/random.h"
#include "cli/apply.h"
#include "cli/clean_up.h"
#include "cli/client.h"
#include "cli/console.h"
#include "cli/daemon_parts.h"
#include "cli/follow.h"
#include "cli/launch.h"
#include "cli/manifest.h"
#include "cli/run_journal.h"
#include "cli/run_ticket.h"
#include "cli/signals.h"
#include "local/apiserver/api_server.h"
#include "local/images/image_pull.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace manta::cli {
namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kTimedOut = 124;
constexpr int kInterrupted = 130;

/// A Ray to run on, made when this machine has none yet.
Result<void> ensure_default_image(const Paths& paths, const Console& console) {
  const local::ImageIndex index(paths.images, paths.command);
  if (index.default_image()) return {};
  console.say("no Ray is prepared on this machine yet");
  const auto image = local::pull_image(
      index, local::ray_image_name(local::kDefaultRay),
      {.quiet = ::isatty(2) == 0, .say = [&](const std::string& line) { console.say(line); }});
  if (!image) return failed(image.error().in("preparing Ray"));
  return {};
}

struct RunState {
  AsioLoop& loop;
  const Paths& paths;
  const RunOptions& options;
  const Console& console;
  Client& client;
  std::function<void()> abandon = {};  // for a second signal: what must still be done
  Manifest manifest = {};
  std::vector<AppliedObject> applied = {};
  std::stop_source stop = {};
  int signals = 0;
  bool timed_out = false;
};

Task<void> clean_up(RunState& run, std::string cluster) {
  const auto done = co_await take_out(run.loop, run.client.api(), run.applied, std::move(cluster));
  erase_journal(run.paths);
  if (const auto deleted = deleted_again(run.applied); done && !deleted.empty())
    run.console.say(deleted);
  if (!done)
    run.console.warn(
        fmt::format("{0}; what is stored of the job stays in {1}: {2} up and kubectl "
                    "delete it there, or {2} down --purge",
                    done.error().message, run.paths.home.string(), run.paths.command));
}

int exit_code_of(const RunState& run, const JobEnd& end) {
  if (end.seen) return end.succeeded ? kOk : kFailed;
  if (run.timed_out) return kTimedOut;
  return kInterrupted;
}

void say_end(const RunState& run, const JobEnd& end, const Follower& follower,
             const kube::ObjectKey& job) {
  const auto& console = run.console;
  if (end.seen && end.succeeded)
    console.say(fmt::format("rayjob/{} SUCCEEDED", job.name));
  else if (end.seen)
    console.say(fmt::format("rayjob/{} failed: {}", job.name, end.why));
  else if (run.timed_out)
    console.say(fmt::format("rayjob/{} has not ended within {} s{}", job.name,
                            run.options.timeout->count(), follower.troubles()));
  else
    console.say("interrupted");
}

Task<int> follow_job(RunState& run, Random& random) {
  auto done = co_await apply_manifest(run.loop, run.client.api(), run.manifest, run.applied);
  if (!done) {
    print_error(done.error().message);
    if (!run.options.keep) co_await clean_up(run, {});
    co_return kFailed;
  }
  if (!run.options.keep)
    if (auto noted = write_journal(run.paths, run.applied); !noted)
      run.console.warn(noted.error().message);
  const auto job = find_job(run.applied)->key;
  run.console.say(find_job(run.applied)->replaced
                      ? fmt::format("replaced the finished rayjob/{}", job.name)
                      : fmt::format("rayjob/{} created", job.name));
  Loop::TimerId timer = 0;
  if (run.options.timeout)
    timer = run.loop.after(*run.options.timeout, [&run] {
      run.timed_out = true;
      run.stop.request_stop();
    });
  Follower follower(run.loop, run.client, random, run.console, run.paths.home, job);
  const auto end = co_await follower.run(run.stop.get_token());
  run.loop.cancel(timer);
  say_end(run, end, follower, job);
  if (run.options.keep)
    run.console.say(fmt::format("everything is left as it is; export KUBECONFIG={}",
                                run.paths.kubeconfig().string()));
  else
    co_await clean_up(run, end.cluster);
  co_return exit_code_of(run, end);
}

int follow_with_signals(const Paths& paths, const RunOptions& options, const Console& console,
                        Manifest manifest, std::function<void()> abandon,
                        std::optional<HeldSignals>& held) {
  AsioLoop loop;
  SystemRandom random;
  auto client = Client::open(loop, paths);
  if (!client) {
    print_error(client.error().message);
    return kFailed;
  }
  RunState run{.loop = loop,
               .paths = paths,
               .options = options,
               .console = console,
               .client = **client,
               .abandon = std::move(abandon),
               .manifest = std::move(manifest)};
  StopSignals signals(loop, [&run](int) {
    // A second one: the user has had enough of our tidying up.
    if (++run.signals > 1) {
      run.abandon();
      ::_exit(kInterrupted);
    }
    run.stop.request_stop();
  });
  held.reset();
  const int code = run_to_end(loop, follow_job(run, random));
  held.emplace();
  return code;
}

/// Before anything is started for a file with a mistake in it: what the server would say, by an
/// empty one in this process. A running one is asked itself.
Result<void> check_beforehand(const Manifest& manifest) {
  AsioLoop loop;
  SystemRandom random;
  auto store = local::Store::open({});
  if (!store) return failed(store.error());
  local::ApiServer api(loop, random, **store);
  const auto check = [](kube::Api& server, const Manifest& file) -> Task<Result<void>> {
    if (auto ok = co_await install_crds(server); !ok) co_return ok;
    co_return co_await check_manifest(server, file);
  };
  auto checked = run_to_end(loop, check(api, manifest));
  // The stored cluster may have kinds that the empty one lacks.
  if (!checked && checked.error().code == ErrorCode::NotFound) return {};
  return checked;
}

int give_up(const Error& error) {
  print_error(error.message);
  return error.code == ErrorCode::Cancelled ? kInterrupted : kFailed;
}

/// Starts the daemon unless it runs, and stops it when it was there for runs only and no other run
/// needs it. Signals are held back but while the job is followed, so that none falls between two
/// steps and leaves a daemon nobody asked for.
int run_on_daemon(const Paths& paths, const RunOptions& options, const Console& console,
                  Manifest manifest) {
  std::optional<HeldSignals> held(std::in_place);
  auto ticket = RunTicket::take(paths, *held);
  if (!ticket) return give_up(ticket.error());
  auto launched = launch_daemon(paths, {.for_runs = !options.keep}, *held);
  if (!launched) return give_up(launched.error());
  auto& state = launched->state;
  if (state.control_plane_only) {
    print_error(
        fmt::format("the running manta is a control plane only, no Pod would start; {} down first",
                    paths.command));
    return kFailed;
  }
  if (launched->ours) console.say(fmt::format("manta is up ({})", state.server));
  if (options.keep && state.for_runs) {
    state.for_runs = false;
    if (auto stays = write_state(paths, state); !stays) return give_up(stays.error());
  }
  const auto tell_to_stop = [&] {
    const auto now = running_daemon(paths);  // by now somebody may have asked for it to stay
    if (!now || !now->for_runs || !ticket->is_last()) return false;
    tell_daemon_to_stop(paths);
    return true;
  };
  const int code =
      follow_with_signals(paths, options, console, std::move(manifest), tell_to_stop, held);
  const bool stops = tell_to_stop();
  held.reset();
  if (!stops) return code;
  if (auto stopped = stop_daemon(paths); !stopped) print_error(stopped.error().message);
  return code;
}

}  // namespace

int run_file(const Paths& paths, const RunOptions& options) {
  const Console console;
  auto manifest = load_manifest(options.file);
  if (!manifest) {
    print_error(manifest.error().message);
    return kFailed;
  }
  const auto jobs = std::ranges::count_if(manifest->documents, is_ray_job);
  if (jobs != 1) {
    print_error(
        fmt::format("{}: `manta run` follows exactly one RayJob, here are {}; for anything "
                    "else: manta up, then kubectl apply -f {}",
                    manifest->source, jobs, options.file));
    return kFailed;
  }
  if (!is_locked(paths))
    if (auto checked = check_beforehand(*manifest); !checked) {
      print_error(checked.error().message);
      return kFailed;
    }
  if (auto home = make_home(paths); !home) {
    print_error(home.error().message);
    return kFailed;
  }
  if (auto image = ensure_default_image(paths, console); !image) {
    print_error(image.error().message);
    return kFailed;
  }
  return run_on_daemon(paths, options, console, std::move(*manifest));
}

}  // namespace manta::cli
